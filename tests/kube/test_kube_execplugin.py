"""Exec credential plugins: real programs, written by the test."""

import asyncio
import json
import stat
import sys

import pytest
from wire_kit import answer, misbehaving

from mooring.kube import Client, connection_from_document, load_connection
from mooring.kube.errors import ConfigError, Unauthorized

V1 = "client.authentication.k8s.io/v1"


def plugin(tmp_path, body, name="plugin"):
    """A program that runs `body`, with `count` (how often it ran) and `info` (what it was told) at hand."""
    file = tmp_path / name
    file.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib, sys, time\n"
        f"runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "count = len(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text('x' * count)\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "def say(**status):\n"
        "    said = {'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}\n"
        "    print(json.dumps(said))\n"
        f"{body}\n"
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def runs(tmp_path):
    return len((tmp_path / "runs").read_text())


def document(command, server="https://one.example", **more):
    form = {"apiVersion": V1, "command": str(command), "interactiveMode": "Never", **more}
    return {
        "clusters": [{"name": "c", "cluster": {"server": server, "tls-server-name": "inner"}}],
        "users": [{"name": "u", "user": {"exec": form}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }


async def header(connection):
    return (await connection.credentials.identity()).authorization


async def test_a_program_gives_the_token_and_runs_once_for_many(tmp_path):
    connection = connection_from_document(document(plugin(tmp_path, "say(token=f'run-{count}')")))
    headers = await asyncio.gather(*(header(connection) for _ in range(5)))
    assert headers == ["Bearer run-1"] * 5
    assert runs(tmp_path) == 1


async def test_it_runs_again_when_its_answer_has_expired(tmp_path):
    body = "say(token=f'run-{count}', expirationTimestamp='2020-01-01T00:00:00Z')"
    connection = connection_from_document(document(plugin(tmp_path, body)))
    assert [await header(connection) for _ in range(2)] == ["Bearer run-1", "Bearer run-2"]
    late = "say(token=f'run-{count}', expirationTimestamp='2999-01-01T00:00:00Z')"
    connection = connection_from_document(document(plugin(tmp_path, late)))
    assert [await header(connection) for _ in range(2)] == ["Bearer run-3"] * 2


async def test_it_gets_arguments_environment_and_what_it_wants_to_know(tmp_path):
    body = "say(token=' '.join([sys.argv[1], os.environ['EXTRA'], json.dumps(info['spec'], sort_keys=True)]))"
    more = {"args": ["a;b"], "env": [{"name": "EXTRA", "value": "e"}], "provideClusterInfo": True}
    connection = connection_from_document(document(plugin(tmp_path, body), **more))
    cluster = {"server": "https://one.example", "tls-server-name": "inner"}
    told = json.dumps({"cluster": cluster, "interactive": False}, sort_keys=True)
    assert await header(connection) == f"Bearer a;b e {told}"


async def test_a_relative_command_starts_at_the_kubeconfig(tmp_path, monkeypatch):
    plugin(tmp_path, "say(token='here')")
    (tmp_path / "config").write_text(json.dumps(document("./plugin")))
    monkeypatch.chdir("/")
    assert await header(load_connection(tmp_path / "config")) == "Bearer here"


async def test_a_certificate_is_an_answer_too(tmp_path):
    body = "say(clientCertificateData='CERT', clientKeyData='KEY')"
    connection = connection_from_document(document(plugin(tmp_path, body)))
    identity = await connection.credentials.identity()
    assert (identity.certificate.certificate, identity.authorization) == (b"CERT", None)


WRONG = {
    "print('nonsense hush')": "ExecCredential",
    "sys.exit('no luck today')": "no luck today",
    "say()": "neither",
    "say(clientCertificateData='CERT')": "without its key",
    "info['apiVersion'] = 'v0'; say(token='hush')": "v0",
    'print(\'{"apiVersion": "' + V1 + '", "kind": "ExecCredential"}\')': "without a status",
    "say(token='a\\nb')": "token",
}


@pytest.mark.parametrize("body", WRONG)
async def test_a_program_that_fails_is_named_and_its_output_kept_quiet(tmp_path, body):
    connection = connection_from_document(document(plugin(tmp_path, body)))
    with pytest.raises(ConfigError, match=WRONG[body]) as caught:
        await header(connection)
    assert "hush" not in str(caught.value)


async def test_a_missing_program_comes_with_its_install_hint():
    connection = connection_from_document(document("no-such-program-xyz", installHint="Get it at the shop"))
    with pytest.raises(ConfigError, match="Get it at the shop"):
        await header(connection)


async def test_a_program_that_needs_a_person_says_so(tmp_path):
    connection = connection_from_document(document(plugin(tmp_path, ""), interactiveMode="Always"))
    with pytest.raises(ConfigError, match="terminal"):
        await header(connection)


async def test_a_program_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("mooring.kube.execplugin._SECONDS_ALONE", 0.2)
    connection = connection_from_document(document(plugin(tmp_path, "time.sleep(60)")))
    with pytest.raises(ConfigError, match="did not finish"):
        await header(connection)


async def test_after_a_401_the_program_is_asked_once_more(tmp_path):
    body = "say(token=f'run-{count}')"

    def knows_the_second(count, head):
        if "Bearer run-2" in head:
            return answer(b'{"gitVersion": "v9"}')
        return answer(b"{}", status="401 Unauthorized")

    async with misbehaving(knows_the_second) as peer:
        connection = connection_from_document(document(plugin(tmp_path, body), server=peer.url))
        async with Client(connection) as kube:
            assert await kube.version() == "v9"
    async with misbehaving(lambda count, head: answer(b"{}", status="401 Unauthorized")) as peer:
        connection = connection_from_document(document(plugin(tmp_path, body), server=peer.url))
        async with Client(connection) as kube:
            with pytest.raises(Unauthorized):
                await kube.version()
            assert len(peer.requests) == 2

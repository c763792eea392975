"""The main job, whole: what ``make up`` does on a fresh clone, and then what people do with access."""

import base64
import contextlib
import json
import os
import re
import stat
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from mooring.api.kyma import KubeconfigRequest
from mooring.cli.landscapes import place_of, started
from mooring.kube import Client, connection_from_document, load_connection, typed, untyped
from mooring.kube.errors import Forbidden, NotFound, Unauthorized
from mooring.testing.builders import an_object
from mooring.testing.managers import until as until_async

ROOT = Path(__file__).parents[2]
NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
SECRETS = untyped(plural="secrets", kind="Secret")


async def may(kubeconfig, resource):
    """Whether the holder may list such things: True, False, or None if it is not let in at all."""
    async with Client(load_connection(kubeconfig)) as client:
        try:
            await client.list(resource)
        except Forbidden:
            return False
        except Unauthorized:
            return None
        return True


def made(mooring, word, kubeconfig):
    """A word of the Makefile, on a landscape of the test's own."""
    # What the tests themselves were made with, such as ARGS, is not meant for it.
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "ARGS", "LONG")}
    environment = {**outside, "MOORING_DIR": str(mooring.parent), "MOORING_LANDSCAPE": mooring.name}
    ended = subprocess.run(
        ["make", "--no-print-directory", "-C", str(ROOT), word, f"MINE={kubeconfig}"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # which is where steps are told
        text=True,
        timeout=280,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, ended
    return ended.stdout


async def test_make_up_ends_with_a_cluster_of_ones_own(mooring, tmp_path):
    mine = tmp_path / "mine.kubeconfig"
    said = made(mooring, "up", mine)
    # What the README shows, but for numbers.
    assert "clusterrequest mine is created in the namespace default." in said
    assert said.endswith(
        f"Context 'mooring-mine' is now the current one of {mine}.\n\n"
        f"  export KUBECONFIG={mine}\n  kubectl get namespaces\n"
    )
    assert_readme_shows(said, mine)

    assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert await may(mine, NAMESPACES)
    assert await may(mine, SECRETS) is False

    def entries():
        return json.loads(mooring.run("access", "list", "-o", "json").out)["items"]

    (entry,) = entries()
    name = entry["metadata"]["name"]
    table = mooring.run("access", "list").out
    assert "get,list,create,delete:namespaces,configmaps" in table
    # A second time nothing is made anew but the token, and that of before ends.
    before = mine.read_bytes()
    old = tmp_path / "old.kubeconfig"
    old.write_bytes(before)
    assert "clusterrequest mine is there already" in made(mooring, "up", mine)
    assert await may(mine, NAMESPACES)
    await until_async(lambda: len(entries()) == 1, "the one of before is gone")
    (entry,) = entries()
    assert entry["metadata"]["name"] != name
    name = entry["metadata"]["name"]

    mooring.run("access", "rotate", name, "--wait")
    fresh = tmp_path / "fresh.kubeconfig"
    fresh.write_text(mooring.run("access", "kubeconfig", name).out)
    assert await may(fresh, NAMESPACES)
    mooring.run("access", "revoke", name, "--wait")
    for one in (old, mine, fresh):
        await _until_refused(one)
    assert "Revoked" in mooring.run("access", "list", "-o", "wide").out
    assert "is revoked, and has no token to rotate" in mooring.run("access", "rotate", name, code=1).err
    mooring.run("access", "revoke", name, "--undo", "--wait")
    cluster = entry["spec"]["clusterRef"]["name"]
    mooring.run("kubeconfig", cluster, "--role", "view", "--kubeconfig", str(fresh))
    assert await may(fresh, NAMESPACES)
    assert await may(fresh, SECRETS) is False
    await _kubeconfig_request(mooring, cluster)
    no_administrator_is_at_rest(mooring.directory)

    # What names the request goes with it; what names the cluster can be deleted when that is gone.
    mooring.run("request", "delete", "mine", "--wait")
    (left,) = entries()
    assert "requestRef" not in left["spec"]
    mooring.run("access", "delete", left["metadata"]["name"], "--wait")
    assert entries() == []
    no_administrator_is_at_rest(mooring.directory)


async def _kubeconfig_request(mooring, cluster):
    """One that has its kubeconfig in its status, until it goes. The landscape is entered without a file."""
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    spec = {"cluster": cluster, "clusterRole": {"rules": [rule]}}
    request = an_object(KubeconfigRequest, "shown", "default", spec=spec)
    document = started(place_of(mooring.name, mooring.parent)).admin_kubeconfig()
    async with Client(connection_from_document(document)) as client:
        await client.create(typed(KubeconfigRequest), request)

        async def is_shown():
            there = await client.get(typed(KubeconfigRequest), "shown", namespace="default")
            return there.status is not None and there.status.kubeconfig

        async def is_gone():
            with contextlib.suppress(NotFound):
                return await client.get(typed(KubeconfigRequest), "shown", namespace="default") is None
            return True

        await until_async(is_shown, "the kubeconfig is in the status")
        await client.delete(typed(KubeconfigRequest), "shown", namespace="default")
        await until_async(is_gone, "the KubeconfigRequest is gone")


KEY = b"PRIVATE KEY-----"
TOKEN = re.compile(rb"eyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+")
WRAPPED = re.compile(rb"[A-Za-z0-9+/]{128,}={0,2}")
# Of accounts that were made for requests: these tokens are what was asked for, and in the Secrets beside the requests.
ENTRANTS = "system:serviceaccount:accessrequests:"


def unwrapped(content, layers=2):
    """The content, and what is in it in base64, and in that."""
    yield content
    for found in WRAPPED.findall(content) if layers else ():
        yield from unwrapped(base64.b64decode(found[: len(found) // 4 * 4]), layers - 1)


def bearers_in(content):
    """Whose tokens are in it."""
    for claims in TOKEN.findall(content):
        with contextlib.suppress(ValueError):
            yield json.loads(base64.urlsafe_b64decode(claims + b"=" * (-len(claims) % 4)))["sub"]


def no_administrator_is_at_rest(directory):
    """On disk, which includes what etcd has stored, and in logs; but for the authorities themselves, and for what the
    controller managers need to start. Those are no administrators, and no certificate here is one's."""
    # The kubeconfig of the landscape was never asked for in this test, so it is not there either.
    holding, bearers = set(), {}
    for path in filter(Path.is_file, directory.rglob("*")):
        for content in unwrapped(path.read_bytes()):
            if KEY in content:
                holding.add(path.relative_to(directory))
            for bearer in bearers_in(content):
                bearers.setdefault(bearer, set()).add(path.relative_to(directory).parts[0])
    # Tokens are where etcd keeps Secrets, and in no log; none is of anybody else than who asked for it.
    assert bearers
    assert {bearer for bearer in bearers if not bearer.startswith(ENTRANTS)} == set()
    assert set().union(*bearers.values()) == {"etcd"}
    pki = {path for path in holding if path.parent.name == "pki"}
    managers = {path for path in holding if path.name == "kube-controller-manager.kubeconfig"}
    assert holding == pki | managers
    assert {path.name for path in pki} == {
        "ca.key",
        "server.key",
        "nameless.key",  # etcd's, for its own gateway
        "etcd-client.key",
        "service-accounts.key",
        "kube-controller-manager.key",
    }
    for path in directory.rglob("*.crt"):
        (names,) = [one.subject for one in x509.load_pem_x509_certificates(path.read_bytes())]
        groups = [one.value for one in names.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        assert "system:masters" not in groups, path
    for path in (*holding, *map(Path, ("etcd/root.password",))):
        assert stat.S_IMODE((directory / path).stat().st_mode) == 0o600, path


async def _until_refused(kubeconfig):
    async def is_refused():
        return await may(kubeconfig, NAMESPACES) is None

    await until_async(is_refused, "the token is refused")


def assert_readme_shows(said, kubeconfig):
    """What is printed is what the README shows, line by line."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("$ make up\n")[2].partition("\n$ ")[0]
    assert _lines(said.replace(str(kubeconfig), "mine.kubeconfig")) == _lines(shown)


def _lines(text):
    """Without what differs from one time, or one machine, to the next, and steps that are over soon."""
    text = re.sub(r" --dir [^\s)']+", "", text)
    text = re.sub(r"[^\s=$(]*/(mooring|mine)\b", r"\1", text)
    shape = re.sub(r"mcp-[a-z0-9]{8}|[0-9.]+", "#", text)
    return [line.strip() for line in shape.splitlines() if line.strip() and not re.search("Pending|not ready", line)]

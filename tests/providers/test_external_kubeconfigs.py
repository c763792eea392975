"""Kubeconfigs of strangers: what is refused is refused by name, and nothing of a credential is told to anybody."""

from __future__ import annotations

import base64
import contextlib
import copy
import logging

import pytest
import structlog
import yaml
from external_kit import a_gossip, all_that_is_told, external
from provider_kit import condition

from mooring.api.clusters import Cluster
from mooring.kube import ObjectKey
from mooring.providers.external import ExternalConfig
from mooring.providers.external.reasons import Reason
from mooring.providers.external.sources import Source, connection_in
from mooring.providers.sdk import Refused
from mooring.testing.fault_wire import bound_socket

MARKER = "m4rker-of-a-credential"
CODED = base64.b64encode(MARKER.encode()).decode()
SOURCE = Source(secret=ObjectKey("team", "theirs"), key="kubeconfig", context="", field="spec.here")


def user(**fields):
    def change(document):
        document["users"][0]["user"] = fields

    return change


def more_for_the_user(**fields):
    return lambda document: document["users"][0]["user"].update(fields)


def cluster(**fields):
    def change(document):
        entry = document["clusters"][0]["cluster"]
        entry.update({name.replace("_", "-"): value for name, value in fields.items()})
        for name in [name for name, value in entry.items() if value is None]:
            del entry[name]

    return change


def another_user(document):
    document["users"].append({"name": "unused", "user": {"exec": {"command": MARKER}}})


def whole(**fields):
    return lambda document: document.update({name.replace("_", "-"): value for name, value in fields.items()})


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": [MARKER]}
# What is wrong, and the words that must be in the refusal.
REFUSED = {
    "exec": (user(exec=EXEC), "users[0].user.exec: refused"),
    "exec-and-token": (more_for_the_user(exec=EXEC), "users[0].user.exec: refused"),
    "exec-elsewhere": (another_user, "users[1].user.exec: refused"),
    "auth-provider": (user(**{"auth-provider": {"name": MARKER}}), "users[0].user.auth-provider: refused"),
    "token-file": (user(tokenFile=f"/{MARKER}"), "users[0].user.tokenFile: refused"),
    "certificate-file": (user(**{"client-certificate": MARKER}), "users[0].user.client-certificate: refused"),
    "key-file": (more_for_the_user(**{"client-key": MARKER}), "users[0].user.client-key: refused"),
    "authority-file": (cluster(certificate_authority=MARKER), "clusters[0].cluster.certificate-authority: refused"),
    "insecure": (
        cluster(insecure_skip_tls_verify=True, certificate_authority_data=None),
        "cluster.insecure-skip-tls-verify: refused",
    ),
    "insecure-and-authority": (cluster(insecure_skip_tls_verify=True), "cluster.insecure-skip-tls-verify"),
    "in-the-clear": (cluster(server="http://10.0.0.1:8080"), "cluster.server: refused: the credential would travel"),
    "password-in-the-address": (cluster(server=f"https://me:{MARKER}@10.0.0.1"), "clusters[theirs].cluster.server"),
    "query-in-the-address": (cluster(server=f"https://10.0.0.1/?token={MARKER}"), "clusters[theirs].cluster.server"),
    "no-address": (cluster(server=MARKER), "clusters[theirs].cluster.server: the server's address is not"),
    "proxy": (cluster(proxy_url=f"socks5://me:{MARKER}@10.0.0.1"), "proxy-url: only http and https"),
    "nobody": (user(), "user: there is no credential"),
    "spoiled-token": (user(token=f"{MARKER}\u2603"), "token: the token is empty or holds characters"),
    "list-for-a-token": (user(token=[MARKER]), "users[0].user.token"),
    "half-a-certificate": (user(**{"client-key-data": CODED}), "client-certificate"),
    "not-base64": (user(**{"client-key-data": f"{MARKER}*"}), "client-key-data: this is not base64"),
    "no-context": (whole(current_context=MARKER), "current-context: there is no such context"),
    "another-kind": (whole(kind=MARKER), "kind: this is not a kubeconfig"),
}
TEXTS = {
    "nothing": ("\n", "current-context: no context is chosen"),
    "alias": (f"users: *{MARKER}", "YAML aliases are refused"),
    "tag": (f"users: !{MARKER} []", "this is not YAML"),
    "broken": (f"a: b\nusers: [{MARKER}", "this is not YAML in line"),
    "prose": (MARKER, "this is not a kubeconfig"),
}
# These are seen when the connection is made.
UNUSABLE = {
    "authority-is-none": (cluster(certificate_authority_data=CODED), "certificate-authority-data"),
    "certificate-is-none": (
        user(**{"client-certificate-data": CODED, "client-key-data": CODED}),
        "client-certificate-data, client-key-data",
    ),
}


def a_kubeconfig(token=MARKER):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "theirs", "cluster": {"server": "https://10.0.0.1", "certificate-authority-data": CODED}}
        ],
        "users": [{"name": "owner", "user": {"token": token}}],
        "contexts": [{"name": "main", "context": {"cluster": "theirs", "user": "owner"}}],
        "current-context": "main",
    }


def changed(document, *changes):
    document = copy.deepcopy(document)
    for change in changes:
        change(document)
    return document


def secret_with(text):
    return {"data": {"kubeconfig": base64.b64encode(text.encode()).decode()}}


async def refusal_of(text):
    with pytest.raises(Refused) as error:
        await connection_in(secret_with(text), SOURCE)
    return error.value


@pytest.mark.parametrize("name", REFUSED)
async def test_a_kubeconfig_is_data_and_nothing_else(name):
    change, words = REFUSED[name]
    error = await refusal_of(yaml.safe_dump(changed(a_kubeconfig(), change)))
    assert error.reason == "KubeconfigRefused"
    assert words in str(error)
    assert "the key kubeconfig of the Secret team/theirs (spec.here)" in str(error)
    assert MARKER not in str(error)
    assert CODED not in str(error)


@pytest.mark.parametrize("name", TEXTS)
async def test_what_is_no_kubeconfig_is_not_quoted(name):
    text, words = TEXTS[name]
    error = await refusal_of(text)
    assert error.reason == "KubeconfigRefused"
    assert words in str(error)
    assert MARKER not in str(error)


async def test_a_context_can_be_chosen():
    document = a_kubeconfig()
    document["contexts"].append({"name": "other", "context": {"cluster": "far", "user": "owner"}})
    document["clusters"].append({"name": "far", "cluster": {"server": "https://10.0.0.2"}})
    source = Source(secret=SOURCE.secret, key="kubeconfig", context="other", field="spec.here")
    connection = await connection_in(secret_with(yaml.safe_dump(document)), source)
    assert connection.server == "https://10.0.0.2"


@pytest.fixture
def closed():
    """An address where nobody listens, and nobody will."""
    with contextlib.closing(bound_socket(0)) as seat:
        yield f"https://127.0.0.1:{seat.getsockname()[1]}"


def refusals(bad):
    """By name: a kubeconfig, the reason that it is told with, and some words."""
    reason = Reason.KUBECONFIG_REFUSED
    cases = {name: (changed(bad, change), reason, words) for name, (change, words) in (REFUSED | UNUSABLE).items()}
    return cases | {name: (text, reason, words) for name, (text, words) in TEXTS.items()}


def silences(bad, closed):
    named, secret_proxy = closed.replace("127.0.0.1", "localhost"), closed.replace("https://", f"http://me:{MARKER}@")
    nowhere, reason = "https://nowhere.invalid:6443", Reason.UNREACHABLE
    return {
        "closed": (changed(bad, cluster(server=closed)), reason, "127.0.0.1 means the machine that the provider runs"),
        "localhost": (
            changed(bad, cluster(server=named)),
            reason,
            "localhost means the machine that the provider runs",
        ),
        "proxy-away": (changed(bad, cluster(proxy_url=secret_proxy)), reason, "cannot be reached"),
        "nowhere": (changed(bad, cluster(server=nowhere)), reason, f"{nowhere} cannot be reached"),
    }


def answers(bad, gossip):
    """Of servers: the right one, and one that repeats what it hears."""
    refused, words = Reason.CREDENTIAL_REFUSED, "does not accept the credential"
    ca = base64.b64encode(gossip.ca).decode()
    told = {
        200: Reason.NOT_KUBERNETES,
        302: Reason.NOT_KUBERNETES,
        404: Reason.NOT_KUBERNETES,
        401: refused,
        403: Reason.CREDENTIAL_TOO_WEAK,
        500: Reason.UNHEALTHY,
    }
    return {
        "wrong-token": (bad, refused, words),
        "wrong-password": (changed(bad, user(username="me", password=MARKER)), refused, words),
        "anothers-authority": (
            changed(bad, cluster(certificate_authority_data=ca)),
            Reason.CERTIFICATE_UNKNOWN,
            "under certificate-authority-data",
        ),
    } | {
        f"gossip-{code}": (
            changed(bad, cluster(server=f"{gossip.server}/{code}", certificate_authority_data=ca)),
            reason,
            gossip.server,
        )
        for code, reason in told.items()
    }


async def test_nothing_of_a_credential_is_told(dock, harbour, closed, tmp_path, caplog):
    """Each kubeconfig is given to a configuration and to a Cluster; then all that is on the server is read."""
    caplog.set_level(logging.DEBUG)
    valid = await harbour.kubeconfig()
    token, bad = valid["users"][0]["user"]["token"], changed(valid, user(token=MARKER))
    async with a_gossip(tmp_path) as gossip:
        cases = refusals(bad) | silences(bad, closed) | answers(bad, gossip)
        with structlog.testing.capture_logs() as logs:
            async with external(dock.connection):
                await dock.config_for("family")
                for name, (document, _, _) in cases.items():
                    await dock.secret(f"case-{name}", document)
                    await dock.config_for(f"case-{name}", f"case-{name}")
                    await dock.member(f"case-{name}", f"case-{name}")
                await dock.secret("case-good", valid)
                await dock.member("case-good", "case-good")
                for name, (_, reason, words) in cases.items():
                    for kind in (Cluster, ExternalConfig):
                        told = condition(await dock.standing(f"case-{name}", reason, kind=kind)).message
                        assert words in told, name
                        assert f"Secret {dock.namespace}/case-{name}" in told or reason is Reason.UNHEALTHY, name
                await dock.ready("case-good")
    everything = await all_that_is_told(dock.kube, but={f"case-{name}" for name in (*cases, "good")})
    assert "CredentialRefused" in everything, "conditions and events are in there"
    for place in (everything, repr(logs), caplog.text):
        for secret in (MARKER, CODED, token, token.rpartition(".")[2]):
            assert secret not in place

"""Which identity providers can be trusted together, and what an API server is told of them: plain values."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import msgspec
import pytest
from oidc_kit import CLIENT

from mooring.api.access import AccessRequest
from mooring.controlplane.authentication import (
    TrustedIssuer,
    authentication_configuration,
    authentication_text,
    fingerprint,
    fingerprint_in,
    issuers_in,
)
from mooring.providers.sdk.granting.trust import accepted, clash, issuer_of
from mooring.providers.sdk.provider import Issuer

ONE = TrustedIssuer(
    url="https://corp.example",
    audience=CLIENT,
    username_claim="sub",
    username_prefix="corp:",
    groups_claim="groups",
    groups_prefix="",
)
OTHER = replace(ONE, url="https://lab.example", username_prefix="lab:", authority="-----BEGIN CERTIFICATE-----")


def request(name, url, *, age=0, **oidc):
    wish = {"name": name, "issuer": url, "clientID": CLIENT, "roleBindings": [], **oidc}
    document = {
        "metadata": {"name": f"{name}-{age}", "uid": f"{name}-{age}", "creationTimestamp": f"2026-01-0{9 - age}"},
        "spec": {"clusterRef": {"name": "one"}, "oidc": wish},
    }
    return msgspec.convert(document, AccessRequest)


def issuer(name, url, **oidc):
    return issuer_of(request(name, url, **oidc).spec.oidc)


def test_what_is_written_is_read_again_whatever_the_order():
    text = authentication_text([ONE, OTHER])
    assert text == authentication_text([OTHER, ONE])
    assert issuers_in(text) == (ONE, OTHER)
    assert issuers_in(authentication_text()) == ()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b'{"jwt": [{}]}',
        b"\xff",
        authentication_text([ONE]) + b" ",
        authentication_text([ONE]).replace(b"startsWith('system:')", b"startsWith('nobody:')", 1),
    ],
)
def test_what_somebody_else_has_written_is_not_taken_for_ours(text):
    assert issuers_in(text) is None


def test_nobody_is_anonymous_but_for_health_and_that_never_changes():
    anonymous = authentication_configuration([ONE])["anonymous"]
    assert anonymous == authentication_configuration()["anonymous"]
    assert {one["path"] for one in anonymous["conditions"]} == {"/livez", "/readyz", "/healthz"}


def test_the_metrics_tell_which_file_is_in_effect():
    told = fingerprint(b"a file")
    line = 'apiserver_authentication_config_controller_last_config_info{apiserver_id_hash="sha256:00",hash="sha256:'
    assert fingerprint_in(f'# HELP …\n{line}{told}"}} 1\nother 2\n'.encode()) == told
    assert fingerprint_in(b"other 2\n") == ""


def test_prefixes_are_the_name_unless_something_else_is_said():
    assert issuer("corp", "https://a") == Issuer(
        name="corp",
        url="https://a",
        client_id=CLIENT,
        username_claim="sub",
        username_prefix="corp:",
        groups_claim="groups",
        groups_prefix="corp:",
    )
    said = issuer("corp", "https://a", usernamePrefix="", groupsPrefix="teams", usernameClaim="email", groupsClaim="")
    assert (said.username_prefix, said.groups_prefix) == ("", "teams:")
    assert (said.username_claim, said.groups_claim) == ("email", "groups")


@pytest.mark.parametrize(
    ("mine", "word"),
    [
        (issuer("corp", "https://corp.example"), ""),
        # The same one under another name, and another beside it.
        (issuer("other", "https://corp.example", usernamePrefix="corp", groupsPrefix="corp:"), ""),
        (issuer("corporate", "https://lab.example"), ""),
        (issuer("corp", "https://corp.example", clientID="another"), "another client"),
        (issuer("corp", "https://lab.example", usernamePrefix="l", groupsPrefix="l"), "spec.oidc.name"),
        (issuer("lab", "https://lab.example", usernamePrefix="corp"), "prefixes"),
        (issuer("lab", "https://lab.example", groupsPrefix="corp:inner"), "prefixes"),
        (issuer("lab", "https://lab.example", usernamePrefix=""), "prefixes"),
        (issuer("lab", "https://lab.example", usernamePrefix="system"), "usernamePrefix may not begin with 'system:'"),
        (issuer("lab", "https://lab.example", groupsPrefix="system:a:"), "groupsPrefix may not begin with 'system:'"),
        (issuer("mooring", "https://lab.example"), "usernamePrefix may not begin with 'mooring:'"),
        (issuer("lab", "https://lab.example", groupsPrefix="mooring"), "groupsPrefix may not begin with 'mooring:'"),
    ],
)
def test_nobody_can_pass_for_somebody_elses_users(mine, word):
    told = clash(mine, [issuer("corp", "https://corp.example")])
    assert word in told if word else told == ""


def test_of_two_that_cannot_be_trusted_together_the_older_one_counts():
    oldest = request("corp", "https://corp.example", age=3)
    same = request("corp", "https://corp.example", age=2)
    false_friend = request("lab", "https://lab.example", age=1, usernamePrefix="corp")
    other = request("field", "https://field.example", age=0)
    told = {tuple(one.url for one in accepted(order)) for order in permutations([oldest, same, false_friend, other])}
    assert told == {("https://corp.example", "https://field.example")}

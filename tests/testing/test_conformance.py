"""The conformance suite: who keeps the contract passes it, and who breaks a rule is caught by the check for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import connection_from_document
from mooring.testing.builders import plain_resource_of
from mooring.testing.conformance import (
    Level,
    NotConforming,
    Outcome,
    Settings,
    all_checks,
    check_provider,
    command_subject,
)

PLAIN = (sys.executable, str(Path(__file__).parent / "plain_provider.py"))
FAILED = Outcome.FAILED


@pytest.fixture
def there(own_plane):
    return connection_from_document(own_plane.admin_kubeconfig(name="own"))


async def test_a_provider_without_the_sdk_passes(there, own_kube):
    report = await check_provider(command_subject(PLAIN), there)
    assert report.named(FAILED) == []
    assert report.named(Outcome.SKIPPED) == []
    assert report.conforms
    report.raise_for_failures()
    for kind in (AccessRequest, Cluster, ClusterProfile):
        left = (await own_kube.list(plain_resource_of(kind))).items
        assert not [one for one in left if "conform" in str(one["metadata"])], "nothing is left behind"


# What cannot be kept any more is not worth a long wait: with these, the check fails however long it waits.
SOON = 1.0
# Servers know a token for ten seconds after its end. What something else must come before, waits for that.
LATER = {"access.deletion": 20.0, "access.self-labelled": 120.0}

# Faults that can be had together, and the checks that find them. Their neighbours, in the same run, find nothing.
BROKEN = {
    "init": ({"init-fails": ["program.init"]}, ["profiles"]),
    "program": (
        {"init-once": ["program.init-again"], "bad-end": ["program.terminates"]},
        ["program.flags", "profiles.side-by-side"],
    ),
    "flags": ({"few-flags": ["program.flags"]}, ["program.init-again"]),
    "no profiles": ({"publishes-nothing": ["profiles.at-least-one"]}, ["profiles"]),
    "profiles of nobody": ({"wrong-ref": ["profiles.provider-ref"]}, ["cluster.ready"]),
    "profiles of one name": ({"fixed-profile": ["profiles.side-by-side"]}, ["profiles.name"]),
    "profiles": (
        {"partial-versions": ["profiles.versions-in-full"], "odd-config": ["profiles.config-ref"]},
        ["profiles.name", "profiles.versions"],
    ),
    "names": (
        {"long-name": ["profiles.name"], "no-versions": ["profiles.versions"]},
        ["profiles.versions-in-full", "profiles.config-ref"],
    ),
    "profiles that are lost": ({"publishes-once": ["profiles.restored"]}, ["cluster.ready"]),
    "responsibility": (
        {
            "serves-foreign": ["responsibility.foreign-profile"],
            "serves-unknown": ["responsibility.unknown-profile"],
            "serves-ignored": ["operation.ignore"],
            "answers-everybody": ["access.unprepared", "access.foreign"],
        },
        ["cluster.finalizer", "status.api-server"],
    ),
    "other instances": ({"serves-foreign": ["responsibility.other-instance"]}, ["profiles.side-by-side"]),
    "nothing is made": ({"never-ready": ["cluster.ready"]}, ["status.phase-agrees"]),
    "status": (
        {
            "no-address": ["status.api-server"],
            "odd-reason": ["status.conditions"],
            "restless": ["status.transition-time"],
            "deaf": ["status.observed-generation"],
            "wrong-label": ["labels.provider"],
        },
        ["status.phase-agrees", "labels.version", "cluster.finalizer"],
    ),
    "order": (
        {
            "late-address": ["status.api-server"],
            "no-finalizer": ["cluster.finalizer"],
            "lying-phase": ["status.phase-agrees"],
        },
        ["status.conditions", "status.phase"],
    ),
    "phase": (
        {"odd-phase": ["status.phase"], "labels-once": ["labels.restored"]},
        ["status.conditions", "status.api-server"],
    ),
    "conditions": (
        {"own-condition": ["status.ready-condition"], "deaf-to-operations": ["operation.reconcile"]},
        ["status.conditions", "status.phase-agrees"],
    ),
    "memory": (
        {"remembers-too-much": ["status.restored"], "silent-about-versions": ["version.unsupported"]},
        ["version.supported"],
    ),
    "versions": ({"newest-only": ["version.honoured"], "odd-version": ["version.unset"]}, ["labels.version"]),
    "few versions": ({"one-version": ["version.supported"], "no-version-label": ["labels.version"]}, ["version.unset"]),
    "secrets": (
        {"leaks-status": ["secrets.status"], "leaks-annotation": ["secrets.marks"], "leaks-event": ["secrets.events"]},
        ["status.conditions"],
    ),
    "no access": ({"no-tokens": ["access.token"]}, ["access"]),
    "access": (
        {
            "gives-admin": ["access.nothing-else"],
            "no-times": ["access.times"],
            "no-owner": ["access.owner"],
            "believes-labels": ["access.self-labelled"],
            "leaks-access": ["access.secrets"],
            "silent-oidc": ["access.oidc"],
        },
        ["access.token", "access.cluster-gone", "access.foreign"],
    ),
    "less than was asked for, and more": (
        {
            "everywhere": ["access.token-namespace"],
            "always-namespace": ["access.token-no-namespace"],
            "no-role-refs": ["access.token-role-refs"],
            "only-adds": ["access.change"],
            "leaves-doors": ["access.deletion"],
            "needs-cluster": ["access.cluster-gone"],
            "admin-oidc": ["access.no-admin"],
        },
        ["access.nothing-else", "access.times", "access.owner", "access.self-labelled", "access.oidc"],
    ),
    "deletion": ({"ignores-deletion": ["deletion.gone"]}, ["deletion", "cluster.ready"]),
    "the end": (
        {
            "impatient": ["deletion.waits"],
            "silent-deletion": ["deletion.terminating"],
            "leaves-things": ["deletion.nothing-left"],
        },
        ["deletion.goes-on", "status.phase-agrees"],
    ),
    "waiting": ({"looks-once": ["deletion.goes-on"]}, ["deletion.waits", "deletion.terminating"]),
    "restarts": ({"makes-anew": ["restart.adopts"]}, ["restart.in-creation", "restart.in-deletion"]),
}


def found_by(faults):
    return {name for names in faults.values() for name in names}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_broken_provider_is_caught(there, what):
    faults, neighbours = BROKEN[what]
    expected = found_by(faults)
    patience = {name: LATER.get(name, SOON) for name in expected}
    settings = Settings(only=[*expected, *neighbours], patience_for=patience)
    report = await check_provider(command_subject([*PLAIN, ",".join(faults)]), there, settings)
    assert set(report.named(FAILED)) == expected
    musts = [one.check.id for one in report.results if one.outcome is FAILED and one.check.level is Level.MUST]
    assert report.conforms == (not musts)
    for name in musts:
        with pytest.raises(NotConforming, match=name):
            report.raise_for_failures()
    for name in expected:
        result = report.of(name)
        assert result.expected
        assert result.seen


def test_every_check_can_fail():
    """A check that no fault is caught by may be one that cannot fail."""
    caught = set().union(*(found_by(faults) for faults, _ in BROKEN.values()))
    # A provider cannot be made to die at a certain point of its work every time; these share their code with others.
    beyond = {"restart.in-creation", "restart.in-deletion"}
    assert caught | beyond == {one.id for one in all_checks()}
    assert not caught & beyond

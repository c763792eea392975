"""Decisions of the SDK that need no server: versions, names, secrets, statuses."""

from __future__ import annotations

import msgspec
import pytest

from mooring.api.access import AccessRequest
from mooring.api.clusters import (
    Cluster,
    ClusterProfile,
    ClusterProfileSpec,
    ClusterSpec,
    ClusterStatus,
    Endpoint,
    SupportedVersion,
)
from mooring.api.conditions import Condition, Truth, found
from mooring.api.kinds import Metadata
from mooring.api.marks import (
    KUBERNETES_VERSION_LABEL,
    PROVIDER_INFO_ANNOTATION,
    PROVIDER_LABEL,
    VARIANT_ANNOTATION,
    claim_of,
)
from mooring.api.references import LocalReference
from mooring.providers.sdk import Refused, State, profile_name, responsible_for
from mooring.providers.sdk.asking import LONGEST_PAUSE, Pauses
from mooring.providers.sdk.naming import variant_of
from mooring.providers.sdk.scrubbing import HIDDEN, scrubbed, secret_in
from mooring.providers.sdk.status import (
    failed,
    holders_in_words,
    marks_of,
    refused,
    reported,
    status_of,
    version_in,
)
from mooring.providers.sdk.versions import version_for
from mooring.testing.builders import access_request

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def versions(*texts):
    """A hyphen at the end makes a version deprecated."""
    return [SupportedVersion(version=one.rstrip("-"), deprecated=one.endswith("-")) for one in texts]


OFFERED = versions("1.32.7", "1.33.2-", "1.33.3", "1.34.1-")


@pytest.mark.parametrize(
    ("wanted", "running", "chosen"),
    [
        ("", "", "1.33.3"),
        ("", "1.32.7", "1.32.7"),  # nobody asked for more
        ("", "1.33.2", "1.33.2"),  # also if it is deprecated meanwhile
        ("", "v1.32.7", "v1.32.7"),
        ("", "1.31.0", "1.33.3"),  # what runs cannot be had any more
        ("", "1.34.1", "1.34.1"),  # never back, not even to what is recommended
        ("", "1.35.0", "1.35.0"),
        ("1.32", "", "1.32.7"),
        ("1.33", "", "1.33.3"),
        ("1.33.2", "", "1.33.2"),  # deprecated, and asked for in full
        ("v1.33.3", "", "1.33.3"),
        ("1.31.0", "1.31.0", "1.31.0"),  # no longer offered, but it runs
        ("1.33", "1.33.9", "1.33.9"),
        ("1.33.3", "no version", "1.33.3"),
    ],
)
def test_a_version_is_chosen(wanted, running, chosen):
    assert version_for(wanted, OFFERED, running=running) == chosen


@pytest.mark.parametrize(
    ("wanted", "running", "reason", "words"),
    [
        ("1.30.0", "", "UnsupportedVersion", ["1.30.0", "1.32.7", "1.33.2 (deprecated)", "1.33.3"]),
        ("1.34", "", "UnsupportedVersion", ["1.34", "1.34.1 (deprecated)"]),
        ("latest", "", "UnsupportedVersion", ["spec.kubernetes.version", "latest"]),
        ("1.32.7", "1.33.3", "DowngradeRefused", ["1.33.3", "1.32.7"]),
    ],
)
def test_a_version_is_refused(wanted, running, reason, words):
    with pytest.raises(Refused) as refusal:
        version_for(wanted, OFFERED, running=running)
    assert refusal.value.reason == reason
    assert all(word in str(refusal.value) for word in words)


def test_a_new_cluster_never_gets_a_deprecated_version_by_itself():
    with pytest.raises(Refused, match="not deprecated"):
        version_for("", versions("1.33.2-"))


def test_without_offered_versions_it_is_the_providers_choice():
    assert version_for("", []) == ""
    assert version_for("", [], running="1.31.2") == "1.31.2"
    assert version_for("1.33", []) == "1.33"


def profile(config, variant="", *, noted=True):
    name = profile_name(environment="live", provider="maker", config=config, variant=variant)
    notes = {VARIANT_ANNOTATION: variant} if noted and variant else {}
    spec = ClusterProfileSpec(
        provider_ref=LocalReference(name="maker"),
        provider_config_ref=LocalReference(name=config),
        supported_versions=(),
    )
    return ClusterProfile(metadata=Metadata(name=name, annotations=notes), spec=spec)


@pytest.mark.parametrize("variant", ["", "small", "small.and.light"])
@pytest.mark.parametrize("config", ["gold", "a" * 63, "aws.eu-1"])
def test_a_profile_tells_its_variant(config, variant):
    one = profile(config, variant)
    assert len(one.metadata.name) <= 63
    assert variant_of(one, environment="live") == variant


def test_a_variant_is_read_from_a_name_that_was_not_shortened():
    assert variant_of(profile("gold", "small", noted=False), environment="live") == "small"
    assert variant_of(profile("g" * 60, "small", noted=False), environment="live") is None


def test_a_persons_profile_has_no_variant():
    one = profile("gold")
    one = msgspec.structs.replace(one, metadata=Metadata(name="my-profile"))
    assert variant_of(one, environment="live") == ""


JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl"
KUBECONFIG = "apiVersion: v1\nkind: Config\nusers:\n- name: admin\n"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "note",
    [
        {"a": JWT},
        {"a": {"b": [1, KEY]}},
        {"a": KUBECONFIG},
        {"a": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURQ=="},
        {"kubeconfig": {"users": []}},
        {"adminToken": "abc"},
        {"client_key_data": "abc"},
        {"a": "https://admin:hunter2@example.com"},
    ],
)
def test_a_secret_is_found(note):
    assert secret_in(note)


@pytest.mark.parametrize(
    "note",
    [
        {},
        {"shoot": "s-1", "tokens": 3, "tokenExpires": "2026-01-01"},
        {"a": "the token expired yesterday and authentication failed"},
        {"a": "https://example.com:6443", "b": ["x", None, 1.5, True]},
    ],
)
def test_what_is_harmless_passes(note):
    assert secret_in(note) is None


@pytest.mark.parametrize(
    "text", [JWT, KEY, KUBECONFIG, "password: hunter2hunter2", "Authorization: Bearer " + "a" * 20]
)
def test_a_secret_is_hidden_in_words(text):
    shown = scrubbed(f"It failed: {text}")
    assert HIDDEN in shown
    assert text not in shown


def a_cluster(*conditions, generation=3, status=True, **metadata):
    told = ClusterStatus(observed_generation=1, phase="Progressing", conditions=conditions, last_reconcile_time=NOW)
    return Cluster(
        metadata=Metadata(name="one", namespace="team", generation=generation, **metadata),
        spec=ClusterSpec(profile="p", tenancy="Shared"),
        status=told if status else None,
    )


def a_condition(kind="Ready", status=Truth.TRUE, reason="Ready"):
    return Condition(type=kind, status=status, reason=reason, message="", last_transition_time=NOW)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Building", "Building"),
        ("outOfQuota", "OutOfQuota"),
        ("out of quota", "NotReady"),
        ("", "NotReady"),
        ("1st", "NotReady"),
    ],
)
def test_a_reason_is_one_camel_case_word(said, told):
    assert reported(State(ready=False, reason=said)).reason == told


BUILDING = reported(State(ready=False, reason="Building", message="Walls."))
DONE = reported(State(ready=True, version="1.33.3+k3s1", api_server="https://one:6443", note={"a": 1}))


def told(cluster, report, now=LATER):
    return status_of(cluster, report, generation=cluster.metadata.generation, now=now)


@pytest.mark.parametrize(
    ("before", "report", "truth", "phase"),
    [
        ((), BUILDING, "Unknown", "Progressing"),
        ((a_condition(status=Truth.UNKNOWN),), BUILDING, "Unknown", "Progressing"),
        ((a_condition(),), BUILDING, "False", "Progressing"),
        ((a_condition(status=Truth.FALSE),), BUILDING, "False", "Progressing"),
        ((a_condition(status=Truth.FALSE), a_condition("Stalled")), BUILDING, "Unknown", "Progressing"),
        ((), DONE, "True", "Ready"),
        ((a_condition("Theirs", Truth.FALSE, "No"),), DONE, "True", "Progressing"),
        ((a_condition("Theirs", Truth.TRUE, "Yes"),), DONE, "True", "Ready"),
        ((a_condition(),), failed("It broke."), "Unknown", "Progressing"),
        ((a_condition(),), refused("No.", "Refused"), "False", "Progressing"),
    ],
)
def test_ready_and_phase(before, report, truth, phase):
    status = told(a_cluster(*before), report)
    assert found(status.conditions, "Ready").status == truth
    assert status.phase == phase
    assert status.observed_generation == 3
    assert {one.type for one in before} - {"Stalled"} <= {one.type for one in status.conditions}


def test_stalled_is_there_only_while_it_is():
    stalled = told(a_cluster(), refused("Change it.", "Refused"))
    assert found(stalled.conditions, "Stalled").message == "Change it."
    later = told(msgspec.structs.replace(a_cluster(), status=stalled), DONE)
    assert found(later.conditions, "Stalled") is None


def test_the_time_changes_only_with_something_else():
    status = told(a_cluster(), DONE, now=NOW)
    again = told(msgspec.structs.replace(a_cluster(), status=status), DONE, now=LATER)
    assert again is status
    other = told(msgspec.structs.replace(a_cluster(), status=status), BUILDING, now=LATER)
    assert other.last_reconcile_time == LATER


def test_what_was_known_stays_known():
    status = told(a_cluster(), DONE)
    assert status.endpoints == (Endpoint(name="apiserver-external", url="https://one:6443"),)
    assert status.provider_status == {"a": 1}
    for report in (failed("It broke."), refused("No.", "Refused")):
        later = told(msgspec.structs.replace(a_cluster(), status=status), report)
        assert (later.api_server, later.endpoints) == (status.api_server, status.endpoints)
        assert later.provider_status == {"a": 1}


def test_endpoints_give_the_api_server():
    inner, outer = (Endpoint(name=f"apiserver-{where}", url=f"https://{where}") for where in ("internal", "external"))
    state = State(ready=False, endpoints=[inner, outer])
    assert told(a_cluster(), reported(state)).api_server == "https://external"
    assert told(a_cluster(), reported(State(ready=False, endpoints=[inner]))).api_server == "https://internal"


def test_a_secret_gets_into_no_status():
    state = State(
        ready=True,
        message=f"with {JWT}",
        note={"kubeconfig": KUBECONFIG},
        api_server="https://admin:hunter2@one:6443",
        info=JWT,
        reason="not a word",
    )
    status = told(a_cluster(), reported(state))
    assert JWT not in str(status)
    assert "hunter2" not in str(status)
    assert not status.provider_status
    assert found(status.conditions, "Ready").reason == "Ready"
    assert JWT not in str(marks_of(a_cluster().metadata, reported(state), provider="maker"))


def test_marks_tell_what_runs():
    metadata = marks_of(Metadata(labels={"mine": "stays"}), DONE, provider="maker")
    assert metadata.labels == {"mine": "stays", PROVIDER_LABEL: "maker", KUBERNETES_VERSION_LABEL: "1.33.3_k3s1"}
    assert version_in(metadata) == "1.33.3+k3s1"
    assert PROVIDER_INFO_ANNOTATION not in metadata.annotations
    assert marks_of(metadata, failed("It broke."), provider="maker").labels == metadata.labels


def test_holders_are_named_in_words():
    notes = {claim_of("u1"): '{"namespace": "team", "name": "mine", "prefix": ""}'}
    marks = ("ours", claim_of("u1"), claim_of("u2"), "test.example/other")
    words = holders_in_words(Metadata(finalizers=marks, annotations=notes), but="ours")
    assert words == "the request team/mine, a request (u2), the finalizer test.example/other"
    assert holders_in_words(Metadata(finalizers=("ours",)), but="ours") == ""


def test_pauses_grow_until_something_changes():
    pauses, key = Pauses(), ("team", "one")
    first = [pauses.next(key, "Building") for _ in range(30)]
    assert first == sorted(first)
    assert first[-1] == LONGEST_PAUSE
    assert pauses.next(key, "Booting") == first[0]


@pytest.mark.parametrize(
    ("labels", "ours"),
    [
        ({}, False),
        ({"clusters.openmcp.cloud/provider": "maker"}, False),
        ({"clusters.openmcp.cloud/profile": "p"}, False),
        ({"clusters.openmcp.cloud/provider": "other", "clusters.openmcp.cloud/profile": "p"}, False),
        ({"clusters.openmcp.cloud/provider": "maker", "clusters.openmcp.cloud/profile": "p"}, True),
    ],
)
def test_both_labels_make_an_access_request_ours(labels, ours):
    body = access_request("mine", "team")
    body["metadata"]["labels"] = labels
    assert responsible_for(msgspec.convert(body, AccessRequest), "maker") is ours

"""What a request lacks, as a table and as properties: two writers of one status never take turns for ever."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.access.plan import Answer, judged_answer, leaving_answer, marks_for, unresolved_answer
from mooring.access.reasons import OURS, REFUSALS, Reason
from mooring.access.status import status_of
from mooring.api.access import AccessRequest, AccessRequestSpec, AccessRequestStatus, TokenAccess
from mooring.api.clusters import Cluster, ClusterProfile, ClusterProfileSpec, ClusterSpec, Tenancy
from mooring.api.conditions import Condition, Truth, found
from mooring.api.kinds import Metadata
from mooring.api.marks import MANAGED_BY_LABEL, PROFILE_LABEL, PROVIDER_LABEL
from mooring.api.references import LocalReference, NearbyReference
from mooring.api.requests import RequestPhase
from mooring.entry.policies import Denial, Verdict
from mooring.entry.resolving import Gap, Target, Unresolved

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
YES, NO = Verdict(allowed=True), Verdict(allowed=False, reason=Denial.FOREIGN_NAMESPACE, message="Elsewhere.")
LABELS = {PROVIDER_LABEL: "maker", PROFILE_LABEL: "gold"}


def profile(*, ours=True):
    spec = ClusterProfileSpec(
        provider_ref=LocalReference(name="maker"),
        provider_config_ref=LocalReference(name="plain"),
        supported_versions=(),
    )
    labels = {MANAGED_BY_LABEL: "mooring"} if ours else {}
    return ClusterProfile(metadata=Metadata(name="gold", labels=labels), spec=spec)


def target(*, ours=True):
    where = Metadata(name="home", namespace="there")
    cluster = Cluster(metadata=where, spec=ClusterSpec(profile="gold", tenancy=Tenancy.SHARED))
    return Target(cluster=cluster, profile=profile(ours=ours), holds=False)


def access(status=None, *, labels=LABELS, generation=2, reference=None, finalizers=()):
    metadata = Metadata(name="entry", namespace="here", labels=labels, generation=generation, finalizers=finalizers)
    spec = AccessRequestSpec(cluster_ref=reference, token=TokenAccess())
    return AccessRequest(metadata=metadata, spec=spec, status=status)


def told(phase, reason="Told", *, generation=2):
    return AccessRequestStatus(observed_generation=generation, phase=phase, reason=reason)


def phase_of(answer):
    return None if answer is None else (answer.phase.value, answer.reason)


PENDING, DENIED = ("Pending", Reason.PREPARED), ("Denied", Denial.FOREIGN_NAMESPACE)

# What the status says, and what is to be said: to a provider of our SDK, and to one of upstream's
TABLE = [
    (None, None, PENDING),
    (told(""), None, PENDING),
    (told("Pending", ""), None, None),
    (told("Pending", Reason.PREPARED), None, None),
    (told("Pending", Reason.PREPARED, generation=1), None, PENDING),
    (told("Pending", Gap.REQUEST_PENDING), None, PENDING),
    (told("Granted"), None, None),
    (told("Granted", generation=1), None, PENDING),
    (told("Denied"), None, None),
    (told("Denied", generation=1), None, PENDING),
    (told("Denied", Denial.FOREIGN_NAMESPACE), PENDING, PENDING),
    (told("Denied", Gap.CLUSTER_MISSING), PENDING, PENDING),
    (told("Denied", Reason.NOT_ACCEPTED), PENDING, PENDING),
]


@pytest.mark.parametrize(("status", "ours", "theirs"), TABLE)
def test_what_is_said_of_a_request_that_may_enter(status, ours, theirs):
    assert phase_of(judged_answer(access(status), target(ours=True), YES)) == ours
    assert phase_of(judged_answer(access(status), target(ours=False), YES)) == theirs


@pytest.mark.parametrize("status", [status for status, _, _ in TABLE])
@pytest.mark.parametrize("ours", [True, False])
def test_what_is_said_of_one_that_may_not(status, ours):
    assert phase_of(judged_answer(access(status), target(ours=ours), NO)) == DENIED


@pytest.mark.parametrize(
    ("labels", "labelled_for", "phase"),
    [
        ({}, None, "Pending"),
        ({PROVIDER_LABEL: "maker"}, None, "Pending"),
        (LABELS, profile(ours=True), "Pending"),
        (LABELS, profile(ours=False), "Denied"),
        (LABELS, None, "Denied"),
    ],
)
def test_what_is_said_of_one_that_leads_nowhere(labels, labelled_for, phase):
    """With Pending, upstream's providers begin."""
    why = Unresolved(gap=Gap.CLUSTER_MISSING, message="No cluster.")
    answer = unresolved_answer(access(labels=labels), why, labelled_for=labelled_for)
    assert phase_of(answer) == (phase, Gap.CLUSTER_MISSING)


@pytest.mark.parametrize(
    ("request_", "labelled_for", "said"),
    [
        (access(told("Granted", generation=1), finalizers=("a",)), profile(ours=False), True),
        (access(told("Granted", generation=1), finalizers=("a",)), None, True),
        (access(told("Denied"), finalizers=("a",)), profile(ours=False), True),
        (access(None, finalizers=("a",)), profile(ours=False), True),
        (access(told("Granted"), finalizers=("a",)), profile(ours=False), False),
        (access(told("Pending"), finalizers=("a",)), profile(ours=False), False),
        (access(told("Granted", generation=1)), profile(ours=False), False),
        (access(told("Granted", generation=1), finalizers=("a",)), profile(ours=True), False),
        (access(told("Granted", generation=1), finalizers=("a",), labels={}), None, False),
    ],
)
def test_what_is_said_in_deletion(request_, labelled_for, said):
    answer = leaving_answer(request_, labelled_for=labelled_for)
    assert phase_of(answer) == (("Pending", Reason.REVOKING) if said else None)


@pytest.mark.parametrize(
    "reference", [None, NearbyReference(name="home"), NearbyReference(name="home", namespace="there")]
)
def test_the_marks(reference):
    marks = marks_for(access(labels={"mine": "own", PROVIDER_LABEL: "maker"}, reference=reference), target())
    assert marks.labels == {**LABELS, "mine": "own"}
    assert marks.cluster_ref == NearbyReference(name="home", namespace="there")


def test_the_conditions_of_a_refusal_come_and_go():
    foreign = Condition(type="Meta", status=Truth.TRUE, last_transition_time=NOW, reason="Told", message="")
    request = access(msgspec.structs.replace(told("Granted"), conditions=(foreign,)))
    no = Answer(phase=RequestPhase.DENIED, reason=Denial.WRONG_LABEL, message="Wrong.")
    denied = status_of(request, no, now=NOW)
    assert {one.type: one.status.value for one in denied.conditions} == {
        "Meta": "True",
        "Ready": "False",
        "Stalled": "True",
    }
    waits = Answer(phase=RequestPhase.PENDING, reason=Gap.CLUSTER_MISSING, message="No cluster.")
    waiting = status_of(access(denied), waits, now=LATER)
    assert found(waiting.conditions, "Ready").last_transition_time == NOW
    assert found(waiting.conditions, "Stalled") is None
    yes = Answer(phase=RequestPhase.PENDING, reason=Reason.PREPARED, message="Yes.")
    assert status_of(access(waiting), yes, now=LATER).conditions == (foreign,)


def test_what_a_provider_says_of_readiness_stays():
    theirs = Condition(type="Ready", status=Truth.TRUE, last_transition_time=NOW, reason="Theirs", message="")
    request = access(msgspec.structs.replace(told("Granted", generation=1), conditions=(theirs,)))
    yes = Answer(phase=RequestPhase.PENDING, reason=Reason.PREPARED, message="Yes.")
    assert status_of(request, yes, now=LATER).conditions == (theirs,)


def test_a_message_has_an_end():
    no = Answer(phase=RequestPhase.PENDING, reason=Gap.REQUEST_DENIED, message="x" * 100_000)
    assert len(status_of(access(), no, now=NOW).message) < 32_768


STATUSES = st.none() | st.builds(
    told,
    st.sampled_from(["", "Pending", "Granted", "Denied", "Odd"]),
    st.sampled_from([*sorted(OURS), "Told", ""]),
    generation=st.integers(1, 3),
)
VERDICTS = st.sampled_from([YES, NO, Verdict(allowed=False, reason=Denial.WRONG_LABEL, message="Wrong.")])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(status=STATUSES, verdict=VERDICTS, ours=st.booleans())
def test_what_was_said_once_is_not_said_again(status, verdict, ours):
    """One write settles it, whatever was there, as long as nobody else writes."""
    request, where = access(status), target(ours=ours)
    answer = judged_answer(request, where, verdict)
    if answer is None:
        return
    after = msgspec.structs.replace(request, status=status_of(request, answer, now=NOW))
    again = judged_answer(after, where, verdict)
    assert again is None or status_of(after, again, now=LATER) is after.status


@settings(deadline=None, derandomize=True, max_examples=150)
@given(status=STATUSES, verdict=VERDICTS, ours=st.booleans(), answers=st.sampled_from(["Granted", "Denied", "Pending"]))
def test_what_a_provider_answers_stays_if_the_request_may_enter(status, verdict, ours, answers):
    request, where = access(status), target(ours=ours)
    answered = msgspec.structs.replace(request, status=told(answers))
    answer = judged_answer(answered, where, verdict)
    if verdict.allowed:
        assert answer is None
    else:
        assert answer.phase is RequestPhase.DENIED
        assert answer.reason in REFUSALS


@settings(deadline=None, derandomize=True, max_examples=150)
@given(status=STATUSES, verdict=VERDICTS)
def test_upstreams_providers_act_on_what_may_enter_and_on_nothing_else(status, verdict):
    """They act while the phase is Pending, or Granted of the present generation."""
    request, where = access(status), target(ours=False)
    answer = judged_answer(request, where, verdict)
    after = status if answer is None else status_of(request, answer, now=NOW)
    acts = after is not None and (
        after.phase == "Pending" or (after.phase == "Granted" and after.observed_generation == 2)
    )
    refused_by_them = after is not None and after.phase == "Denied" and after.reason not in REFUSALS
    assert acts == verdict.allowed or (verdict.allowed and refused_by_them)

"""What is decided about an access request, as a function of what is seen: no server, no clock."""

from __future__ import annotations

import msgspec
import pytest
from granting_kit import LABELS, PROFILE, READ_PODS

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.marks import GRANT_FINALIZER, OPERATION_ANNOTATION
from mooring.entry.entrants import ENTRANT_LABEL, Entrant
from mooring.entry.policies import Verdict
from mooring.kube import Bare, ObjectKey
from mooring.providers.sdk.granting.claims import account_in
from mooring.providers.sdk.granting.making import door_of, without
from mooring.providers.sdk.granting.plan import Open, Rest, Retire, Shut, Sight, Wait, lifetime_of, next_step
from mooring.providers.sdk.granting.records import GRANT_ANNOTATION, Record, annotation_of, record_in

NOW, DAY = 1_800_000_000.0, 86_400.0
SERVER = "https://one.example"
USUAL = {"permissions": [{"rules": [READ_PODS]}]}


def request(*, finalizers=(GRANT_FINALIZER,), operation=None, token=USUAL, generation=1):
    metadata = {
        "name": "mine",
        "namespace": "team",
        "uid": "request-uid",
        "generation": generation,
        "labels": LABELS,
        "finalizers": list(finalizers),
        "annotations": {OPERATION_ANNOTATION: operation} if operation else {},
    }
    return msgspec.convert(
        {"metadata": metadata, "spec": {"clusterRef": {"name": "one"}, "token": token}}, AccessRequest
    )


def cluster(*, ready=True, deleting=False, uid="cluster-uid", server=SERVER):
    condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "Some", "message": ""}
    metadata = {"name": "one", "namespace": "team", "uid": uid}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {
        "observedGeneration": 1,
        "phase": "Ready" if ready else "Progressing",
        "apiServer": server,
        "conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}],
    }
    spec = {"profile": PROFILE, "tenancy": "Exclusive", "purposes": ["test"]}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Cluster)


ENTRANT = Entrant(
    installation="here", environment="test", provider="workshop", key=ObjectKey("team", "mine"), uid="request-uid"
)
ISSUE, OLDER = f"{ENTRANT.hash}-0123456789", f"{ENTRANT.hash}-abcdef0123"


def record(**fields):
    door, _ = door_of(request(), ENTRANT)
    usual = {
        "door": door.fingerprint,
        "server": SERVER,
        "cluster": "cluster-uid",
        "generation": 1,
        "issue": ISSUE,
        "lifetime": 30 * DAY,
        "created": NOW - DAY,
        "expires": NOW + 29 * DAY,
    }
    return Record(**(usual | fields))


def step(asked=None, into=None, noted=None, **fields):
    asked = asked or request()
    door, trouble = door_of(asked, ENTRANT)
    usual = {"verdict": Verdict(allowed=True), "door": door, "trouble": trouble, "now": NOW}
    return next_step(Sight(request=asked, cluster=into or cluster(), record=noted, **(usual | fields)))


def test_the_beginning():
    assert step(request(finalizers=())) == Open(fresh=True, issue=True)
    # Somebody was here before: what is there is looked at.
    assert step() == Open(mend=True, issue=True)
    assert step(request(finalizers=()), suspect=True) == Open(mend=True, issue=True)
    assert isinstance(step(into=cluster(ready=False)), Wait)
    assert isinstance(step(into=cluster(deleting=True)), Wait)


def test_all_is_well_until_the_renewal():
    rest = step(noted=record())
    assert isinstance(rest, Rest)
    assert NOW - DAY + 21 * DAY <= rest.until <= NOW - DAY + 24 * DAY
    assert step(noted=record(), now=rest.until) == Open(issue=True)
    assert isinstance(step(noted=record(), now=rest.until - 1), Rest)
    retiring = record(retiring=OLDER, retire_at=NOW + 60)
    assert step(noted=retiring) == Rest(until=NOW + 60)


@pytest.mark.parametrize(
    ("fields", "then"),
    [
        ({"door": "another"}, Open(mend=True)),
        ({"generation": 0}, Open()),
        ({"lifetime": 60.0}, Open(issue=True)),
        ({"server": "https://before.example"}, Open(issue=True)),
        ({"issue": ""}, Open(issue=True)),
        ({"cluster": "earlier"}, Open(mend=True, issue=True)),
        ({"created": NOW + DAY, "expires": NOW + 31 * DAY}, Open(issue=True)),
        ({"retiring": OLDER, "retire_at": NOW}, Retire(issues=[OLDER])),
        ({"expires": NOW}, Retire(issues=[ISSUE])),
        ({"expires": NOW, "door": "another", "retiring": OLDER, "retire_at": NOW}, Retire(issues=[OLDER, ISSUE])),
    ],
)
def test_what_is_written_down_is_not_so_any_more(fields, then):
    assert step(noted=record(**fields)) == then


def test_what_is_seen_is_not_so_any_more():
    assert step(noted=record(), suspect=True) == Open(mend=True)
    assert step(noted=record(), spoiled=True) == Open(issue=True)
    assert step(request(operation="rotate"), noted=record()) == Open(issue=True)
    assert step(noted=record(), into=cluster(server="")) == step(noted=record())
    waiting = step(noted=record(), into=cluster(ready=False, uid="later"))
    assert (type(waiting), waiting.void) == (Wait, True)


@pytest.mark.parametrize("noted", [None, record(), record(expires=NOW)])
def test_what_closes_comes_before_all_else(noted):
    refusal = Verdict(allowed=False, reason="ForeignNamespace", message="No.")
    assert step(noted=noted, verdict=refusal) == Shut(reason="ForeignNamespace", message="No.")
    assert step(request(operation="revoke"), noted=noted).reason == "Revoked"
    rules = [{**READ_PODS, "verbs": []}]
    unfit = step(request(token={"permissions": [{"rules": rules}]}), noted=noted)
    assert (unfit.reason, "verbs" in unfit.message) == ("InvalidRequest", True)


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 30 * DAY), ("1h", 3600), ("0s", 30 * DAY), ("5m", 300), ("1ms", 60)]
)
def test_lifetimes(text, seconds):
    assert lifetime_of(request(token={"lifetime": text})) == seconds


def secret(text, *, labels=None, owners=()):
    metadata = {"name": "mine.kubeconfig", "annotations": {GRANT_ANNOTATION: text}, "labels": labels or {}}
    references = [{"apiVersion": "v1", "kind": "AccessRequest", "name": "mine", "uid": uid} for uid in owners]
    return msgspec.convert({"metadata": {**metadata, "ownerReferences": references}}, Bare)


def test_a_record_is_believed_only_on_the_requests_own_secret():
    text = annotation_of(record())
    assert record_in(secret(text, owners=["request-uid"]), ENTRANT) == record()
    assert record_in(secret(text, labels={ENTRANT_LABEL: "request-uid"}), ENTRANT) == record()
    assert record_in(secret(text, owners=["another"]), ENTRANT) is None
    assert record_in(None, ENTRANT) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"issue": "somebody-elses"},
        {"retiring": "00000000-0123456789"},
        {"issue": f"{ENTRANT.hash}-../../default"},
        {"retiring": f"{ENTRANT.hash}-"},
    ],
)
def test_a_record_cannot_be_turned_against_others(fields):
    assert record_in(secret(annotation_of(record(**fields)), owners=["request-uid"]), ENTRANT) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"door":1}', '{"door":"a","server":"b","created":1e999}', "[" * 9999])
def test_a_spoiled_record_is_none(text):
    assert record_in(secret(text, owners=["request-uid"]), ENTRANT) is None


def test_tokens_that_are_no_more_are_forgotten():
    both = record(retiring=OLDER, retire_at=NOW)
    assert without(both, [OLDER]) == record()
    assert without(both, [OLDER, ISSUE]).issues == []
    assert without(both, []) == both


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "a.e30.c", "a.eyJrdWJlcm5ldGVzLmlvIjp7fX0.c", "a.W10.c", "é.é.é"])
def test_a_token_that_tells_no_account(token):
    assert account_in(token) == ""


def test_a_token_tells_its_account():
    # {"kubernetes.io":{"serviceaccount":{"name":"a","uid":"b"}}}
    claims = "eyJrdWJlcm5ldGVzLmlvIjp7InNlcnZpY2VhY2NvdW50Ijp7Im5hbWUiOiJhIiwidWlkIjoiYiJ9fX0"
    assert account_in(f"header.{claims}.signature") == "b"

"""What the face decides, without a server: which AccessRequest answers a request, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mooring.api.access import AccessRequest
from mooring.api.conditions import found
from mooring.api.kyma import KubeconfigRequest
from mooring.api.marks import CREATOR_ANNOTATION, GRANT_FINALIZER, OPERATION_ANNOTATION
from mooring.entry.translating import TRANSLATE_ANNOTATION
from mooring.kyma.kubeconfigs.plan import (
    REVOKED_ANNOTATION,
    access_key,
    belongs_to,
    cluster_named,
    heard,
    new_access,
    right_access,
)
from mooring.kyma.kubeconfigs.reasons import Reason
from mooring.kyma.kubeconfigs.status import Kubeconfig, answer_for, status_of, with_status

ROTATE, REVOKE = "operator.kyma-project.io/rotate", "operator.kyma-project.io/revoke"
RULES = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
NOW, LATER = "2026-11-16T10:00:00Z", "2026-11-16T11:00:00Z"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "kubeconfig-requests.md"


def a_request(name="mine", annotations=None, **spec):
    metadata = {"name": name, "namespace": "shop", "uid": "u1", "generation": 2, "annotations": annotations or {}}
    spec = {"cluster": "one", "clusterRole": RULES, **spec}
    return msgspec.convert({"metadata": metadata, "spec": spec}, KubeconfigRequest)


def its_access(request, annotations=None, finalizers=(), status=None):
    """The AccessRequest of a request, as the server has it."""
    made = new_access(request)
    said = made["metadata"].get("annotations", {}) | (annotations or {})
    said = {name: value for name, value in said.items() if value is not None}
    metadata = made["metadata"] | {"uid": "a1", "generation": 1, "annotations": said, "finalizers": list(finalizers)}
    body = {"metadata": metadata, "spec": made["spec"]} | ({"status": status} if status else {})
    return msgspec.convert(body, AccessRequest)


def said(access):
    """What is said on it, beside what always is."""
    return {name: value for name, value in access.metadata.annotations.items() if name != TRANSLATE_ANNOTATION}


def granted(**more):
    return {"observedGeneration": 1, "phase": "Granted", "secretRef": {"name": "s"}, **more}


def test_an_access_request_is_made_of_what_is_asked_for():
    request = a_request(role={"namespace": "here", **RULES}, expiration=300, cluster="far/one.two")
    made = new_access(request)
    assert made["spec"] == {
        "clusterRef": {"name": "one.two", "namespace": "far"},
        "token": {"permissions": [RULES, {"namespace": "here", **RULES}], "lifetime": "300s"},
    }
    assert made["metadata"]["annotations"] == {TRANSLATE_ANNOTATION: "true"}
    assert cluster_named(a_request()).namespace == "shop"
    assert new_access(a_request())["spec"]["token"]["lifetime"] == "3600s"


def test_names_fit():
    assert access_key(a_request()).name == "kyma-mine"
    long = access_key(a_request("n" * 253)).name
    assert len(long) == 63
    assert long != access_key(a_request("n" * 252)).name


def test_it_belongs_to_this_very_request():
    request = a_request()
    assert belongs_to(request, its_access(request))
    anew = msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, uid="u2"))
    assert not belongs_to(anew, its_access(request))
    assert not belongs_to(a_request(cluster="two"), its_access(request))


@pytest.mark.parametrize(
    ("asked", "before", "after", "rotate"),
    [
        ({}, {}, {}, None),
        ({ROTATE: "false", REVOKE: "no"}, {}, {}, "false"),
        ({ROTATE: "true"}, {}, {OPERATION_ANNOTATION: "rotate"}, "false"),
        ({ROTATE: "True"}, {OPERATION_ANNOTATION: "reconcile"}, {OPERATION_ANNOTATION: "rotate"}, "false"),
        ({ROTATE: "true"}, {OPERATION_ANNOTATION: "rotate"}, {OPERATION_ANNOTATION: "rotate"}, "true"),
        ({ROTATE: "true"}, {OPERATION_ANNOTATION: "ignore"}, {OPERATION_ANNOTATION: "ignore"}, "true"),
        ({ROTATE: "true"}, {OPERATION_ANNOTATION: "revoke"}, {OPERATION_ANNOTATION: "revoke"}, "false"),
        ({}, {OPERATION_ANNOTATION: "revoke"}, {OPERATION_ANNOTATION: "revoke"}, None),
        ({REVOKE: "true"}, {}, {OPERATION_ANNOTATION: "revoke", REVOKED_ANNOTATION: "true"}, None),
        (
            {REVOKE: "true", ROTATE: "true"},
            {},
            {OPERATION_ANNOTATION: "revoke", REVOKED_ANNOTATION: "true"},
            "false",
        ),
        ({REVOKE: "false"}, {OPERATION_ANNOTATION: "revoke", REVOKED_ANNOTATION: "true"}, {}, None),
        (
            {ROTATE: "true"},
            {OPERATION_ANNOTATION: "revoke", REVOKED_ANNOTATION: "true"},
            {OPERATION_ANNOTATION: "rotate"},
            "false",
        ),
        ({OPERATION_ANNOTATION: "reconcile"}, {}, {OPERATION_ANNOTATION: "reconcile"}, None),
        ({CREATOR_ANNOTATION: "alice"}, {CREATOR_ANNOTATION: "bob"}, {CREATOR_ANNOTATION: "alice"}, None),
        ({}, {CREATOR_ANNOTATION: "bob"}, {}, None),
        ({}, {"theirs": "stays"}, {"theirs": "stays"}, None),
    ],
)
def test_words_are_passed_on(asked, before, after, rotate):
    request = a_request(annotations=asked)
    access = its_access(a_request(), annotations=before)
    assert said(right_access(request, access)) == after
    left = heard(request, access).metadata.annotations
    assert left.get(ROTATE) == rotate
    assert OPERATION_ANNOTATION not in left


def test_nothing_is_changed_twice():
    request = a_request(annotations={REVOKE: "true", CREATOR_ANNOTATION: "alice"})
    once = right_access(request, its_access(a_request()))
    assert right_access(request, once) == once
    assert heard(request, once) == request


KUBECONFIG = Kubeconfig(encoded="abc", expires=LATER)
READY = {"type": "Ready", "lastTransitionTime": NOW, "message": "why", "observedGeneration": 1}


@pytest.mark.parametrize(
    ("status", "kubeconfig", "reason", "ready", "stalled"),
    [
        (None, None, "WaitingForAccess", False, False),
        (granted(), KUBECONFIG, "Issued", True, False),
        (granted(conditions=[{**READY, "status": "True", "reason": "Granted"}]), KUBECONFIG, "Issued", True, False),
        (granted(conditions=[{**READY, "status": "False", "reason": "Bad"}]), KUBECONFIG, "Bad", False, False),
        (granted(observedGeneration=0), KUBECONFIG, "WaitingForAccess", False, False),
        (granted(), None, "KubeconfigMissing", False, False),
        (granted(), Kubeconfig(encoded="abc", expires=NOW), "Expired", False, False),
        (granted(), Kubeconfig(encoded="abc"), "Issued", True, False),
        ({"observedGeneration": 1, "phase": "Pending", "reason": "Later"}, None, "Later", False, False),
        ({"observedGeneration": 1, "phase": "Pending"}, None, "WaitingForAccess", False, False),
        ({"observedGeneration": 1, "phase": "Denied", "reason": "Never"}, None, "Never", False, True),
        ({"observedGeneration": 0, "phase": "Denied", "reason": "Never"}, None, "WaitingForAccess", False, False),
    ],
)
def test_where_a_request_stands(status, kubeconfig, reason, ready, stalled):
    request = a_request()
    answer = answer_for(request, its_access(request, status=status), kubeconfig, now=NOW)
    assert (answer.reason, answer.ready, answer.stalled) == (reason, ready, stalled)


def test_revoked_is_what_nothing_is_left_of():
    request = a_request(annotations={REVOKE: "true"})
    held = its_access(request, finalizers=[GRANT_FINALIZER], status=granted())
    assert answer_for(request, held, KUBECONFIG, now=NOW).reason == Reason.REVOKING
    assert answer_for(request, its_access(request, status=granted()), None, now=NOW).reason == Reason.REVOKED
    assert answer_for(request, None, None, now=NOW).reason == Reason.REVOKED


def test_a_status_that_says_the_same_is_the_same():
    request = a_request()
    told = [{**READY, "type": "RulesTranslated", "status": "True", "reason": "Done"}]
    access = its_access(request, status=granted(conditions=told))
    answer = answer_for(request, access, KUBECONFIG, now=NOW)
    status = status_of(request, answer, access=access, kubeconfig=KUBECONFIG, now=NOW)
    assert (status.kubeconfig, status.expiration_timestamp, status.observed_generation) == ("abc", LATER, 2)
    assert found(status.conditions, "RulesTranslated").message == "why"
    again = status_of(with_status(request, status), answer, access=access, kubeconfig=KUBECONFIG, now=LATER)
    assert again is status
    assert "abc" not in repr(status)
    assert "abc" not in repr(KUBECONFIG)
    kept_out = a_request(secretRef={"name": "copy"})
    assert status_of(kept_out, answer, access=access, kubeconfig=KUBECONFIG, now=NOW).kubeconfig == ""
    silent = its_access(request, status=granted())
    forgotten = status_of(with_status(request, status), answer, access=silent, kubeconfig=KUBECONFIG, now=NOW)
    assert found(forgotten.conditions, "RulesTranslated") is None


def test_every_reason_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    assert not [reason for reason in Reason if f"`{reason}`" not in text]

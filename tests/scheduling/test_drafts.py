"""New clusters on paper. The names are upstream's: both sides must come to the same for the same request."""

from __future__ import annotations

from typing import Any

import pytest
from plan_kit import a_catalogue, a_cluster, a_purpose, a_request, a_template, ask_of

from mooring.api.clusters import Cluster, Tenancy
from mooring.api.kinds import as_document
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, PROPAGATED_PREFIX, RANDOMIZE_NAME_LABEL
from mooring.api.names import name_hash
from mooring.api.requests import ClusterRequest
from mooring.kube import ObjectKey
from mooring.scheduling.asking import Unanswerable
from mooring.scheduling.drafts import drafted, is_randomized, place_of, with_propagated
from mooring.scheduling.reasons import Reason

RANDOMIZED = {RANDOMIZE_NAME_LABEL: "true"}
COST = f"{PROPAGATED_PREFIX}cost-centre"


def place(request: ClusterRequest, **purpose: Any) -> ObjectKey | Unanswerable:
    return place_of(request, ask_of(a_catalogue(a_purpose("work", **purpose)), request))


def draft_of(request: ClusterRequest, **purpose: Any) -> Cluster:
    ask = ask_of(a_catalogue(a_purpose("work", **purpose)), request)
    return drafted(request, ask, place=ObjectKey("ns", "c"), profile="plain", version="1.33.3")


# The hash of foo/exclusive and of default/example are vectors of upstream's own tests.
NAMES = {
    "dedicated": ({"dedicated": True}, "foo", "exclusive", "work-qilq5nsb"),
    "dedicated, own beginning": (
        {"dedicated": True, "template": a_template(generate_name="x-")},
        "default",
        "example",
        "x-fphxsdub",
    ),
    "dedicated, a fixed name does not count": (
        {"dedicated": True, "template": a_template(name="fixed")},
        "foo",
        "exclusive",
        "work-qilq5nsb",
    ),
    "limited": ({"tenancy_count": 3}, "foo", "exclusive", "work-qilq5nsb"),
    "limited, own beginning": (
        {"tenancy_count": 3, "template": a_template(generate_name="x-", name="fixed")},
        "foo",
        "exclusive",
        "x-qilq5nsb",
    ),
    "shared by all": ({}, "foo", "exclusive", "work"),
    "shared by all, fixed": ({"template": a_template(name="fixed")}, "foo", "exclusive", "fixed"),
    "shared by all, own beginning": (
        {"template": a_template(generate_name="x-", name="fixed")},
        "default",
        "example",
        "x-fphxsdub",
    ),
}


@pytest.mark.parametrize(("purpose", "namespace", "name", "expected"), NAMES.values(), ids=NAMES)
def test_names(purpose: dict[str, Any], namespace: str, name: str, expected: str) -> None:
    assert place(a_request("work", name=name, namespace=namespace), **purpose) == ObjectKey(namespace, expected)


def test_the_template_says_the_namespace_and_the_hash_stays_the_requests() -> None:
    request = a_request("work", name="exclusive", namespace="foo")
    found = place(request, dedicated=True, template=a_template(namespace="there"))
    assert found == ObjectKey("there", "work-qilq5nsb")


def test_the_first_purpose_gives_the_name() -> None:
    request = a_request("b", "a", name="exclusive", namespace="foo", dedicated=True)
    ask = ask_of(a_catalogue(a_purpose("a"), a_purpose("b")), request)
    assert place_of(request, ask) == ObjectKey("foo", "b-qilq5nsb")


def test_a_random_name_is_another_for_each_request_and_the_same_each_time() -> None:
    one = a_request("work", uid="u-1", labels=RANDOMIZED)
    other = a_request("work", uid="u-2", labels=RANDOMIZED)
    found = place(one, dedicated=True)
    assert found == place(one, dedicated=True) == ObjectKey("team", f"work-{name_hash('u-1')}")
    assert place(other, dedicated=True) != found
    assert place(one, template=a_template(generate_name="x-")) == ObjectKey("team", f"x-{name_hash('u-1')}")


def test_one_cluster_for_all_is_never_named_at_random() -> None:
    assert place(a_request("work", labels=RANDOMIZED)) == ObjectKey("team", "work")


@pytest.mark.parametrize(("value", "randomized"), [(None, False), ("true", True), ("", True), ("false", False)])
def test_what_the_label_means(value: str | None, randomized: bool) -> None:
    assert is_randomized({} if value is None else {RANDOMIZE_NAME_LABEL: value}) is randomized


@pytest.mark.parametrize(
    ("purpose", "template", "dedicated"),
    [
        ("p" * 55, {}, True),  # with its hyphen one too long
        ("work", {"generate_name": "g" * 56}, True),
        ("work", {"generate_name": "G-"}, True),
        ("work", {"generate_name": "-g"}, False),
        ("work", {"name": "a..b"}, False),
        ("work", {"name": "a.-b"}, False),
        ("work", {"name": "Work_1"}, False),
        ("Team/Work", {}, False),
        ("p" * 254, {}, False),
        ("work\n", {}, False),
    ],
)
def test_a_name_that_kubernetes_would_not_take_is_denied(
    purpose: str, template: dict[str, str], dedicated: bool
) -> None:
    request = a_request(purpose, dedicated=dedicated)
    catalogue = a_catalogue(a_purpose(purpose, template=a_template(**template) if template else None))
    found = place_of(request, ask_of(catalogue, request))
    assert isinstance(found, Unanswerable)
    assert (found.reason, found.final) == (Reason.INVALID_PURPOSE, True)
    assert "generateName" in found.message


def test_the_longest_beginning_makes_a_name_that_does_as_a_label() -> None:
    found = place(a_request("work", dedicated=True), template=a_template(generate_name="g" * 55))
    assert isinstance(found, ObjectKey)
    assert len(found.name) == 63


def test_a_draft_says_what_the_ask_says_over_the_template() -> None:
    template = a_template(
        tenancy=Tenancy.SHARED,
        purposes=("extra", "work"),
        version="1.30",
        labels={"team": "blue"},
        annotations={"note": "x"},
    )
    draft = draft_of(a_request("work", dedicated=True), template=template)
    document = as_document(draft)
    assert document["metadata"] == {
        "name": "c",
        "namespace": "ns",
        "labels": {DELETE_WITHOUT_REQUESTS_LABEL: "true", "team": "blue"},
        "annotations": {"note": "x"},
    }
    assert document["spec"] == {
        "profile": "plain",
        "tenancy": "Exclusive",
        "purposes": ["extra", "work"],
        "kubernetes": {"version": "1.33.3"},
    }


def test_what_the_template_says_about_deletion_stays() -> None:
    draft = draft_of(a_request("work"), template=a_template(labels={DELETE_WITHOUT_REQUESTS_LABEL: "false"}))
    assert draft.metadata.labels == {DELETE_WITHOUT_REQUESTS_LABEL: "false"}


def test_metadata_is_propagated_to_a_cluster_of_ones_own_only() -> None:
    marks = {COST: "42", "other.io/x": "y"}
    request = a_request("work", labels=marks, annotations=marks)
    shared = draft_of(request, template=a_template(labels={COST: "0"}))
    own = draft_of(request, dedicated=True, template=a_template(labels={COST: "0"}))
    assert shared.metadata.labels == {DELETE_WITHOUT_REQUESTS_LABEL: "true", COST: "0"}
    assert not shared.metadata.annotations
    assert own.metadata.labels == {DELETE_WITHOUT_REQUESTS_LABEL: "true", COST: "42"}
    assert own.metadata.annotations == {COST: "42"}


def test_propagating_adds_and_leaves_the_rest() -> None:
    cluster = a_cluster("c", "work", labels={"keep": "me", COST: "old", f"{PROPAGATED_PREFIX}gone": "1"})
    found = with_propagated(cluster, a_request("work", labels={COST: "new"}))
    assert found.metadata.labels == {"keep": "me", COST: "new", f"{PROPAGATED_PREFIX}gone": "1"}
    assert with_propagated(cluster, a_request("work")) == cluster

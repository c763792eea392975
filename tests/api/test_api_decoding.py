"""Objects as the server sends them become types; what does not fit says so, and what is unknown does not matter."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from full_objects import FULL, Parts
from upstream_kit import our_schema, paths

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, Tenancy
from mooring.api.crds import KINDS
from mooring.api.kinds import EMPTY, Kind, Metadata, api_of, as_document, owned_by
from mooring.api.purposes import Purpose, Strategy
from mooring.api.requests import ClusterRequest, ClusterRequestGrant, ClusterRequestSpec
from mooring.kube import Client, MergePatch, Undecodable, typed
from mooring.kube.decoding import decoders_for
from mooring.testing.builders import an_object, cluster_request, plain_resource_of

KEPT = set(Metadata.__struct_encode_fields__)


def kind_and_number(value: Any) -> str | None:
    return value.API.kind if isinstance(value, type) else None


def uses(value: Any, path: str = "") -> set[str]:
    """The paths that a value has, in the form of `paths`."""
    if isinstance(value, dict):
        return {path}.union(*(uses(one, f"{path}.{key}") for key, one in value.items()))
    if isinstance(value, list):
        return {path}.union(*(uses(one, f"{path}[]") for one in value))
    return {path}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.API.kind)
def test_the_full_objects_use_every_field(kind: type[Kind]) -> None:
    used = {path for known, parts in FULL if known is kind for path in uses(parts)}
    known = {path for path, _ in paths(our_schema(kind)) if path.startswith((".spec", ".status"))}
    unrolled = re.compile(r"\.(or|and|xor)\[\]")  # copies of the level above
    assert {path for path in known - used if not path.endswith("{}") and not unrolled.search(path)} == set()


@pytest.mark.parametrize(("kind", "parts"), FULL, ids=kind_and_number)
async def test_every_field_survives_the_way_through_server_and_type(
    kinds: Client, namespace: str, kind: type[Kind], parts: Parts
) -> None:
    plain, exact = plain_resource_of(kind), typed(kind)
    where = namespace if kind.API.namespaced else None
    name = f"full-{uuid4().hex[:10]}"
    await kinds.create(plain, an_object(kind, name, where, **parts))
    if kind.API.has_status and "status" in parts:
        patch = MergePatch({"status": parts["status"]})
        await kinds.patch(plain, name, patch, namespace=where, subresource="status")
    on_server = await kinds.get(plain, name, namespace=where)
    read = await kinds.get(exact, name, namespace=where)
    on_server["metadata"] = {key: value for key, value in on_server["metadata"].items() if key in KEPT}
    assert on_server == on_server | parts
    assert as_document(read) == on_server
    await kinds.delete(plain, name, namespace=where)


async def test_operators_of_traits_are_read(kinds: Client, namespace: str) -> None:
    wish = {"xor": [{"and": [{"trait": "a"}, {"name": "b", "negated": True}]}, {"or": [{"trait": "c"}]}]}
    body = cluster_request("wishing", namespace, purpose="x", traits=[wish, {"name": "d", "optional": True}])
    read = await kinds.create(typed(ClusterRequest), body)
    operator, leaf = read.spec.traits
    assert (leaf.key, leaf.optional, operator.key) == ("d", True, "")
    both, either = operator.one_of
    assert [(one.key, one.negated) for one in both.all_of] == [("a", False), ("b", True)]
    assert [one.key for one in either.any_of] == ["c"]


def decoded(kind: type[Kind], **parts: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(an_object(kind, "a", "b", **parts)), type=kind)


POISON: list[tuple[type[Kind], dict[str, Any], str]] = [
    (Cluster, {}, "missing required field `spec`"),
    (Cluster, {"spec": {"tenancy": "Shared"}}, "missing required field `profile` - at `$.spec`"),
    (Cluster, {"spec": {"profile": "a", "tenancy": "Public"}}, "Invalid enum value 'Public' - at `$.spec.tenancy`"),
    (Cluster, {"spec": {"profile": 7, "tenancy": "Shared"}}, "Expected `str`, got `int` - at `$.spec.profile`"),
    (ClusterRequest, {"spec": {"purposes": "a"}}, "Expected `array`, got `str` - at `$.spec.purposes`"),
    (ClusterRequest, {"status": {"phase": "Pending"}}, "missing required field `observedGeneration` - at `$.status`"),
    (AccessRequest, {"spec": {"token": {"roleRefs": [{"kind": "X", "name": "a"}]}}}, "Invalid enum value 'X'"),
    (Purpose, {"spec": {"strategy": "Best"}}, "Invalid enum value 'Best' - at `$.spec.strategy`"),
    (ClusterRequestGrant, {"spec": {}}, "missing required field `clusterRef` - at `$.spec`"),
]


@pytest.mark.parametrize(("kind", "parts", "message"), POISON)
def test_what_cannot_be_understood_is_not_taken_for_something_else(
    kind: type[Kind], parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        decoded(kind, **parts)
    assert message in str(refused.value)


def test_a_poisoned_object_is_named_and_the_rest_is_read() -> None:
    good, bad = cluster_request("good", "ns"), cluster_request("bad", "ns", purpose=["?"])
    fitting, misfits, _ = decoders_for(typed(ClusterRequest)).page(
        msgspec.json.encode({"items": [bad, good], "metadata": {}})
    )
    assert [one.metadata.name for one in fitting] == ["good"]
    (misfit,) = misfits
    assert isinstance(misfit, Undecodable)
    assert (str(misfit.key), "$.spec.purpose" in misfit.error) == ("ns/bad", True)


@pytest.mark.parametrize(("kind", "parts"), FULL, ids=kind_and_number)
def test_fields_that_upstream_adds_later_do_not_matter(kind: type[Kind], parts: Parts) -> None:
    later = {part: value | {"later": {"than": ["now"]}} for part, value in parts.items()}
    assert decoded(kind, **later) == decoded(kind, **parts)


def test_phases_of_foreign_controllers_are_read() -> None:
    status = {"observedGeneration": 1, "phase": "PHASE_SUCCEEDED"}
    spec = {"profile": "a", "tenancy": "Shared"}
    assert decoded(Cluster, spec=spec, status=status).status.phase == "PHASE_SUCCEEDED"


def test_requests_without_a_spec_are_read_so_that_they_can_be_answered() -> None:
    assert decoded(ClusterRequest).spec == ClusterRequestSpec()
    assert decoded(ClusterRequest).spec.all_purposes == ()
    assert decoded(AccessRequest).spec.cluster_ref is None


def test_purposes_are_found_in_either_field() -> None:
    assert ClusterRequestSpec(purpose="a").all_purposes == ("a",)
    assert ClusterRequestSpec(purposes=("a", "b")).all_purposes == ("a", "b")


def test_an_empty_prefix_is_not_an_absent_one() -> None:
    oidc = {"name": "a", "issuer": "https://a", "clientID": "b", "roleBindings": []}
    absent = decoded(AccessRequest, spec={"oidc": oidc}).spec.oidc
    empty = decoded(AccessRequest, spec={"oidc": oidc | {"usernamePrefix": ""}}).spec.oidc
    assert (absent.username_prefix, empty.username_prefix, empty.username_claim) == (None, "", "sub")
    assert as_document(decoded(AccessRequest, spec={"oidc": oidc | {"usernamePrefix": ""}}))["spec"]["oidc"] == (
        oidc | {"usernamePrefix": ""}
    )


def test_objects_are_compact() -> None:
    """What many objects say alike is kept once; managed fields and absent maps are not kept at all."""
    metadata = {"namespace": "team-a", "managedFields": [{"manager": "x"}], "finalizers": ["some/finalizer"]}
    text = msgspec.json.encode({"metadata": metadata, "spec": {"purpose": "workload"}})
    first, second = (msgspec.json.decode(text, type=ClusterRequest) for _ in range(2))
    assert first.metadata.namespace is second.metadata.namespace
    assert first.metadata.finalizers[0] is second.metadata.finalizers[0]
    assert first.spec.purpose is second.spec.purpose
    assert first.metadata.labels is second.metadata.labels is EMPTY
    assert not hasattr(first.metadata, "managed_fields")


def test_a_kind_knows_how_it_is_served() -> None:
    api = api_of(ClusterRequest)
    assert (api.api_version, api.plural, api.namespaced) == (
        "clusters.openmcp.cloud/v1alpha1",
        "clusterrequests",
        True,
    )
    assert api.definition_name == "clusterrequests.clusters.openmcp.cloud"


def test_objects_made_here_are_ready_to_be_written() -> None:
    request = ClusterRequest(metadata=Metadata(name="a", namespace="b", uid="1"), spec=ClusterRequestSpec(purpose="x"))
    assert as_document(request) == cluster_request("a", "b", purpose="x") | {
        "metadata": {"name": "a", "namespace": "b", "uid": "1"}
    }
    reference = owned_by(request)
    assert (reference.kind, reference.uid, reference.controller) == ("ClusterRequest", "1", True)
    assert [str(one) for one in Tenancy] == ["Exclusive", "Shared"]
    assert Strategy("Packed") is Strategy.PACKED

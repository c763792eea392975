"""Whatever is valid for upstream is valid here and means the same; the one exception is decision D20."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import uuid4

import pytest
from upstream_kit import KINDS, maximal, minimal, our_schema, paths, upstream_definition, upstream_schema, with_defaults

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.crds import definition_of
from mooring.api.kinds import Kind
from mooring.api.requests import ClusterRequest
from mooring.kube import Client, MergePatch
from mooring.kube.errors import Invalid
from mooring.testing.builders import an_object, plain_resource_of

# Below these paths we keep whatever is there and let the pods' own API judge it.
OPAQUE = (".spec.extraVolumes[]",)
# References whose namespace may be left out here; and a purpose, where purposes may stand instead (a CEL rule).
NOT_REQUIRED_HERE = {
    (".spec", "purpose"),
    (".spec.clusterRef", "namespace"),
    (".spec.requestRef", "namespace"),
}
BOUNDS = ("maxLength", "maxItems", "maxProperties", "maximum")


def kind_name(kind: type[Kind]) -> str:
    return kind.API.kind


@pytest.fixture(params=KINDS, ids=kind_name)
def kind(request: pytest.FixtureRequest) -> type[Kind]:
    found: type[Kind] = request.param
    return found


def modelled(kind: type[Kind]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (path, theirs)
        for path, theirs in paths(upstream_schema(kind))
        if not any(path.startswith(f"{opaque}.") and path != f"{opaque}.name" for opaque in OPAQUE)
    ]


def test_every_field_of_upstream_is_here_with_the_same_meaning(kind: type[Kind]) -> None:
    ours = dict(paths(our_schema(kind)))
    for path, theirs in modelled(kind):
        assert path in ours, path
        mine = ours[path]
        assert mine["type"] == theirs["type"], path
        assert mine.get("format") == theirs.get("format"), path
        assert mine.get("default") == theirs.get("default"), path
        assert set(mine.get("enum", ())) >= set(theirs.get("enum", ())), path
        assert bool(mine.get("enum")) <= bool(theirs.get("enum")), f"{path} is narrower than upstream's"
        for keyword in ("x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"):
            if keyword in theirs or path not in OPAQUE:
                assert mine.get(keyword) == theirs.get(keyword), path
        if not path.endswith(".conditions"):
            assert mine.get("x-kubernetes-list-type") == theirs.get("x-kubernetes-list-type"), path


def test_nothing_more_is_demanded_than_upstream_demands(kind: type[Kind]) -> None:
    ours = dict(paths(our_schema(kind)))
    for path, theirs in modelled(kind):
        mine = ours[path]
        assert set(mine.get("required", ())) <= set(theirs.get("required", ())), path
        lost = {(path, field) for field in set(theirs.get("required", ())) - set(mine.get("required", ()))}
        assert lost <= NOT_REQUIRED_HERE, path
        assert mine.get("pattern") == theirs.get("pattern"), path
        for least in ("minLength", "minItems", "minimum"):
            assert mine.get(least) == theirs.get(least), path
        for most in BOUNDS:
            assert most not in theirs or mine.get(most) == theirs[most], path


def test_names_columns_and_selectable_fields_include_upstreams(kind: type[Kind]) -> None:
    theirs, ours = upstream_definition(kind)["spec"], definition_of(kind)["spec"]
    assert {**ours["names"], "categories": None} == {**theirs["names"], "categories": None}
    assert (ours["group"], ours["scope"]) == (theirs["group"], theirs["scope"])
    (version,), (mine,) = theirs["versions"], ours["versions"]
    assert mine["subresources"] == version["subresources"]
    for key in ("additionalPrinterColumns", "selectableFields"):
        assert all(one in mine[key] for one in version[key])


def upstream_objects(kind: type[Kind]) -> list[dict[str, Any]]:
    """Spec and status of the smallest and the largest object, and of one without either."""
    schema = upstream_schema(kind)
    spec, status = schema["properties"]["spec"], schema["properties"].get("status")
    if kind is AccessRequest:
        # Exactly one of token and oidc is valid for upstream, too; D20 wants one of the references.
        small = [{"token": {}, "clusterRef": {"name": "", "namespace": ""}}]
        large = [maximal(spec, without=("token",)), maximal(spec, without=("oidc",))]
    else:
        small, large = [minimal(spec)], [maximal(spec)]
    statuses = [None, minimal(status), maximal(status)] if status else [None]
    whole = [{"spec": a, "status": b} for a, b in itertools.product(small + large, statuses)]
    return [{"spec": None, "status": None}, *whole]


async def test_upstreams_objects_are_taken_and_come_back_unchanged(
    kinds: Client, namespace: str, kind: type[Kind]
) -> None:
    resource, schema = plain_resource_of(kind), upstream_schema(kind)["properties"]
    where = namespace if kind.API.namespaced else None
    for whole in upstream_objects(kind):
        parts = {name: value for name, value in whole.items() if value is not None}
        name = f"upstream-{uuid4().hex[:10]}"
        spec = {"spec": parts["spec"]} if "spec" in parts else {}
        stored = await kinds.create(resource, an_object(kind, name, where, **spec))
        if "status" in parts:
            patch = MergePatch({"status": parts["status"]})
            stored = await kinds.patch(resource, name, patch, namespace=where, subresource="status")
        wanted = {part: with_defaults(value, schema[part]) for part, value in parts.items()}
        assert {part: value for part, value in stored.items() if part in ("spec", "status")} == wanted
        await kinds.delete(resource, name, namespace=where)


async def test_the_one_exception_is_an_access_request_for_nothing(kinds: Client, namespace: str) -> None:
    body = an_object(AccessRequest, "for-nothing", namespace, spec={"token": {}})
    with pytest.raises(Invalid, match=r"at least one of spec\.clusterRef and spec\.requestRef must be set"):
        await kinds.create(plain_resource_of(AccessRequest), body)


def test_upstreams_rules_are_kept() -> None:
    """Upstream's CEL rules, each of which the refusals test breaks on a server."""
    wanted = {
        (AccessRequest, ".spec"): 3,
        (AccessRequest, ".spec.clusterRef"): 1,
        (AccessRequest, ".spec.requestRef"): 1,
        (AccessRequest, ".spec.oidc.name"): 1,
        (ClusterRequest, ".spec"): 1,
        (ClusterRequest, ".status"): 1,
        (ClusterRequest, ".status.cluster"): 1,
        (Cluster, ".spec.profile"): 1,
    }
    found = {
        (kind, path): len(schema["x-kubernetes-validations"])
        for kind in KINDS
        for path, schema in paths(upstream_schema(kind))
        if "x-kubernetes-validations" in schema
    }
    assert found == wanted
    for kind, path in wanted:
        assert "x-kubernetes-validations" in dict(paths(our_schema(kind)))[path]

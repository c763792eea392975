"""Bad objects are refused by the server, with a message that names the field."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Kind
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import Client, MergePatch
from mooring.kube.errors import Invalid
from mooring.testing.builders import an_object, plain_resource_of

Spec = dict[str, Any]

REF = {"name": "a", "namespace": "b"}
OIDC = {"name": "idp", "issuer": "https://idp.example.com", "clientID": "me", "roleBindings": []}
PROFILE: Spec = {"providerRef": {"name": "p"}, "providerConfigRef": {"name": "c"}, "supportedVersions": []}
DEEP: Spec = {"or": [{"and": [{"xor": [{"or": [{"trait": "a"}, {"and": [{"trait": "b"}]}]}]}]}]}


def traits(*wishes: Spec) -> Spec:
    return {"purpose": "x", "traits": list(wishes)}


def requirement(**said: Any) -> Spec:
    return {"selector": {"matchExpressions": [{"key": "a", **said}]}}


BAD: list[tuple[type[Kind], Spec, str, str]] = [
    (ClusterRequest, {"purpose": ""}, "spec.purpose", "at least 1 chars"),
    (ClusterRequest, {}, "spec", "exactly one of spec.purpose and spec.purposes"),
    (ClusterRequest, {"purpose": "a", "purposes": ["b"]}, "spec", "exactly one of spec.purpose and spec.purposes"),
    (ClusterRequest, {"purposes": []}, "spec.purposes", "at least 1 items"),
    (ClusterRequest, {"purposes": ["a", ""]}, "spec.purposes[1]", "at least 1 chars"),
    (ClusterRequest, {"purposes": ["a"] * 33}, "spec.purposes", "at most 32 items"),
    (ClusterRequest, {"purpose": ["a"]}, "spec.purpose", "must be of type string"),
    (ClusterRequest, {"purpose": "a", "dedicated": "yes"}, "spec.dedicated", "must be of type boolean"),
    (ClusterRequest, {"purpose": "a", "kubernetes": {"version": "1.x"}}, "spec.kubernetes.version", "should match"),
    (ClusterRequest, {"purpose": "a", "kubernetes": {"version": "1.2.3.4"}}, "spec.kubernetes.version", "should match"),
    (ClusterRequest, {"purpose": "a", "prefix": "A_"}, "spec.prefix", "should match"),
    (ClusterRequest, {"purpose": "a", "prefix": "-abc"}, "spec.prefix", "should match"),
    (ClusterRequest, {"purpose": "a", "prefix": "a" * 33}, "spec.prefix", "Too long"),
    (ClusterRequest, {"purpose": "a", "ttl": "7 days"}, "spec.ttl", "should match"),
    (ClusterRequest, {"purpose": "a", "ttl": "0s"}, "spec.ttl", "longer than nothing"),
    (ClusterRequest, {"purpose": "a", "ttl": "-1h"}, "spec.ttl", "should match"),
    (ClusterRequest, traits({"optional": True}), "spec.traits[0]", "exactly one of trait"),
    (ClusterRequest, traits({"trait": "a", "name": "a"}), "spec.traits[0]", "exactly one of trait"),
    (
        ClusterRequest,
        traits({"trait": "a"}, {"trait": "b", "or": [{"trait": "c"}]}),
        "spec.traits[1]",
        "exactly one of",
    ),
    (ClusterRequest, traits({"nor": [{"trait": "a"}]}), "spec.traits[0]", "exactly one of trait"),
    (ClusterRequest, traits({"or": []}), "spec.traits[0].or", "at least 1 items"),
    (ClusterRequest, traits({"trait": ""}), "spec.traits[0].trait", "at least 1 chars"),
    (ClusterRequest, traits({"or": [{"trait": "a"}] * 17}), "spec.traits[0].or", "at most 16 items"),
    (ClusterRequest, traits(DEEP), "spec.traits[0].or[0].and[0].xor[0].or[1]", "one and only one schema"),
    (ClusterRequestGrant, {"prefix": "abc"}, "spec.clusterRef", "Required value"),
    (ClusterRequestGrant, {"clusterRef": {"name": "a"}}, "spec.clusterRef.namespace", "Required value"),
    (ClusterRequestGrant, {"clusterRef": REF, "prefix": "ab"}, "spec.prefix", "at least 3 chars"),
    (ClusterRequestGrant, {"clusterRef": REF, "prefix": "aB-"}, "spec.prefix", "should match"),
    (AccessRequest, {"token": {}}, "spec", "at least one of spec.clusterRef and spec.requestRef"),
    (AccessRequest, {"clusterRef": REF}, "spec", "exactly one of spec.token or spec.oidc"),
    (AccessRequest, {"clusterRef": REF, "token": {}, "oidc": OIDC}, "spec", "exactly one of spec.token or spec.oidc"),
    (AccessRequest, {"clusterRef": {"namespace": "b"}, "token": {}}, "spec.clusterRef.name", "Required value"),
    (AccessRequest, {"clusterRef": REF, "oidc": OIDC | {"name": "system"}}, "spec.oidc.name", "may not be 'system'"),
    (AccessRequest, {"clusterRef": REF, "oidc": OIDC | {"name": "My IdP"}}, "spec.oidc.name", "should match"),
    (AccessRequest, {"clusterRef": REF, "oidc": OIDC | {"issuer": "idp"}}, "spec.oidc.issuer", "should match"),
    (AccessRequest, {"clusterRef": REF, "oidc": OIDC | {"clientID": ""}}, "spec.oidc.clientID", "at least 1 chars"),
    (
        AccessRequest,
        {"clusterRef": REF, "token": {"roleRefs": [{"kind": "User", "name": "a"}]}},
        "spec.token.roleRefs[0].kind",
        "Unsupported value",
    ),
    (
        AccessRequest,
        {"clusterRef": REF, "token": {"permissions": [{"rules": [{"resources": ["pods"]}]}]}},
        "spec.token.permissions[0].rules[0].verbs",
        "Required value",
    ),
    (Cluster, {"tenancy": "Shared"}, "spec.profile", "Required value"),
    (Cluster, {"profile": "a"}, "spec.tenancy", "Required value"),
    (Cluster, {"profile": "a", "tenancy": "Public"}, "spec.tenancy", "Unsupported value"),
    (Cluster, {"profile": "a", "tenancy": "Shared", "purposes": []}, "spec.purposes", "at least 1 items"),
    (ClusterProfile, {"providerRef": {}}, "spec.supportedVersions", "Required value"),
    (
        ClusterProfile,
        PROFILE | {"supportedVersions": [{"version": "1.30"}]},
        "spec.supportedVersions[0].version",
        "at least 5 chars",
    ),
    (ClusterProfile, PROFILE | {"supportedTraits": [{}]}, "spec.supportedTraits[0]", "exactly one of trait and name"),
    (Purpose, {"warm": -1}, "spec.warm", "greater than or equal to 0"),
    (Purpose, {"tenancyCount": -1}, "spec.tenancyCount", "greater than or equal to 0"),
    (Purpose, {"dedicated": True, "tenancyCount": 3}, "spec", "spec.tenancyCount must be 0 or absent"),
    (Purpose, {"strategy": "Best"}, "spec.strategy", "Unsupported value"),
    (Purpose, {"template": {"spec": {"tenancy": "Both"}}}, "spec.template.spec.tenancy", "Unsupported value"),
    (
        Purpose,
        {"template": {"metadata": {"generateName": "a" * 56}}},
        "spec.template.metadata.generateName",
        "Too long",
    ),
    (Purpose, requirement(operator="Like"), "spec.selector", "operators of matchExpressions"),
    (Purpose, requirement(operator="In"), "spec.selector", "values of matchExpressions"),
    (Purpose, requirement(operator="Exists", values=["b"]), "spec.selector", "values of matchExpressions"),
    (Purpose, {"traits": [{"optional": True}]}, "spec.traits[0]", "exactly one of trait"),
    (TraitEquivalence, {"traits": ["a"]}, "spec.traits", "at least 2 items"),
    (TraitEquivalence, {"traits": ["a", "a"]}, "spec.traits[1]", "Duplicate value"),
    (ClusterProvider, {"image": ""}, "spec.image", "at least 1 chars"),
    (ClusterProvider, {"image": "a", "runReplicas": 0}, "spec.runReplicas", "greater than or equal to 1"),
    (ClusterProvider, {"image": "a", "verbosity": "LOUD"}, "spec.verbosity", "Unsupported value"),
    (ClusterProvider, {"image": "a", "env": [{"name": "A"}, {"name": "A"}]}, "spec.env[1]", "Duplicate value"),
]


@pytest.mark.parametrize(("kind", "spec", "field", "message"), BAD)
async def test_it_is_refused_by_the_server_in_words(
    kinds: Client, kind: type[Kind], spec: Spec, field: str, message: str
) -> None:
    body = an_object(kind, "bad", "default" if kind.API.namespaced else None, spec=spec)
    with pytest.raises(Invalid) as refused:
        await kinds.create(plain_resource_of(kind), body, dry_run=True)
    # The server names the field of a `oneOf` in the message alone.
    named = [cause for cause in refused.value.causes if cause.field == field or f'"{field}"' in cause.message]
    assert any(message in cause.message for cause in named), refused.value


@pytest.mark.parametrize("kind", [Purpose, TraitEquivalence, ClusterRequestGrant], ids=lambda kind: kind.API.kind)
async def test_kinds_of_our_own_need_a_spec(kinds: Client, kind: type[Kind]) -> None:
    body = an_object(kind, "bad", "default" if kind.API.namespaced else None)
    with pytest.raises(Invalid, match="spec: Required value"):
        await kinds.create(plain_resource_of(kind), body, dry_run=True)


FULL = {
    "purposes": ["a", "b"],
    "kubernetes": {"version": "1.33"},
    "dedicated": False,
    "traits": [{"or": [{"trait": "a"}, {"trait": "b"}]}],
    "prefix": "abc-",
    "waitForClusterDeletion": True,
    "ttl": "72h",
}
GRANT = {"clusterRef": REF, "prefix": "abc-"}
ACCESS = {"clusterRef": REF, "requestRef": REF, "token": {}}

CHANGES: list[tuple[type[Kind], Spec, Spec | None, str, str]] = [
    (ClusterRequest, FULL, {"purposes": ["a"]}, "spec.purposes", "spec.purposes is immutable"),
    (ClusterRequest, FULL, {"purposes": None, "purpose": "a"}, "spec.purpose", "spec.purpose is immutable"),
    (ClusterRequest, FULL, {"kubernetes": {"version": "1.34"}}, "spec.kubernetes", "spec.kubernetes is immutable"),
    (ClusterRequest, FULL, {"dedicated": True}, "spec.dedicated", "spec.dedicated is immutable"),
    (ClusterRequest, FULL, {"dedicated": None}, "spec.dedicated", "spec.dedicated is immutable"),
    (ClusterRequest, FULL, {"traits": []}, "spec.traits", "spec.traits is immutable"),
    (ClusterRequest, FULL, {"prefix": None}, "spec.prefix", "spec.prefix is immutable"),
    (ClusterRequest, FULL, {"waitForClusterDeletion": False}, "spec.waitForClusterDeletion", "is immutable"),
    (ClusterRequest, {"purpose": "a"}, {"purpose": "b"}, "spec.purpose", "spec.purpose is immutable"),
    (ClusterRequest, {"purpose": "a"}, {"traits": [{"trait": "a"}]}, "spec.traits", "spec.traits is immutable"),
    (ClusterRequest, {"purpose": "a"}, None, "<nil>", "spec may not be removed"),
    (ClusterRequestGrant, GRANT, {"clusterRef": {"name": "z"}}, "spec.clusterRef", "spec.clusterRef is immutable"),
    (ClusterRequestGrant, GRANT, {"prefix": "xyz"}, "spec.prefix", "spec.prefix is immutable"),
    (ClusterRequestGrant, GRANT, {"prefix": None}, "spec.prefix", "spec.prefix is immutable"),
    (Cluster, {"profile": "a", "tenancy": "Shared"}, {"profile": "b"}, "spec.profile", "profile is immutable"),
    (AccessRequest, ACCESS, {"clusterRef": {"name": "z"}}, "spec.clusterRef", "spec.clusterRef is immutable"),
    (AccessRequest, ACCESS, {"clusterRef": {"namespace": "z"}}, "spec.clusterRef", "spec.clusterRef is immutable"),
    (AccessRequest, ACCESS, {"clusterRef": {"namespace": None}}, "spec.clusterRef", "spec.clusterRef is immutable"),
    (AccessRequest, ACCESS, {"requestRef": {"name": "z"}}, "spec.requestRef", "spec.requestRef is immutable"),
    (AccessRequest, ACCESS, {"clusterRef": None}, "spec", "spec.clusterRef may not be removed"),
    (AccessRequest, ACCESS, {"requestRef": None}, "spec", "spec.requestRef may not be removed"),
]


@pytest.mark.parametrize(("kind", "spec", "change", "field", "message"), CHANGES)
async def test_what_was_said_cannot_be_changed(
    kinds: Client, namespace: str, kind: type[Kind], spec: Spec, change: Spec | None, field: str, message: str
) -> None:
    await kinds.create(plain_resource_of(kind), an_object(kind, "fixed", namespace, spec=spec))
    with pytest.raises(Invalid) as refused:
        await kinds.patch(plain_resource_of(kind), "fixed", MergePatch({"spec": change}), namespace=namespace)
    assert any(cause.field == field and message in cause.message for cause in refused.value.causes), refused.value


async def test_what_may_change_does(kinds: Client, namespace: str) -> None:
    allowed: list[tuple[type[Kind], Spec, Spec]] = [
        (ClusterRequest, FULL, {"ttl": "96h"}),
        (ClusterRequest, FULL, {"ttl": None}),
        (ClusterRequest, {"purpose": "a"}, {"ttl": "1h30m"}),
        (Cluster, {"profile": "a", "tenancy": "Shared"}, {"purposes": ["x"], "tenancy": "Exclusive"}),
        (AccessRequest, ACCESS, {"ttl": "8h", "token": None, "oidc": OIDC}),
        # Access fills in what it found out: the cluster of a request, and the namespace that was left out.
        (AccessRequest, {"requestRef": {"name": "a"}, "token": {}}, {"clusterRef": REF}),
        (AccessRequest, {"requestRef": {"name": "a"}, "token": {}}, {"requestRef": {"namespace": "b"}}),
    ]
    for kind, spec, change in allowed:
        name = f"changing-{uuid4().hex[:8]}"
        await kinds.create(plain_resource_of(kind), an_object(kind, name, namespace, spec=spec))
        await kinds.patch(plain_resource_of(kind), name, MergePatch({"spec": change}), namespace=namespace)


async def test_a_granted_cluster_stays_in_the_status(kinds: Client, namespace: str) -> None:
    resource = plain_resource_of(ClusterRequest)
    await kinds.create(resource, an_object(ClusterRequest, "granted", namespace, spec={"purpose": "a"}))

    async def report(**status: Any) -> None:
        patch = MergePatch({"status": {"observedGeneration": 1, "phase": "Granted", **status}})
        await kinds.patch(resource, "granted", patch, namespace=namespace, subresource="status")

    await report(cluster=REF)
    with pytest.raises(Invalid, match=r"status\.cluster is immutable"):
        await report(cluster={"name": "z"})
    with pytest.raises(Invalid, match=r"status\.cluster may not be removed"):
        await report(cluster=None)

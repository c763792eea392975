"""Whether the objects of a kind live in a namespace or beside all of them.

Known from three places, the first that has an answer counts: the CustomResourceDefinitions in the same file, the
kinds that every API server has (and a few that come with everybody's add-ons), and what a server tells. A kind that
nobody knows is taken as namespaced, as nearly all are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.objects import at, group_of, kind_of, text_at

if TYPE_CHECKING:
    from mooring.kube import Client, Object

GroupKind = tuple[str, str]

_CLUSTER_WIDE: Final = {
    "": "Namespace Node PersistentVolume ComponentStatus",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "authentication.k8s.io": "TokenReview SelfSubjectReview",
    "authorization.k8s.io": "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    "cert-manager.io": "ClusterIssuer",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "extensions": "PodSecurityPolicy",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "internal.apiserver.k8s.io": "StorageVersion",
    "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodSecurityPolicy",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass DeviceTaintRule ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    "storagemigration.k8s.io": "StorageVersionMigration",
}
_BUILT_IN: Final = frozenset((group, kind) for group, kinds in _CLUSTER_WIDE.items() for kind in kinds.split())
# Kinds that are beside all namespaces in whichever group they are, if nobody knows better.
_FAMOUS: Final = """
    Namespace Node PersistentVolume PodSecurityPolicy CertificateSigningRequest ClusterRoleBinding ClusterRole
    VolumeAttachment StorageClass CSIDriver CSINode ValidatingWebhookConfiguration MutatingWebhookConfiguration
    CustomResourceDefinition PriorityClass RuntimeClass
"""
_BY_NAME: Final = frozenset(_FAMOUS.split())
# Groups whose every kind is known: the table above has all that are not namespaced.
_KNOWN_GROUPS: Final = frozenset(
    {*_CLUSTER_WIDE, "apps", "autoscaling", "batch", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io"}
)


class Scopes:
    """Scopes of kinds, as far as they are known: `namespaced` answers for every object."""

    def __init__(self, known: Mapping[GroupKind, bool] | None = None) -> None:
        self._known = dict(known or {})  # group and kind: namespaced?

    def with_definitions_of(self, objects: Iterable[Object]) -> Scopes:
        """These scopes, and those that CustomResourceDefinitions among the objects say."""
        return Scopes({**self._known, **dict(_defined(objects))})

    def namespaced(self, obj: Object) -> bool:
        kind = (group_of(obj), kind_of(obj))
        if kind in self._known:
            return self._known[kind]
        return kind not in _BUILT_IN and kind[1] not in _BY_NAME

    def unknown(self, objects: Iterable[Object]) -> list[Object]:
        """Objects of kinds that only a server can tell about: one for each kind."""
        found: dict[GroupKind, Object] = {}
        for one in objects:
            kind = (group_of(one), kind_of(one))
            if kind[0] not in _KNOWN_GROUPS and kind not in self._known:
                found.setdefault(kind, one)
        return list(found.values())


async def asking(client: Client, scopes: Scopes, objects: Iterable[Object]) -> Scopes:
    """The scopes, and what this server says about kinds that they do not know."""
    from mooring.kube.errors import InvalidName, UnknownKind

    objects = list(objects)
    scopes = scopes.with_definitions_of(objects)
    told: dict[GroupKind, bool] = {}
    for one in scopes.unknown(objects):
        try:
            resource = await client.resource(text_at(one, "apiVersion"), kind_of(one))
        except (InvalidName, UnknownKind):
            continue  # the server does not have it, either
        told[group_of(one), kind_of(one)] = resource.namespaced
    return Scopes({**told, **scopes._known})


def _defined(objects: Iterable[Object]) -> Iterable[tuple[GroupKind, bool]]:
    for one in objects:
        if kind_of(one) != "CustomResourceDefinition":
            continue
        group, kind = text_at(one, "spec", "group"), text_at(one, "spec", "names", "kind")
        scope = at(one, "spec", "scope")
        if kind and scope in ("Namespaced", "Cluster"):
            yield (group, kind), scope == "Namespaced"

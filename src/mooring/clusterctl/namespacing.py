"""Putting all objects of a file into one namespace, with everything in them that names the old one.

Beside ``metadata.namespace`` these are: the subjects of bindings, the services behind webhooks and conversions, the
certificate that cert-manager injects, and the names that a Certificate is made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import (
    at,
    described,
    kind_of,
    namespace_of,
    set_metadata,
    texts_at,
    version_of,
)
from mooring.clusterctl.scopes import Scopes

if TYPE_CHECKING:
    from mooring.kube import Object

INJECT_CA_FROM: Final = "cert-manager.io/inject-ca-from"
BINDINGS: Final = frozenset({"ClusterRoleBinding", "RoleBinding"})
_CALLING_SERVICES: Final = frozenset(
    {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition"}
)


def put_into(objects: Sequence[Object], namespace: str, scopes: Scopes) -> list[Object]:
    """The objects, in this namespace. They are changed in place, where they are not made anew."""
    return [_moved(one, namespace, scopes) for one in objects]


def place(obj: Object, namespace: str, scopes: Scopes) -> None:
    """Name the namespace on the object itself: as its own name, or as where it is."""
    if kind_of(obj) == "Namespace":
        set_metadata(obj, "name", namespace)
    if scopes.namespaced(obj):
        set_metadata(obj, "namespace", namespace)


def _moved(obj: Object, namespace: str, scopes: Scopes) -> Object:
    before, kind = namespace_of(obj), kind_of(obj)
    place(obj, namespace, scopes)
    if kind in BINDINGS:
        from mooring.clusterctl.typed import as_typed

        obj = as_typed(obj)
        point_subjects(obj, namespace)
    elif kind in _CALLING_SERVICES:
        obj = _with_services(obj, namespace)
    elif kind == "Certificate":
        _rename_hosts(obj, before, namespace)
    return obj


def point_subjects(binding: Object, namespace: str, *, but_not: str = "") -> None:
    """Let the subjects of a binding that are in a namespace be in this one; those in ``but_not`` stay."""
    for subject in binding.get("subjects") or []:
        if subject.get("namespace") and subject["namespace"] != but_not:
            subject["namespace"] = namespace


def _with_services(obj: Object, namespace: str) -> Object:
    from mooring.clusterctl.typed import as_typed

    annotations = texts_at(obj, "annotations")
    source = annotations.get(INJECT_CA_FROM)
    if source is not None:
        if source.count("/") != 1:
            raise ClusterctlError(
                f"{described(obj)}: the annotation {INJECT_CA_FROM} is {source!r}; it must be NAMESPACE/NAME of a "
                f"Certificate"
            )
        annotations[INJECT_CA_FROM] = f"{namespace}/{source.partition('/')[2]}"
        set_metadata(obj, "annotations", annotations)
    obj = as_typed(obj)
    for settings in _client_settings(obj):
        service = at(settings, "service")
        if isinstance(service, dict):
            service["namespace"] = namespace
    return obj


def _client_settings(obj: Object) -> list[Any]:
    """How the API server reaches each webhook that is named in the object."""
    if kind_of(obj) != "CustomResourceDefinition":
        return [at(one, "clientConfig") for one in obj.get("webhooks") or []]
    if version_of(obj) == "v1beta1":
        return [at(obj, "spec", "conversion", "webhookClientConfig")]
    return [at(obj, "spec", "conversion", "webhook", "clientConfig")]


def _rename_hosts(obj: Object, before: str, namespace: str) -> None:
    """``service.old.svc`` becomes ``service.new.svc`` in the names that a Certificate is for."""
    spec = obj.get("spec")
    if spec is None:
        return
    if not isinstance(spec, dict):
        raise ClusterctlError(f"{described(obj)}: its spec must be a mapping")
    if "dnsNames" not in spec:
        return
    names = spec["dnsNames"]
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ClusterctlError(f"{described(obj)}: spec.dnsNames must be a list of texts")
    spec["dnsNames"] = [one.replace(f".{before}.", f".{namespace}.", 1) for one in names]

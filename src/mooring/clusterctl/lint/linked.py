"""Checks of links: whatever a file refers to is in it, or is there in every cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.lint.contents import WORKLOADS
from mooring.clusterctl.lint.material import CLUSTER_CLASS, DEEPEST, File, Release, mappings
from mooring.clusterctl.objects import at, described, kind_of, name_of, text_at, texts_at

if TYPE_CHECKING:
    from mooring.kube import Object

Link = tuple[str, str]  # kind and name

_EVERYWHERE: Final = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
# What cert-manager is asked for: the authority of a certificate, for those who call a webhook.
_INJECTED: Final = {
    "cert-manager.io/inject-ca-from": "Certificate",
    "cert-manager.io/inject-ca-from-secret": "Secret",
}
_NAMED_ALONE: Final = frozenset({"Secret", "ConfigMap"})  # kinds that are referred to without a group
_ROLES: Final = frozenset({"cluster-admin", "admin", "edit", "view"})


def components_closed(release: Release) -> Iterator[str]:
    if release.objects and release.components is not None:
        yield from _open_links(release.components, _component_links)


def templates_closed(release: Release) -> Iterator[str]:
    classes = {name.removeprefix(CLUSTER_CLASS).removesuffix(".yaml") for name in release.names}
    for file in release.templates:
        known = [("ClusterClass", name) for name in classes]
        yield from _open_links(file, _template_links, known)


def _open_links(file: File, links: Any, known: Iterable[Link] = ()) -> Iterator[str]:
    here = {(kind_of(one), name_of(one)) for one in file.objects} | _EVERYWHERE | set(known) | set(_made(file.objects))
    for one in file.objects:
        for kind, name in links(one):
            if name and (kind, name) not in here and not _is_built_in(kind, name):
                yield f"{file.name}: {described(one)} refers to the {kind} {name}, which is not in the file"
        yield from (f"{file.name}: {text}" for text in _empty_aggregations(one, file.objects))


def _is_built_in(kind: str, name: str) -> bool:
    if kind == "ClusterRole":
        return name in _ROLES or name.startswith("system:")
    return kind == "PriorityClass" and name.startswith("system-")


def _made(objects: Iterable[Object]) -> Iterator[Link]:
    """What other controllers make of these objects."""
    for one in objects:
        if kind_of(one) == "Certificate":
            yield "Secret", text_at(one, "spec", "secretName")
        if kind_of(one) == "Cluster":
            for purpose in ("ca", "etcd", "proxy", "sa", "kubeconfig"):
                yield "Secret", f"{name_of(one)}-{purpose}"


# -- what components refer to -----------------------------------------------------------------------------------


def _component_links(one: Object) -> Iterator[Link]:
    kind = kind_of(one)
    for annotation, its_kind in _INJECTED.items():
        yield its_kind, texts_at(one, "annotations").get(annotation, "").rpartition("/")[2]
    if kind in WORKLOADS or kind == "Job":
        yield from _pod_links(at(one, "spec", "template", "spec"))
    elif kind == "CronJob":
        yield from _pod_links(at(one, "spec", "jobTemplate", "spec", "template", "spec"))
    elif kind == "APIService":
        yield "Service", text_at(one, "spec", "service", "name")
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        yield text_at(one, "roleRef", "kind"), text_at(one, "roleRef", "name")
        for subject in mappings(at(one, "subjects")):
            if text_at(subject, "kind") == "ServiceAccount":
                yield "ServiceAccount", text_at(subject, "name")
    elif kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        for hook in mappings(at(one, "webhooks")):
            yield "Service", text_at(hook, "clientConfig", "service", "name")
    elif kind == "CustomResourceDefinition":
        yield "Service", text_at(one, "spec", "conversion", "webhook", "clientConfig", "service", "name")
    elif kind == "Certificate":
        reference = at(one, "spec", "issuerRef")
        yield text_at(reference, "kind") or "Issuer", text_at(reference, "name")


def _pod_links(pod: Any) -> Iterator[Link]:
    yield "ServiceAccount", text_at(pod, "serviceAccountName") or text_at(pod, "serviceAccount")
    yield "PriorityClass", text_at(pod, "priorityClassName")
    for one in mappings(at(pod, "imagePullSecrets")):
        yield "Secret", text_at(one, "name")
    for volume in mappings(at(pod, "volumes")):
        sources = [volume, *mappings(at(volume, "projected", "sources"))]
        for source in sources:
            yield from _unless_optional("Secret", at(source, "secret"), "secretName", "name")
            yield from _unless_optional("ConfigMap", at(source, "configMap"), "name")
        yield "PersistentVolumeClaim", text_at(volume, "persistentVolumeClaim", "claimName")
    for container in (*mappings(at(pod, "initContainers")), *mappings(at(pod, "containers"))):
        for source in mappings(at(container, "envFrom")):
            yield from _unless_optional("Secret", at(source, "secretRef"), "name")
            yield from _unless_optional("ConfigMap", at(source, "configMapRef"), "name")
        for pair in mappings(at(container, "env")):
            yield from _unless_optional("Secret", at(pair, "valueFrom", "secretKeyRef"), "name")
            yield from _unless_optional("ConfigMap", at(pair, "valueFrom", "configMapKeyRef"), "name")


def _unless_optional(kind: str, source: Any, *names: str) -> Iterator[Link]:
    if at(source, "optional") is not True:
        yield kind, next((text for name in names if (text := text_at(source, name))), "")


def _empty_aggregations(one: Object, objects: Iterable[Object]) -> Iterator[str]:
    """A ClusterRole that is put together from others, none of which is here."""
    if kind_of(one) != "ClusterRole" or not isinstance(at(one, "aggregationRule"), dict):
        return
    for selector in mappings(at(one, "aggregationRule", "clusterRoleSelectors")):
        wanted = at(selector, "matchLabels")
        if not isinstance(wanted, dict):
            continue
        roles = (texts_at(role, "labels") for role in objects if kind_of(role) == "ClusterRole")
        if not any(wanted.items() <= labels.items() for labels in roles):
            yield f"{described(one)} is put together from ClusterRoles that are not in the file ({wanted})"


# -- what templates refer to ------------------------------------------------------------------------------------


def _template_links(one: Object) -> Iterator[Link]:
    yield from _references(at(one, "spec"))
    if kind_of(one) == "Cluster":
        topology = at(one, "spec", "topology")
        yield "ClusterClass", text_at(topology, "classRef", "name") or text_at(topology, "class")
    elif text_at(one, "spec", "clusterName"):
        yield "Cluster", text_at(one, "spec", "clusterName")


def _references(value: Any) -> Iterator[Link]:
    """Mappings with a kind and a name; and Secrets and ConfigMaps by the fields that usually name them."""
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        field, one, depth = waiting.pop()
        if depth > DEEPEST:
            continue
        if isinstance(one, list):
            waiting += [(field, part, depth + 1) for part in one]
        elif isinstance(one, dict):
            referred = text_at(one, "kind")
            if referred and ("apiVersion" in one or "apiGroup" in one or referred in _NAMED_ALONE):
                yield referred, text_at(one, "name")
            elif (kind := _named_by(field)) and at(one, "optional") is not True:
                yield kind, text_at(one, "name")
            waiting += [(name, part, depth + 1) for name, part in one.items()]
        elif isinstance(one, str) and field.lower().endswith(("secretname", "configmapname")):
            yield "Secret" if "secret" in field.lower() else "ConfigMap", one


def _named_by(field: str) -> str:
    name = field.lower().removesuffix("ref").removesuffix("key").removesuffix("reference")
    if name.endswith("secret"):
        return "Secret"
    return "ConfigMap" if name.endswith("configmap") else ""

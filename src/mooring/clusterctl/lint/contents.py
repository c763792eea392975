"""Checks of what is in the components YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.images import BadImage, Image
from mooring.clusterctl.lint.material import Release, placeholder
from mooring.clusterctl.metadata import Metadata
from mooring.clusterctl.objects import at, described, group_of, kind_of, name_of, namespace_of, text_at, texts_at
from mooring.clusterctl.providers import (
    COMPATIBLE_CONTRACTS,
    MOVE_HIERARCHY_LABEL,
    MOVE_LABEL,
    OLD_CONTRACT,
    PROVIDER_LABEL,
    ProviderType,
)
from mooring.clusterctl.scopes import Scopes

if TYPE_CHECKING:
    from mooring.kube import Object

WEBHOOKS: Final = "capi-webhook-system"
WORKLOADS: Final = frozenset({"Deployment", "DaemonSet", "StatefulSet"})
_WEBHOOK_KINDS: Final = frozenset({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"})
_WITH_KINDS: Final = (
    ProviderType.CORE,
    ProviderType.BOOTSTRAP,
    ProviderType.CONTROL_PLANE,
    ProviderType.INFRASTRUCTURE,
    ProviderType.IPAM,
)
_SPACED: Final = re.compile(r"\$\{(?:\s+(\w+)\s*|(\w+)\s+)\}")
_DOLLAR_IN_NAME: Final = re.compile(r"(?<!\$)\$\{\s*\w*\$\w*[^}\n]*\}?")
# Group versions that API servers of today do not have any more.
_GONE: Final = re.compile(
    r"(?:extensions|(?:admissionregistration|apiextensions|apiregistration|rbac\.authorization|networking|policy|storage"
    r"|scheduling|coordination|certificates|discovery|node|batch|events)(?:\.k8s\.io)?)/v\d+(?:alpha|beta)\d+"
    r"|apps/v1beta[12]|cert-manager\.io/v1(?:alpha|beta)\d+|certmanager\.k8s\.io/.*|policy/v1beta1|batch/v1beta1"
)


def is_old(release: Release) -> bool:
    """Whether the release speaks the contract of v1alpha3."""
    metadata = release.metadata
    return isinstance(metadata, Metadata) and metadata.contract_of(release.version) == OLD_CONTRACT


def containers_of(workload: Object) -> list[Object]:
    pod = at(workload, "spec", "template", "spec")
    found = [one for part in ("initContainers", "containers") for one in at(pod, part) or []]
    return [one for one in found if isinstance(one, dict)]


def readable(release: Release) -> Iterator[str]:
    if release.components is not None and release.components.trouble:
        yield release.components.trouble
    for number, one in enumerate(release.objects, 1):
        lacking = [name for name in ("apiVersion", "kind") if not text_at(one, name)]
        if not name_of(one):
            lacking.append("metadata.name")
        if lacking:
            yield f"document {number} ({described(one)}) has no {' and no '.join(lacking)}"


def complete(release: Release) -> Iterator[str]:
    if release.components is None or release.components.trouble:
        return
    kinds = {kind_of(one) for one in release.objects}
    if release.provider.type in _WITH_KINDS and "CustomResourceDefinition" not in kinds:
        yield "there is no CustomResourceDefinition"
    if not kinds & WORKLOADS:
        yield "there is no controller"
    if not kinds & {"Role", "ClusterRole"} or not kinds & {"RoleBinding", "ClusterRoleBinding"}:
        yield "there are no rights for the controller: a Role or ClusterRole, and a binding of it"


def shared_namespace(release: Release) -> Iterator[str]:
    if not is_old(release):
        return  # shared components have gone with v1alpha3
    for one in release.objects:
        if kind_of(one) in _WEBHOOK_KINDS:
            for hook in at(one, "webhooks") or []:
                where = text_at(hook, "clientConfig", "service", "namespace")
                if where and where != WEBHOOKS:
                    yield f"{described(one)} is served from {where}, and not from {WEBHOOKS}"


def namespaces_in(release: Release) -> list[str]:
    """The Namespace objects that count as the target."""
    found = [name_of(one) for one in release.objects if kind_of(one) == "Namespace" and not group_of(one)]
    return [name for name in found if not (is_old(release) and name == WEBHOOKS)]


def has_namespace(release: Release) -> Iterator[str]:
    if release.objects and not namespaces_in(release):
        yield "there is no Namespace object: whoever installs this must give --target-namespace"


def one_namespace(release: Release) -> Iterator[str]:
    found = namespaces_in(release)
    if len(found) > 1:
        yield f"there are {len(found)} Namespace objects: {', '.join(found)}"


def in_target_namespace(release: Release) -> Iterator[str]:
    scopes = Scopes().with_definitions_of(release.objects)
    allowed = {*namespaces_in(release)[:1], *([WEBHOOKS] if is_old(release) else [])}
    for one in release.objects:
        where = namespace_of(one)
        if not where or not scopes.namespaced(one):
            continue
        if not allowed:
            allowed = {where}
        if where not in allowed:
            yield f"{described(one)} is in {where}, and not in {', '.join(sorted(allowed))}"


def has_deployment(release: Release) -> Iterator[str]:
    if release.objects and not any(kind_of(one) == "Deployment" for one in release.objects):
        yield "there is no Deployment"


def called_manager(release: Release) -> Iterator[str]:
    deployments = [one for one in release.objects if kind_of(one) == "Deployment"]
    names = {text_at(one, "name") for deployment in deployments for one in containers_of(deployment)}
    if deployments and "manager" not in names:
        yield f"no container is called manager (there are {', '.join(sorted(names)) or 'none'})"


def prefixed_variables(release: Release) -> Iterator[str]:
    prefix = release.provider.name.upper().replace("-", "_").replace(".", "_") + "_"
    if release.components is None or release.provider.type is ProviderType.CORE:
        return
    for name in release.components.variables:
        if not name.upper().startswith(prefix):
            yield f"${{{name}}} should begin with {prefix}"


def no_spaces(release: Release) -> Iterator[str]:
    for file in release.files:
        for match in _SPACED.finditer(file.text):
            yield f"{file.name}: {match[0]} should be ${{{match[1] or match[2]}}}"


def plain_names(release: Release) -> Iterator[str]:
    for file in release.files:
        for match in _DOLLAR_IN_NAME.finditer(file.text):
            yield f"{file.name}: {match[0][:60]} is not supported: a variable's name is of letters, digits and _"


def labelled(release: Release) -> Iterator[str]:
    for one in release.objects:
        found = texts_at(one, "labels").get(PROVIDER_LABEL)
        if found != release.provider.label:
            shown = "no label" if found is None else f"the label {found!r} for"
            yield f"{described(one)} has {shown} {PROVIDER_LABEL}: it should be {release.provider.label}"


def no_fixed_names(release: Release) -> Iterator[str]:
    """Texts that hold the target namespace, in places that no installation changes."""
    for namespace in namespaces_in(release):
        word = re.compile(rf"(?<![\w-]){re.escape(namespace)}(?![\w-])")
        for one in release.objects:
            for place, text in _free_texts(one):
                if word.search(text):
                    yield f"{described(one)}: {place} names the namespace {namespace}, which --target-namespace changes"


def _free_texts(one: Object) -> Iterator[tuple[str, str]]:
    if kind_of(one) in WORKLOADS:
        for container in containers_of(one):
            for part in ("command", "args"):
                yield from ((part, text) for text in container.get(part) or [] if isinstance(text, str))
            for pair in container.get("env") or []:
                yield f"env {text_at(pair, 'name')}", text_at(pair, "value")
    if kind_of(one) == "ConfigMap":
        data: Any = at(one, "data")
        for name, text in (data if isinstance(data, dict) else {}).items():
            yield f"data.{name}", text if isinstance(text, str) else ""


def moved_definitions(release: Release) -> Iterator[str]:
    for one in definitions_in(release):
        marks = texts_at(one, "labels").keys() & {MOVE_LABEL, MOVE_HIERARCHY_LABEL}
        if marks and text_at(one, "spec", "scope") == "Cluster":
            yield f"{described(one)} has {sorted(marks)[0]} and is cluster-wide: its objects are copied, and stay"


def definitions_in(release: Release) -> list[Object]:
    return [one for one in release.objects if kind_of(one) == "CustomResourceDefinition"]


def todays_definitions(release: Release) -> Iterator[str]:
    for one in definitions_in(release):
        group, plural = text_at(one, "spec", "group"), text_at(one, "spec", "names", "plural")
        if name_of(one) != f"{plural}.{group}":
            yield f"{described(one)} should be called {plural}.{group}"
        if not group.endswith("cluster.x-k8s.io") or text_at(one, "spec", "scope") == "Cluster":
            continue
        contracts = {
            label.partition("/")[2] for label in texts_at(one, "labels") if label.startswith("cluster.x-k8s.io/v")
        }
        if not contracts & COMPATIBLE_CONTRACTS:
            wanted = " or ".join(f"cluster.x-k8s.io/{name}" for name in sorted(COMPATIBLE_CONTRACTS))
            yield f"{described(one)} has no label {wanted} that lists its versions of that contract"


def todays_versions(release: Release) -> Iterator[str]:
    for file in release.files:
        for one in file.objects:
            version = text_at(one, "apiVersion")
            if _GONE.fullmatch(version):
                yield f"{file.name}: {described(one)} is of {version}, which is gone from today's servers"


def canonical_images(release: Release) -> Iterator[str]:
    for one in release.objects:
        for container in containers_of(one) if kind_of(one) in WORKLOADS else []:
            image = text_at(container, "image")
            if image and placeholder("") not in image and not _is_canonical(image):
                yield f"{described(one)}: the image {image!r} is not canonical: write it with its registry"


def _is_canonical(image: str) -> bool:
    try:
        Image.parse(image)
    except BadImage:
        return False
    return True

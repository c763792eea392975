"""Checks of what is in the components YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.lint.material import NothingToLookAt, Release, mappings
from mooring.clusterctl.metadata import Metadata
from mooring.clusterctl.objects import at, described, group_of, kind_of, name_of, namespace_of, text_at, texts_at
from mooring.clusterctl.providers import (
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
_WITH_KINDS: Final = (
    ProviderType.CORE,
    ProviderType.BOOTSTRAP,
    ProviderType.CONTROL_PLANE,
    ProviderType.INFRASTRUCTURE,
    ProviderType.IPAM,
)
_SPACED: Final = re.compile(r"\$\{(?:\s+(\w+)\s*|(\w+)\s+)\}")
_DOLLAR_IN_NAME: Final = re.compile(r"(?<!\$)\$\{\s*\w*\$\w*[^}\n]*\}?")


def is_old(release: Release) -> bool:
    """Whether the release speaks the contract of v1alpha3."""
    metadata = release.metadata
    return isinstance(metadata, Metadata) and metadata.contract_of(release.version) == OLD_CONTRACT


def containers_of(workload: Object) -> list[Object]:
    pod = at(workload, "spec", "template", "spec")
    return [one for part in ("initContainers", "containers") for one in mappings(at(pod, part))]


def readable(release: Release) -> Iterator[str]:
    if release.components is not None and release.components.trouble:
        yield release.components.trouble
        return
    for number, one in enumerate(release.objects, 1):
        lacking = [name for name in ("apiVersion", "kind") if not text_at(one, name)]
        if not name_of(one):
            lacking.append("metadata.name")
        if lacking:
            yield f"document {number} ({described(one)}) has no {' and no '.join(lacking)}"


def complete(release: Release) -> Iterator[str]:
    kinds = {kind_of(one) for one in release.objects}
    if release.provider.type in _WITH_KINDS and "CustomResourceDefinition" not in kinds:
        yield "there is no CustomResourceDefinition"
    if not kinds & WORKLOADS:
        yield "there is no controller"
    if not kinds & {"Role", "ClusterRole"} or not kinds & {"RoleBinding", "ClusterRoleBinding"}:
        yield "there are no rights for the controller: a Role or ClusterRole, and a binding of it"


def namespaces_in(release: Release) -> list[str]:
    """The Namespace objects that count as the target."""
    found = [name_of(one) for one in release.objects if kind_of(one) == "Namespace" and not group_of(one)]
    return [name for name in found if not (is_old(release) and name == WEBHOOKS)]


def has_namespace(release: Release) -> Iterator[str]:
    if not namespaces_in(release):
        yield "there is no Namespace object: whoever installs this must give --target-namespace"


def one_namespace(release: Release) -> Iterator[str]:
    found = namespaces_in(release)
    if len(found) > 1:
        yield f"there are {len(found)} Namespace objects: {', '.join(found)}"


def in_target_namespace(release: Release) -> Iterator[str]:
    scopes = Scopes().with_definitions_of(release.objects)
    allowed = {*namespaces_in(release)[:1], *([WEBHOOKS] if is_old(release) else [])}
    for one in filter(scopes.namespaced, release.objects):
        where = namespace_of(one)
        if where and not allowed:
            allowed = {where}  # without a Namespace object, the first decides
        if allowed and where not in allowed:
            shown = f"in {where}" if where else "in no namespace"
            yield f"{described(one)} is {shown}, and not in {', '.join(sorted(allowed))}"


def has_deployment(release: Release) -> Iterator[str]:
    if not any(kind_of(one) == "Deployment" for one in release.objects):
        yield "there is no Deployment"


def called_manager(release: Release) -> Iterator[str]:
    deployments = [one for one in release.objects if kind_of(one) == "Deployment"]
    pods = [at(one, "spec", "template", "spec") for one in deployments]
    names = {text_at(container, "name") for pod in pods for container in mappings(at(pod, "containers"))}
    if deployments and "manager" not in names:
        yield f"no container is called manager (there are {', '.join(sorted(names)) or 'none'})"


def prefixed_variables(release: Release) -> Iterator[str]:
    if release.components is None:
        raise NothingToLookAt("There is no components YAML (P03).")
    prefix = release.provider.name.upper().replace("-", "_").replace(".", "_") + "_"
    if release.provider.type is ProviderType.CORE:
        return  # its name is no prefix that anybody would look for
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
    """Texts that hold the target namespace, or the name of a ClusterRole, in places that no installation changes."""
    changed = {name: f"the namespace {name}, which --target-namespace changes" for name in namespaces_in(release)}
    if is_old(release):
        roles = [one for one in release.objects if kind_of(one) in ("ClusterRole", "ClusterRoleBinding")]
        changed |= {name_of(one): f"the {described(one)}, which is renamed after the namespace" for one in roles}
    changed.pop("", None)
    for name, what in changed.items():
        word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        for one in release.objects:
            for place, text in _free_texts(one):
                if word.search(text):
                    yield f"{described(one)}: {place} names {what}"


def _free_texts(one: Object) -> Iterator[tuple[str, str]]:
    if kind_of(one) in WORKLOADS:
        for container in containers_of(one):
            for part in ("command", "args"):
                texts = container.get(part)
                yield from ((part, str(text)) for text in (texts if isinstance(texts, list) else []))
            for pair in mappings(container.get("env")):
                yield f"env {text_at(pair, 'name')}", text_at(pair, "value")
    if kind_of(one) == "ConfigMap":
        data: Any = at(one, "data")
        for name, text in (data if isinstance(data, dict) else {}).items():
            yield f"data.{name}", text if isinstance(text, str) else ""


def moved_definitions(release: Release) -> Iterator[str]:
    for one in definitions_in(release.objects):
        marks = texts_at(one, "labels").keys() & {MOVE_LABEL, MOVE_HIERARCHY_LABEL}
        if marks and text_at(one, "spec", "scope") == "Cluster":
            yield f"{described(one)} has {sorted(marks)[0]} and is cluster-wide: its objects are copied, and stay"


def definitions_in(objects: Iterable[Object]) -> list[Object]:
    return [one for one in objects if kind_of(one) == "CustomResourceDefinition"]

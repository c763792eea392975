"""Checks of workload cluster templates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from mooring.clusterctl.lint.material import DEEPEST, TEMPLATE, Release, placeholder
from mooring.clusterctl.objects import at, described, kind_of, name_of, namespace_of, text_at
from mooring.clusterctl.scopes import Scopes

_NAME: Final = re.compile(r"cluster-template(?:-[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?\.yaml")
_LIKE: Final = re.compile(r"(?:cluster[-_]?)?template|flavou?r", re.IGNORECASE)
# The variable that a flag or argument sets, and the words by which other variables for the same are known.
_COMMON: Final = {
    "CLUSTER_NAME": re.compile(r"CLUSTER_?NAME$"),
    "KUBERNETES_VERSION": re.compile(r"(?:KUBERNETES|K8S|KUBE)_?VERSION$"),
    "CONTROL_PLANE_MACHINE_COUNT": re.compile(r"CONTROL_?PLANE_?(?:MACHINE_?|NODE_?)?(?:COUNT|REPLICAS)$"),
    "WORKER_MACHINE_COUNT": re.compile(r"(?:WORKER|NODE)_?(?:MACHINE_?)?(?:COUNT|REPLICAS)$"),
    "NAMESPACE": re.compile(r"(?:^|CLUSTER_|TARGET_)NAMESPACE$"),
}


def names(release: Release) -> Iterator[str]:
    for name in release.names:
        if name.endswith((".yaml", ".yml")) and _LIKE.search(name) and not _NAME.fullmatch(name):
            yield f"{name} is not found as a template: call it cluster-template.yaml or cluster-template-FLAVOR.yaml"
    for path in release.deeper:
        if _NAME.fullmatch(path.rpartition("/")[2]):
            yield f"{path} is not found as a template: put it beside the components"


def default(release: Release) -> Iterator[str]:
    if release.templates and f"{TEMPLATE}.yaml" not in release.names:
        flavors = ", ".join(file.name for file in release.templates)
        yield f"there are only flavors ({flavors}): 'generate cluster' without --flavor finds nothing"


def readable(release: Release) -> Iterator[str]:
    for file in (*release.templates, *release.cluster_classes):
        if file.trouble:
            yield file.trouble
        elif not file.objects:
            yield f"{file.name} has no objects"
        elif file in release.templates and not any(kind_of(one) == "Cluster" for one in file.objects):
            yield f"{file.name} has no Cluster"


def no_namespace(release: Release) -> Iterator[str]:
    for file in release.templates:
        for one in file.objects:
            if kind_of(one) == "Namespace":
                yield f"{file.name} has the Namespace {name_of(one)}: leave it out, it is there already"


def one_namespace(release: Release) -> Iterator[str]:
    for file in release.templates:
        scopes = Scopes().with_definitions_of([*release.objects_if_any, *file.objects])
        found = {namespace_of(one) for one in file.objects if scopes.namespaced(one)} - {""}
        if len(found) > 1:
            yield f"{file.name} has objects in {len(found)} namespaces: {', '.join(sorted(map(_shown, found)))}"
        for one in file.objects:
            if namespace_of(one) and not scopes.namespaced(one):
                yield f"{file.name}: {described(one)} has a namespace, and is of a kind that has none"


def no_fixed_namespace(release: Release) -> Iterator[str]:
    """References to objects with a namespace of their own: only that of the objects themselves is set."""
    for file in release.templates:
        for one in file.objects:
            for place, namespace in _namespaces_in_references(at(one, "spec")):
                if namespace != placeholder("NAMESPACE"):
                    yield f"{file.name}: {described(one)}: spec.{place}.namespace is always {_shown(namespace)}"


def _namespaces_in_references(value: Any) -> Iterator[tuple[str, str]]:
    """Where references are that name a namespace, and which."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while waiting:
        path, one = waiting.pop()
        if len(path) > DEEPEST:
            continue
        if isinstance(one, list):
            waiting += [((*path, str(index)), each) for index, each in enumerate(one)]
        elif isinstance(one, dict):
            if text_at(one, "kind") and text_at(one, "name") and text_at(one, "namespace"):
                yield ".".join(path), text_at(one, "namespace")
            waiting += [((*path, str(name)), each) for name, each in one.items()]


def common_variables(release: Release) -> Iterator[str]:
    for file in release.templates:
        for name in file.variables:
            for common, alike in _COMMON.items():
                if name != common and alike.search(name) and common not in file.variables:
                    yield f"{file.name} uses ${{{name}}}; ${{{common}}} is what the flag sets"
        if not file.trouble and "CLUSTER_NAME" not in file.variables:
            yield f"{file.name} does not use ${{CLUSTER_NAME}}: every cluster made from it has the same name"


def _shown(namespace: str) -> str:
    """A namespace as the file spells it."""
    begin = placeholder("")
    return f"${{{namespace.removeprefix(begin).upper().replace('-', '_')}}}" if begin in namespace else namespace

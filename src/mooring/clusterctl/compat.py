"""Components as they were made in the days of the contract v1alpha3, for ``--compat v1alpha3``.

A provider could be installed several times then. What all its instances share (definitions, webhooks, and everything in
the namespace ``capi-webhook-system``) is parted from what each has of its own; only the latter moves to the target
namespace, its cluster roles get names with the namespace in front, and its controllers can be held to one namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.components import Components, Options, add_namespace, label, target_namespace
from mooring.clusterctl.containers import MANAGER
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.namespacing import BINDINGS, place, point_subjects
from mooring.clusterctl.objects import at, described, kind_of, name_of, namespace_of, set_metadata, texts_at
from mooring.clusterctl.providers import LIFECYCLE_LABEL, PROVIDER_LABEL
from mooring.clusterctl.scopes import Scopes
from mooring.clusterctl.typed import as_typed

if TYPE_CHECKING:
    from mooring.kube import Object

WEBHOOK_NAMESPACE: Final = "capi-webhook-system"
SHARED: Final = "shared"
_SHARED_KINDS: Final = frozenset(
    {"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)
_FLAG: Final = "--namespace="


def instance_of(made: Components, options: Options, scopes: Scopes) -> Components:
    """Finish components, whose images are already right, as one instance of their provider."""
    own, shared = parted(made.objects, scopes)
    namespace = target_namespace(own, options)
    add_namespace(own, namespace)
    for one in own:
        place(one, namespace, scopes)
    own = with_own_roles(own, namespace)
    if watched_in(own) != options.watching_namespace:
        own = [_watching(one, options.watching_namespace) for one in own]
    label(own, made.provider)
    label(shared, made.provider)
    _label_shared(shared)
    made.objects, made.shared = own, shared
    made.target_namespace, made.watching_namespace = namespace, options.watching_namespace
    return made


def parted(objects: Sequence[Object], scopes: Scopes) -> tuple[list[Object], list[Object]]:
    """What an instance has of its own, and what all instances share."""
    own: list[Object] = []
    shared: list[Object] = []
    for one in objects:
        (shared if _is_shared(one, scopes) else own).append(one)
    return own, shared


def _is_shared(obj: Object, scopes: Scopes) -> bool:
    kind = kind_of(obj)
    if kind in _SHARED_KINDS:
        return True
    if kind == "Namespace":
        return name_of(obj) == WEBHOOK_NAMESPACE
    return scopes.namespaced(obj) and namespace_of(obj) == WEBHOOK_NAMESPACE


def with_own_roles(objects: Sequence[Object], namespace: str) -> list[Object]:
    """ClusterRoles and their bindings under names that no other instance has; bindings follow the roles."""
    renamed: dict[str, str] = {}
    for one in objects:
        if kind_of(one) == "ClusterRole":
            name = name_of(one)
            renamed[name] = f"{namespace}-{name}"
            set_metadata(one, "name", renamed[name])
    return [_rebound(one, namespace, renamed) if kind_of(one) in BINDINGS else one for one in objects]


def _rebound(binding: Object, namespace: str, renamed: dict[str, str]) -> Object:
    binding = as_typed(binding, old=True)
    point_subjects(binding, namespace, but_not=WEBHOOK_NAMESPACE)
    if kind_of(binding) == "ClusterRoleBinding":
        set_metadata(binding, "name", f"{namespace}-{name_of(binding)}")
        role = binding["roleRef"]
        role["name"] = renamed.get(role.get("name", ""), role.get("name", ""))
    return binding


def watched_in(objects: Sequence[Object]) -> str:
    """Which namespace the controllers are told to watch in the file; empty if all."""
    found = ""
    for one in objects:
        for argument in (text for container in _managers(one) for text in container.get("args") or []):
            if not argument.startswith(_FLAG):
                continue
            named = argument.removeprefix(_FLAG)
            if found and named != found:
                raise ClusterctlError(
                    f"{described(one)}: its controller has {argument} and another one {_FLAG}{found}; all controllers "
                    f"of a provider must watch the same namespace"
                )
            found = named
    return found


def _watching(obj: Object, namespace: str) -> Object:
    for container in _managers(obj):
        arguments: list[str] = container.get("args") or []
        told = any(one.startswith(_FLAG) for one in arguments)
        if namespace:
            arguments = [f"{_FLAG}{namespace}" if one.startswith(_FLAG) else one for one in arguments]
            arguments += [] if told else [f"{_FLAG}{namespace}"]
        else:
            arguments = [one for one in arguments if not one.startswith(_FLAG)]
        container["args"] = arguments
        if not arguments:
            del container["args"]
    return obj


def _managers(obj: Object) -> list[dict[str, Any]]:
    if kind_of(obj) != "Deployment":
        return []
    found = at(obj, "spec", "template", "spec", "containers") or []
    return [one for one in found if one.get("name") == MANAGER]


def _label_shared(objects: Sequence[Object]) -> None:
    """Let later calls know what is shared. The namespace of all webhooks belongs to no provider."""
    for one in objects:
        labels = {**texts_at(one, "labels"), LIFECYCLE_LABEL: SHARED}
        if kind_of(one) == "Namespace":
            labels.pop(PROVIDER_LABEL, None)
        set_metadata(one, "labels", labels)

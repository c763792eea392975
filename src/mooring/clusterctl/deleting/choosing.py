"""Which providers are meant, and which of the objects that carry a provider's label go with it. Nobody is asked here.

Cluster-wide objects are the hard part. They carry the label of a provider and not the namespace of an instance, so with
several instances (of the days of v1alpha3) only those go whose name begins with the instance's namespace. With one
instance all of them are its own, and none is left behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mooring.clusterctl.compat import SHARED
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory import Installed, instances_of
from mooring.clusterctl.inventory_definition import PROVIDERS
from mooring.clusterctl.objects import group_of, kind_of, name_of, namespace_of, texts_at
from mooring.clusterctl.providers import LIFECYCLE_LABEL, ProviderType, manifest_label, named_provider
from mooring.kube import Object

_FIRST: Final = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService"})
_DEFINITION, _NAMESPACE = "CustomResourceDefinition", "Namespace"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which providers somebody wants to be deleted."""

    named: Sequence[tuple[ProviderType, str]] = ()  # as name[:version]
    everything: bool = False
    namespace: str = ""  # of the instances; empty: wherever it is


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a provider goes."""

    definitions: bool = False  # and with them, what all instances share
    namespace: bool = False
    compat: str = ""


def chosen(installed: Sequence[Installed], choice: Choice, *, done_before: Collection[str] = ()) -> list[Installed]:
    """The providers that are meant. ``done_before`` are labels that an interrupted run has dealt with already."""
    here = [one for one in installed if choice.namespace in ("", one.namespace)]
    if choice.everything:
        return here
    found: list[Installed] = []
    for type_, text in choice.named:
        if not text:
            continue
        name, version = named_provider(text)
        instances = instances_of(here, name, type_)
        if not instances and manifest_label(name, type_) in done_before:
            continue
        one = _only(instances, name, type_, choice.namespace)
        if version and version != one.version:
            raise ClusterctlError(f"{one.instance} is installed in version {one.version}, not in {version}")
        if one not in found:
            found.append(one)
    return found


def _only(instances: Sequence[Installed], name: str, type_: ProviderType, namespace: str) -> Installed:
    if not instances:
        where = f" in namespace {namespace}" if namespace else ""
        raise ClusterctlError(
            f"there is no {type_} {name!r}{where} in this management cluster, so it cannot be deleted"
        )
    if len(instances) > 1:
        places = ", ".join(one.namespace for one in instances)
        raise ClusterctlError(f"{type_} {name!r} is in several namespaces ({places}): say which one with --namespace")
    return instances[0]


def others_of(one: Installed, installed: Iterable[Installed]) -> list[Installed]:
    """Further instances of the same provider."""
    return [other for other in installed if other.same_provider(one) and other.namespace != one.namespace]


def refuse_taking_from_others(going: Sequence[Installed], installed: Sequence[Installed]) -> None:
    """Definitions belong to all instances of a provider: they go with the last one."""
    for one in going:
        left = [other for other in others_of(one, installed) if other not in going]
        if left:
            names = ", ".join(other.instance for other in left)
            raise ClusterctlError(
                f"--include-crd would take the definitions of {one.label} from {names}, too: delete {names} first, or "
                f"leave --include-crd out"
            )


def components_to_delete(
    found: Sequence[Object], one: Installed, *, others: Sequence[Installed], extent: Extent
) -> list[list[Object]]:
    """What of the objects with the provider's label goes with this instance, in waves. Neither its inventory nor its
    namespace is among them, nor what is in a namespace that goes as a whole."""
    whole = one.namespace if extent.namespace and namespace_of_instance(found, one) else None
    going = [each for each in found if _goes(each, one, others, extent)]
    going = [each for each in going if not whole or namespace_of(each) != whole]
    waves = (
        [each for each in going if kind_of(each) in _FIRST],
        [each for each in going if kind_of(each) not in _FIRST and kind_of(each) != _DEFINITION],
        [each for each in going if kind_of(each) == _DEFINITION],
    )
    return [wave for wave in waves if wave]


def namespace_of_instance(found: Iterable[Object], one: Installed) -> Object | None:
    """The namespace, if it came with the provider: then it has its label."""
    return next((each for each in found if kind_of(each) == _NAMESPACE and name_of(each) == one.namespace), None)


def _goes(each: Object, one: Installed, others: Sequence[Installed], extent: Extent) -> bool:
    kind = kind_of(each)
    if kind == _NAMESPACE or (group_of(each), kind) == (PROVIDERS.group, PROVIDERS.kind):
        return False
    if kind == _DEFINITION or (extent.compat and texts_at(each, "labels").get(LIFECYCLE_LABEL) == SHARED):
        return extent.definitions
    if namespace_of(each) or not others:
        return True
    return _instance_in_name(name_of(each), [one, *others]) == one.namespace


def _instance_in_name(name: str, instances: Iterable[Installed]) -> str:
    """The namespace that a name begins with; the longest, since one may begin with another."""
    prefixes = [one.namespace for one in instances if name.startswith(f"{one.namespace}-")]
    return max(prefixes, key=len, default="")

"""Whether a management cluster will work with what is about to be installed: checked before anything is.

Today: one instance of each provider, one core provider, contracts that go together, and definitions under the names
that Cluster API's controllers look for. With ``compat`` as in the days of v1alpha3: one instance in each namespace,
none that watch the same objects, each with exactly one core provider to work with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory import Installed, instances_of, of_type
from mooring.clusterctl.objects import kind_of, name_of, text_at, texts_at, version_of
from mooring.clusterctl.plurals import crd_name
from mooring.clusterctl.providers import CONTRACT, ProviderType

if TYPE_CHECKING:
    from mooring.clusterctl.components import Components
    from mooring.kube import Object

SKIP_NAME_CHECK: Final = "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check"

ContractOf = Callable[[Installed], Awaitable[str]]


async def validate(
    installed: Sequence[Installed], queue: Sequence[Components], contract_of: ContractOf, *, compat: str = ""
) -> None:
    """Refuse what would not work, with the first reason that is found."""
    after = list(installed)
    for components in queue:
        added = entry_of(components)
        try:
            (_refuse_overlap if compat else _refuse_second)(added, after)
        except ClusterctlError as error:
            raise ClusterctlError(f"installing {added.label} would break the management cluster: {error}") from None
        after.append(added)
    await _contracts_fit(after, queue, contract_of, compat=compat)
    if not compat:
        for components in queue:
            check_definition_names(components.objects)


def entry_of(components: Components) -> Installed:
    """What the inventory will say of these components."""
    return Installed(
        name=components.provider.label,
        provider_name=components.provider.name,
        type=components.provider.type,
        version=components.version,
        namespace=components.target_namespace,
        watched_namespace=components.watching_namespace,
    )


def compatible_with(contract: str) -> frozenset[str]:
    """The contracts that providers may speak where the core provider speaks this one."""
    return frozenset({CONTRACT, "v1beta1"} if contract == CONTRACT else {contract})


def check_definition_names(objects: Iterable[Object]) -> None:
    """Refuse definitions that Cluster API's controllers would look for under another name."""
    for one in objects:
        if kind_of(one) != "CustomResourceDefinition":
            continue
        if version_of(one) not in ("v1", "v1beta1"):
            raise ClusterctlError(
                f"CustomResourceDefinition {name_of(one)}: its apiVersion {one['apiVersion']} is unknown"
            )
        if SKIP_NAME_CHECK in texts_at(one, "annotations"):
            continue
        expected = crd_name(text_at(one, "spec", "group"), text_at(one, "spec", "names", "kind"))
        if name_of(one) != expected:
            raise ClusterctlError(
                f"CustomResourceDefinition {name_of(one)} must be called {expected}: under that name it is looked for "
                f"by whoever refers to its kind. If no Cluster API object ever refers to it, say so with the "
                f"annotation {SKIP_NAME_CHECK}"
            )


def _refuse_second(added: Installed, there: Iterable[Installed]) -> None:
    others = instances_of(there, added.provider_name, added.type)
    if others:
        where = ", ".join(f"{one.namespace} ({one.version})" for one in others)
        raise ClusterctlError(
            f"it is already installed in {where}. Use 'upgrade apply' to change its version, or 'delete' it first"
        )


def _refuse_overlap(added: Installed, there: Iterable[Installed]) -> None:
    for one in instances_of(there, added.provider_name, added.type):
        if one.namespace == added.namespace:
            raise ClusterctlError(
                f"there is an instance of it in the namespace {one.namespace} already ({one.version})"
            )
        if one.overlaps(added):
            raise ClusterctlError(
                f"it would watch {_watched(added)}, and the instance in {one.namespace} watches {_watched(one)}: give "
                f"each a namespace of its own with --watching-namespace"
            )


async def _contracts_fit(
    after: Sequence[Installed], queue: Iterable[Components], contract_of: ContractOf, *, compat: str
) -> None:
    cores = _cores(after, compat=compat)
    if not compat:
        await contract_of(of_type(after, ProviderType.CORE)[0])  # its release must be known, whatever is added
    for components in queue:
        added = entry_of(components)
        core = cores(added)
        accepted = compatible_with(await contract_of(core))
        contract = await contract_of(added)
        if contract not in accepted:
            raise ClusterctlError(
                f"installing {added.label} {added.version} would break the management cluster: it speaks the contract "
                f"{contract}, and the core provider {core.version} goes together with {', '.join(sorted(accepted))}"
            )


def _cores(after: Sequence[Installed], *, compat: str) -> Callable[[Installed], Installed]:
    """Which core provider a provider works with."""
    found = of_type(after, ProviderType.CORE)
    if not compat:
        if len(found) != 1:
            names = f" ({', '.join(one.instance for one in found)})" if found else ""
            raise ClusterctlError(
                f"a management cluster must have one core provider, and this one has {len(found)}{names}"
            )
        return lambda _: found[0]
    groups = management_groups(after)
    return lambda added: groups[added.instance]


def management_groups(installed: Sequence[Installed]) -> dict[str, Installed]:
    """Of each provider, by its instance, the core provider that watches the same objects (v1alpha3)."""
    cores = of_type(installed, ProviderType.CORE)
    for place, one in enumerate(cores):
        for other in cores[place + 1 :]:
            if one.overlaps(other):
                raise ClusterctlError(
                    f"the core providers {one.instance} and {other.instance} watch the same objects: {_watched(one)} "
                    f"and {_watched(other)}"
                )
    groups: dict[str, Installed] = {}
    for one in installed:
        partners = [one] if one.type is ProviderType.CORE else [core for core in cores if core.overlaps(one)]
        if not partners:
            raise ClusterctlError(f"no core provider watches what {one.instance} watches, {_watched(one)}: install one")
        if len(partners) > 1:
            names = ", ".join(core.instance for core in partners)
            raise ClusterctlError(
                f"{one.instance} watches {_watched(one)}, where several core providers are at work ({names}): give it "
                f"the namespace of one of them"
            )
        groups[one.instance] = partners[0]
    return groups


def _watched(one: Installed) -> str:
    return f"the namespace {one.watched_namespace}" if one.watched_namespace else "all namespaces"

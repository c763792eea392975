"""Which version each provider can go to: decided from metadata alone, without asking anybody.

The core provider leads: a contract that its metadata offer from its present series on is one that all providers may go
to. `offers` fetches what is decided on here, `deed` carries a plan out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.metadata import Metadata, contract_for
from mooring.clusterctl.providers import ProviderType, manifest_label
from mooring.clusterctl.semver import Version
from mooring.clusterctl.validating import compatible_with

if TYPE_CHECKING:
    from mooring.clusterctl.inventory import Installed

# The providers of Cluster API's own releases leave out three minor versions at most, from this one on.
_SKEW_COUNTS_FROM: Final = Version(1, 10, 0)
_LARGEST_STEP: Final = 3
_OF_THE_PROJECT: Final = frozenset(
    {(ProviderType.BOOTSTRAP, "kubeadm"), (ProviderType.CONTROL_PLANE, "kubeadm")}  # and every core provider
)


@dataclass(frozen=True, slots=True)
class Releases:
    """An installed provider, and what its repository has beyond it."""

    installed: Installed
    current: Version
    newer: tuple[Version, ...]
    metadata: Metadata  # of the newest version: it knows all the others


@dataclass(frozen=True, slots=True)
class Step:
    """A provider, and the version it should have next; empty if it stays."""

    installed: Installed
    to: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One way for the whole management cluster: to the newest of everything that speaks a contract."""

    contract: str
    steps: tuple[Step, ...]

    @property
    def is_partial(self) -> bool:
        return not all(step.to for step in self.steps)

    @property
    def moves(self) -> tuple[Step, ...]:
        """Those that do not stay."""
        return tuple(step for step in self.steps if step.to)


@dataclass(frozen=True, slots=True)
class Wish:
    """A version that somebody wants for one provider."""

    name: str
    type: ProviderType
    namespace: str  # of the instance; empty if it is not installed, or if that does not say which one
    version: str

    @property
    def instance(self) -> tuple[str, str]:
        return self.namespace, manifest_label(self.name, self.type)


def instance_of(installed: Installed) -> tuple[str, str]:
    """What tells instances of providers apart: the namespace and the label."""
    return installed.namespace, installed.label


def newest(versions: Iterable[str], installed: Installed) -> str:
    """The tag of the newest of a repository's versions: its metadata are those that count."""
    found = [_version(text, f"version available for {_named(installed)}") for text in versions]
    if not found:
        raise ClusterctlError(f"the repository of {_named(installed)} has no versions")
    return max(found).tag


def releases_for(installed: Installed, versions: Iterable[str], metadata: Metadata) -> Releases:
    """What there is for a provider, if its metadata know both where it is and where it could go."""
    current = _version(installed.version, f"installed version of {_named(installed)}")
    if metadata.contract_of(current) is None:
        raise ClusterctlError(
            f"the metadata of {_named(installed)} do not list the release series of {installed.version}, which is "
            f"installed: add the series to metadata.yaml of the newest release, or use an override"
        )
    newer = []
    for text in versions:
        version = Version.parse(text)
        if not current < version:
            continue
        if metadata.contract_of(version) is None:
            raise ClusterctlError(
                f"the metadata of {_named(installed)} do not list the release series of {text}, which its repository "
                f"has: add the series to metadata.yaml of the newest release, or use an override"
            )
        newer.append(version)
    return Releases(installed, current, tuple(sorted(newer)), metadata)


def plans(everything: Sequence[Releases], *, compat: str = "") -> list[Plan]:
    """A plan for each contract that the core provider offers from where it is.

    A change of contract is for all providers or for none: plans that some could not follow are left out.
    """
    core = leading([one.installed for one in everything], compat=compat)
    lead = next(one for one in everything if one.installed is core)
    present = lead.metadata.contract_of(lead.current)
    offered = {one.contract for one in lead.metadata.series if (one.major, one.minor) >= lead.current.series}
    found = [plan_for(contract, everything) for contract in sorted(offered)]
    return [plan for plan in found if plan.contract == present or not plan.is_partial]


def plan_for(contract: str, everything: Sequence[Releases]) -> Plan:
    """Everything as new as it can be with this contract."""
    wanted = compatible_with(contract)
    return Plan(contract, tuple(Step(one.installed, _next(one, wanted)) for one in everything))


def chosen_plan(wishes: Sequence[Wish], everything: Sequence[Releases], *, compat: str = "") -> Plan:
    """What somebody asks for, if all providers still fit together afterwards."""
    core = leading([one.installed for one in everything], compat=compat)
    by_instance = {instance_of(one.installed): one for one in everything}
    wished = {wish.instance: wish.version for wish in wishes}
    contract = _contract(by_instance[instance_of(core)], wished.get(instance_of(core), core.version))
    if contract != contract_for(compat):
        raise ClusterctlError(
            f"{_named(core)} would speak the contract {contract}, and only {contract_for(compat)} can be upgraded to: "
            f"include a version of it that speaks {contract_for(compat)} with --core"
        )
    steps = tuple(_wished(wish, by_instance, contract) for wish in wishes)
    for one in everything:
        if instance_of(one.installed) not in wished:
            _fits(one, one.installed.version, contract, remedy="include it in the upgrade")
    return Plan(contract, steps)


def leading(installed: Sequence[Installed], *, compat: str = "") -> Installed:
    """The core provider. In the days of v1alpha3 there could be several; the oldest then shows what is still to do."""
    cores = [one for one in installed if one.type == ProviderType.CORE]
    if len(cores) != 1 and not (cores and compat):
        raise ClusterctlError(
            f"a management cluster has one core provider, and this one has {len(cores)}: 'clusterctl init' installs it"
        )
    return min(cores, key=lambda one: (Version.parse(one.version), one.namespace))


def refuse_long_steps(steps: Iterable[Step]) -> None:
    """The project's own providers have to be upgraded without leaving out too much."""
    for step in steps:
        one = step.installed
        if one.type != ProviderType.CORE and (one.type, one.provider_name) not in _OF_THE_PROJECT:
            continue
        current = _version(one.version, f"installed version of {_named(one)}")
        target = _version(step.to, f"version wanted for {_named(one)}")
        if current >= _SKEW_COUNTS_FROM and target.minor > current.minor + _LARGEST_STEP:
            raise ClusterctlError(
                f"{_named(one)} cannot go from {one.version} to {step.to} at once: go through "
                f"v{current.major}.{current.minor + _LARGEST_STEP} first, {_LARGEST_STEP} minor versions at a time"
            )


def in_order(steps: Iterable[Step]) -> list[Step]:
    """The core first, and every type after those that it builds on."""
    kinds = list(ProviderType)
    return sorted(steps, key=lambda step: kinds.index(step.installed.type) if step.installed.type in kinds else 99)


def _next(one: Releases, contracts: frozenset[str]) -> str:
    # A series may be listed with several contracts.
    series = {(each.major, each.minor) for each in one.metadata.series if each.contract in contracts}
    fitting = [version for version in one.newer if not version.is_prerelease and version.series in series]
    return max(fitting).tag if fitting else ""


def _wished(wish: Wish, by_instance: dict[tuple[str, str], Releases], contract: str) -> Step:
    one = by_instance.get(wish.instance)
    if one is None:
        place = "/".join(part for part in wish.instance if part)
        raise ClusterctlError(f"the provider {place} is not installed in this management cluster: see 'upgrade plan'")
    _fits(one, wish.version, contract, remedy="choose another version")
    return Step(one.installed, wish.version)


def _fits(one: Releases, version: str, contract: str, *, remedy: str) -> None:
    spoken, wanted = _contract(one, version), compatible_with(contract)
    if spoken not in wanted:
        raise ClusterctlError(
            f"{_named(one.installed)} in version {version} speaks the contract {spoken}, and the core provider works "
            f"with {', '.join(sorted(wanted))}: {remedy}"
        )


def _contract(one: Releases, version: str) -> str:
    contract = one.metadata.contract_of(_version(version, f"version wanted for {_named(one.installed)}"))
    if contract is None:
        raise ClusterctlError(
            f"the metadata of {_named(one.installed)} do not list the release series of {version}: "
            f"choose a version of a listed series"
        )
    return contract


def _version(text: str, what: str) -> Version:
    try:
        return Version.parse(text)
    except ClusterctlError as error:
        raise ClusterctlError(f"{what}: {error}") from None


def _named(installed: Installed) -> str:
    return f"{installed.namespace}/{installed.label}"

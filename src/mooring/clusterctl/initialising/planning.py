"""What ``init`` has to do: which providers, in which version and where, from what is there and what is wished for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mooring.clusterctl.applying import Progress, silent
from mooring.clusterctl.components import Components, Options, components_of
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.finding import scopes_of
from mooring.clusterctl.initialising.adopting import Stray, Strays, strays
from mooring.clusterctl.initialising.wishes import Wish, Wishes
from mooring.clusterctl.inventory import Installed, Inventory, default_name
from mooring.clusterctl.metadata import accepted_contract
from mooring.clusterctl.providers import Provider, ProviderType
from mooring.clusterctl.repository import ProviderRepository, open_repository
from mooring.clusterctl.scopes import Scopes
from mooring.clusterctl.validating import entry_of, validate

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.kube import Client


@dataclass(frozen=True, slots=True)
class Plan:
    """What is there, and what comes, in the order in which it is installed."""

    installed: tuple[Installed, ...]
    queue: tuple[Components, ...]
    skipped: tuple[Components, ...] = ()  # wished for, and there already
    first_run: bool = False


@dataclass(slots=True)
class Shelf:
    """Repositories, each opened once."""

    configuration: Configuration
    compat: str = ""
    _open: dict[Provider, asyncio.Task[ProviderRepository]] = field(default_factory=dict)

    async def repository(self, name: str, type_: ProviderType) -> ProviderRepository:
        provider = self.configuration.provider(name, type_)
        if provider not in self._open:
            opening = open_repository(provider, self.configuration, compat=self.compat)
            self._open[provider] = asyncio.ensure_future(opening)
        return await self._open[provider]

    async def contract_of(self, one: Installed) -> str:
        """The contract that a provider speaks in its version."""
        repository = await self.repository(one.provider_name, one.type)
        try:
            metadata = await repository.metadata(one.version)
        except ClusterctlError as error:
            raise type(error)(f"the contract of {one.label} {one.version} cannot be found out: {error}") from error
        return accepted_contract(metadata, one.version, label=one.label, compat=self.compat)


async def planned(
    client: Client | None,
    configuration: Configuration,
    wishes: Wishes,
    progress: Progress = silent,
    *,
    skip_template: bool = False,
) -> Plan:
    """Read everything and decide; nothing is written. Without a client, for a cluster that has nothing yet."""
    installed = await Inventory(client).list_if_defined() if client else []
    first_run = not default_name(installed, ProviderType.CORE)
    wishes = wishes.with_defaults() if first_run else wishes
    wanted = list(wishes.each())
    scopes, found = await _surroundings(client, installed) if client else (Scopes(), {})
    shelf = Shelf(configuration, wishes.compat)

    async def fetched(wish: Wish) -> Components:
        try:
            return await _components(wish, wishes, shelf, scopes, found, installed, skip_template=skip_template)
        except ClusterctlError as error:
            raise ClusterctlError(f"the components of {wish.name} ({wish.type}) cannot be had: {error}") from error

    components = await _all_or_first_failure([fetched(wish) for wish in wanted])
    known = set(installed) if not skip_template else set()
    queue = [one for one in components if not _is_known(one, known)]
    skipped = [one for one in components if _is_known(one, known)]
    plan = Plan(
        tuple(installed), tuple(sorted(queue, key=lambda one: one.provider.type.order)), tuple(skipped), first_run
    )
    if not skip_template:
        _tell(plan, found, progress)
        await _validated(plan, wishes, shelf, found, progress)
    return plan


async def _surroundings(client: Client, installed: Sequence[Installed]) -> tuple[Scopes, Strays]:
    return await asyncio.gather(scopes_of(client), strays(client, installed))


async def _components(
    wish: Wish,
    wishes: Wishes,
    shelf: Shelf,
    scopes: Scopes,
    found: Strays,
    installed: Sequence[Installed],
    *,
    skip_template: bool,
) -> Components:
    repository = await shelf.repository(wish.name, wish.type)
    options = Options(
        version=wish.version,
        target_namespace=wishes.target_namespace,
        skip_template=skip_template,
        compat=wishes.compat,
        watching_namespace=wishes.watching_namespace,
    )
    stray = _the_one(found, repository.provider, installed)
    if stray is not None and wishes.target_namespace in ("", stray.namespace):
        options = replace(options, target_namespace=stray.namespace)
        if not wish.version and await _has(repository, stray.version):
            options = replace(options, version=stray.version)
    return await components_of(shelf.configuration, repository.provider, options, repository=repository, scopes=scopes)


async def _has(repository: ProviderRepository, version: str) -> bool:
    return bool(version) and (version == repository.default_version or version in await repository.versions())


def _the_one(found: Strays, provider: Provider, installed: Sequence[Installed]) -> Stray | None:
    """The instance to take in: if there is just one, and none in the inventory."""
    there = found.get(provider.label, ())
    return there[0] if len(there) == 1 and not any(one.label == provider.label for one in installed) else None


def _is_known(components: Components, installed: set[Installed]) -> bool:
    added = entry_of(components)
    return any(
        one.same_provider(added) and (one.namespace, one.version) == (added.namespace, added.version)
        for one in installed
    )


def _tell(plan: Plan, found: Strays, progress: Progress) -> None:
    for one in plan.skipped:
        progress(f"Skipping {one.provider.label} {one.version}, which is installed already")
    wanted = {(one.provider.label, one.target_namespace) for one in plan.queue}
    for stray in (stray for places in found.values() for stray in places):
        if (stray.label, stray.namespace) in wanted:
            progress(f"Taking in {stray.label}, which is in namespace {stray.namespace} without being in the inventory")
        else:
            progress(f"Leaving {stray.label} in namespace {stray.namespace} alone, which is not in the inventory")


async def _validated(plan: Plan, wishes: Wishes, shelf: Shelf, found: Strays, progress: Progress) -> None:
    try:
        await validate(plan.installed, plan.queue, shelf.contract_of, compat=wishes.compat)
        if not wishes.compat:
            _refuse_second_beside_strays(plan, found)
    except ClusterctlError as error:
        if wishes.validate:
            raise
        progress(f"Ignoring what the validation found: {error}")


def _refuse_second_beside_strays(plan: Plan, found: Strays) -> None:
    for one in plan.queue:
        for stray in found.get(one.provider.label, ()):
            if stray.namespace != one.target_namespace:
                raise ClusterctlError(
                    f"{stray.label} runs in namespace {stray.namespace} already, without being in the inventory; "
                    f"another one in {one.target_namespace} would fight with it over the same objects. To take it in, "
                    f"use --target-namespace {stray.namespace}; otherwise delete it first"
                )


async def _all_or_first_failure(fetching: Sequence[object]) -> list[Components]:
    """All side by side; of several failures the first in the order of wishes counts."""
    outcomes = await asyncio.gather(*fetching, return_exceptions=True)  # type: ignore[call-overload]
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return list(outcomes)

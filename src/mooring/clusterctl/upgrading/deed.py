"""An upgrade, so that a kill at any point does no harm: the same call again ends in the same place.

Everything is read and decided before the first write. Then, in this order: objects are stored anew where a definition
drops the version that they are in (`migrating`), what people changed on controllers is written down (`remembering`),
all controllers are stopped, and provider by provider the old components go, the new ones
come, and the inventory says so. Until then it says the old version, so that a second call does all of it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mooring.clusterctl.applying import Progress, apply_all, persistently, silent
from mooring.clusterctl.components import Components, Options, components_of
from mooring.clusterctl.containers import has_manager
from mooring.clusterctl.deleting import Extent, delete_components
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.finding import scopes_of
from mooring.clusterctl.inventory import Installed, check_single_instances, default_namespace
from mooring.clusterctl.inventory_definition import PROVIDERS
from mooring.clusterctl.metadata import contract_for
from mooring.clusterctl.migrating import migrate
from mooring.clusterctl.notes import CHANGES, Notes, read_notes
from mooring.clusterctl.providers import ProviderType, named_provider
from mooring.clusterctl.scopes import Scopes
from mooring.clusterctl.sharing import Standing, note_release, objects_due, standing_shares
from mooring.clusterctl.upgrading.keeping import Change, carried, deployments_of
from mooring.clusterctl.upgrading.offers import Repositories, installed_for_upgrade
from mooring.clusterctl.upgrading.plan import Plan, Step, Wish, chosen_plan, in_order, plan_for, refuse_long_steps
from mooring.clusterctl.upgrading.remembering import changes_of, forget_old_notes, remembered, write_down
from mooring.clusterctl.upgrading.staying import staying
from mooring.clusterctl.upgrading.stopping import stop_controllers
from mooring.clusterctl.variables import inspect
from mooring.clusterctl.waiting import wait_until_available
from mooring.kube import Client, MergePatch, Object

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration


@dataclass(frozen=True, slots=True)
class UpgradeOptions:
    """What to upgrade: all providers to the newest of a contract, or some to the versions that are named."""

    contract: str = ""
    wanted: Sequence[tuple[ProviderType, str]] = ()  # as [namespace/]name:version
    wait_seconds: float | None = None  # for each Deployment to become available; None: not at all
    discard_changes: bool = False  # do not keep what people changed on controllers
    compat: str = ""


async def upgrade(
    client: Client, configuration: Configuration, options: UpgradeOptions, *, progress: Progress = silent
) -> list[Step]:
    """Upgrade providers; what was upgraded is returned."""
    from mooring.clusterctl.certmanager import CertManager

    if options.contract and options.contract != contract_for(options.compat):
        raise ClusterctlError(
            f"--contract {options.contract}: only {contract_for(options.compat)} can be upgraded to with this version"
        )
    installed = await installed_for_upgrade(client, compat=options.compat)
    repositories = Repositories(configuration, compat=options.compat)
    steps = in_order((await _plan(installed, options, repositories)).moves)
    if not options.compat:
        check_single_instances(installed)
    refuse_long_steps(steps)
    scopes, notes = await scopes_of(client), await read_notes(client, CHANGES)
    standing = await standing_shares(client) if options.compat else {}
    run = _Upgrade(client, configuration, options, repositories, installed, scopes, notes, progress, standing)
    every = [await run.prepared(step) for step in steps]
    await CertManager(client, configuration, progress).ensure_latest()
    await run.carry_out(every)
    return steps


async def _plan(installed: Sequence[Installed], options: UpgradeOptions, repositories: Repositories) -> Plan:
    wishes = [_wish(text, type_, installed) for type_, text in options.wanted]
    releases = await repositories.releases(installed)
    if wishes:
        return chosen_plan(wishes, releases, compat=options.compat)
    return plan_for(options.contract, releases)


def _wish(text: str, type_: ProviderType, installed: Sequence[Installed]) -> Wish:
    # With a namespace, all of it means the same in lower case; without one, only the name does.
    namespace, slash, rest = (text.lower() if "/" in text else text).rpartition("/")
    if (slash and not namespace) or "/" in namespace:
        raise ClusterctlError(f"invalid provider {text!r}: write it as name:version, or as namespace/name:version")
    name, version = named_provider(rest)
    if not version:
        raise ClusterctlError(f"invalid provider {text!r}: say to which version, as in {name}:v1.2.3")
    return Wish(name, type_, namespace or default_namespace(installed, name, type_), version)


@dataclass(slots=True)
class _Ready:
    """A provider whose next version is at hand."""

    one: Installed
    new: Components
    to_write_down: list[Change]  # empty if there is nothing, or if it is written down already


@dataclass(slots=True)
class _Upgrade:
    """One run."""

    client: Client
    configuration: Configuration
    options: UpgradeOptions
    repositories: Repositories
    installed: list[Installed]
    scopes: Scopes
    notes: Notes
    progress: Progress
    standing: Standing

    async def carry_out(self, every: Sequence[_Ready]) -> None:
        for ready in every:
            await migrate(self.client, self._objects(ready), self.progress, when_needed=True)
        await forget_old_notes(self.client, self.notes, self.installed)
        for ready in every:
            if ready.to_write_down:
                await write_down(self.client, ready.one, ready.to_write_down)
        for ready in every:
            self.progress(f"Stopping the controllers of {ready.one.instance}")
            await stop_controllers(self.client, ready.one)
        for ready in every:
            await self._replace(ready)
        if self.options.wait_seconds is not None:
            await self._wait(every, self.options.wait_seconds)

    async def prepared(self, step: Step) -> _Ready:
        """The next version of a provider, with what people changed on this one."""
        one = step.installed
        new = await self._components(one, step.to)
        if self.options.discard_changes:
            return _Ready(one, new, [])
        before = remembered(self.notes, one)
        found = before if before is not None else await self._changes(one, new)
        kept = carried(
            new.objects, found, templates=await self._templates(step) if found else {}, is_set_today=self._is_set_today
        )
        new.objects = kept.objects
        for told in kept.kept:
            self.progress(f"Kept, as it was changed: {told}")
        for told in kept.dropped:
            self.progress(f"Not kept, although it was changed: {told}")
        return _Ready(one, new, found if before is None else [])

    async def _changes(self, one: Installed, new: Components) -> list[Change]:
        try:
            released = await self._components(one, one.version)
        except ClusterctlError as error:
            self.progress(
                f"Changes to the controllers of {one.instance} are not kept, since version {one.version}, which is "
                f"installed, cannot be read to compare: {error}"
            )
            return []
        return await changes_of(
            self.client, one, released=deployments_of(released.objects), new=deployments_of(new.objects)
        )

    async def _templates(self, step: Step) -> Mapping[str, Object]:
        """The Deployments of the new version with their variables: it matters which are set today."""
        try:
            raw = await self._components(step.installed, step.to, skip_template=True)
        except ClusterctlError:
            return {}  # some files are not even YAML before their variables are replaced
        return deployments_of(raw.objects)

    def _is_set_today(self, text: str) -> bool:
        if "${" not in text:
            return False
        try:
            return any(self.configuration.variable(name) is not None for name in inspect(text))
        except ClusterctlError:
            return False

    async def _components(self, one: Installed, version: str, *, skip_template: bool = False) -> Components:
        compat = self.options.compat
        options = Options(
            version=version,
            target_namespace=one.namespace,
            skip_template=skip_template,
            compat=compat,
            watching_namespace=one.watched_namespace if compat else "",
        )
        repository = await self.repositories.of(one)
        return await components_of(
            self.configuration, repository.provider, options, repository=repository, scopes=self.scopes
        )

    def _objects(self, ready: _Ready) -> list[Object]:
        """What is to be applied. What instances share follows the newest of them, and never goes back."""
        return objects_due(ready.new, self.installed, self.standing)

    async def _replace(self, ready: _Ready) -> None:
        one, new = ready.one, ready.new
        self.progress(f"Replacing {one.instance}, version {one.version}, by version {new.version}")
        objects = self._objects(ready)
        await delete_components(
            self.client,
            one,
            installed=self.installed,
            extent=Extent(compat=self.options.compat),
            stays=staying(one, objects),
            until_gone=True,
        )
        await apply_all(self.client, objects)
        await note_release(self.client, objects, new.version)
        await self._write_inventory(one, new)
        updated = replace(one, version=new.version)
        self.installed = [updated if each is one else each for each in self.installed]

    async def _write_inventory(self, one: Installed, new: Components) -> None:
        """The new version, and in the same write, that nothing has to be remembered any more."""
        body = new.inventory_object()
        body["metadata"] |= {"name": one.name, "annotations": {CHANGES: None}}

        async def deed() -> None:
            await self.client.patch(PROVIDERS, one.name, MergePatch(body), namespace=one.namespace)

        await persistently(deed, what=f"the inventory of {one.instance} cannot be written")

    async def _wait(self, every: Iterable[_Ready], seconds: float) -> None:
        self.progress("Waiting for the providers to be available")
        for deployment in (each for ready in every for each in ready.new.objects if has_manager(each)):
            await wait_until_available(self.client, deployment, seconds=seconds)

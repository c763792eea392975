"""Deleting providers, so that a kill at any point does no harm: the same call again finishes what is left.

What says that a provider is there, its inventory, goes last: after all that is cluster-wide of all providers, and with
the namespace where that goes. Of several providers each has a note of all of them, for a second call that does not
find the first any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mooring.clusterctl.applying import Progress, persistently, side_by_side, silent
from mooring.clusterctl.compat import WEBHOOK_NAMESPACE
from mooring.clusterctl.deleting.choosing import (
    Choice,
    Extent,
    chosen,
    components_to_delete,
    namespace_of_instance,
    others_of,
    refuse_taking_from_others,
)
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.finding import labelled
from mooring.clusterctl.inventory import Installed, Inventory
from mooring.clusterctl.metadata import contract_for
from mooring.clusterctl.migrating import resource_of
from mooring.clusterctl.notes import DELETED_WITH, read_notes, write_note
from mooring.clusterctl.objects import described, kind_of, name_of, namespace_of, text_at
from mooring.clusterctl.providers import CLUSTERCTL_LABEL, PROVIDER_LABEL
from mooring.clusterctl.waiting import DEFINITIONS, wait_for
from mooring.kube import Client, Object, Resource, key_of, metadata_of, uid_of
from mooring.kube.errors import Conflict, NotFound

_NAMED_AT_MOST: Final = 5
_GONE_WITHIN: Final = 120.0  # seconds for finalizers to be done with an object


async def delete_providers(
    client: Client, choice: Choice, extent: Extent, *, progress: Progress = silent
) -> list[Installed]:
    """Delete the providers that are meant; they are returned."""
    inventory = Inventory(client)
    installed = await _installed(inventory, extent)
    going = chosen(installed, choice, done_before=await _done_before(client, choice))
    if extent.definitions:
        refuse_taking_from_others(going, installed)
        await _refuse_with_objects(client, going)
    if len(going) > 1:
        told = " ".join(sorted(one.label for one in going))
        await side_by_side([write_note(client, one, DELETED_WITH, told) for one in going])
    namespaces: dict[str, Object] = {}
    for place, one in enumerate(going):
        progress(f"Deleting provider {one.instance}, version {one.version}")
        # Of several instances the last one takes along what cannot be told apart.
        left = [other for other in installed if other not in going[:place]]
        namespace = await delete_components(client, one, installed=left, extent=extent)
        if namespace is not None:
            namespaces[one.namespace] = namespace
            _tell_about_others(one.namespace, installed, going, progress)
    for one in going:
        if one.namespace not in namespaces:
            await inventory.delete(one)
    await side_by_side([_delete(client, one) for one in namespaces.values()])
    return going


async def delete_components(
    client: Client,
    one: Installed,
    *,
    installed: Sequence[Installed],
    extent: Extent,
    stays: Callable[[Object], bool] = lambda _: False,
    until_gone: bool = False,
) -> Object | None:
    """Delete what belongs to an instance, but not its inventory, nor its namespace: if that should go, it is returned.

    What ``stays`` says of, is left alone.
    """
    places = [one.namespace, *([WEBHOOK_NAMESPACE] if extent.compat and extent.definitions else [])]
    found = await labelled(client, _labels(one), places)
    others = others_of(one, installed)
    for wave in components_to_delete(found, one, others=others, extent=extent):
        await side_by_side([_delete(client, each, until_gone=until_gone) for each in wave if not stays(each)])
    return namespace_of_instance(found, one) if extent.namespace else None


def _labels(one: Installed) -> dict[str, str]:
    return {CLUSTERCTL_LABEL: "", PROVIDER_LABEL: one.label}


async def _installed(inventory: Inventory, extent: Extent) -> list[Installed]:
    """What is there. Definitions of Cluster API may be gone already, with an earlier call that was interrupted."""
    there = await inventory.list_if_defined()
    await inventory.check_contract(contract=contract_for(extent.compat), may_be_absent=bool(there))
    await inventory.ensure_definitions()
    return await inventory.list()


async def _done_before(client: Client, choice: Choice) -> set[str]:
    if choice.everything:
        return set()
    return {label for told in (await read_notes(client, DELETED_WITH)).values() for label in told.split()}


async def _refuse_with_objects(client: Client, going: Sequence[Installed]) -> None:
    """Definitions go only when nothing is left that they define."""
    left: list[str] = []
    for one in going:
        selector = ",".join(f"{key}={value}" for key, value in _labels(one).items())
        for definition in (await client.list(DEFINITIONS, label_selector=selector)).items:
            resource = resource_of(definition)
            names = await _names(client, resource)
            if names:
                more = f" and {len(names) - _NAMED_AT_MOST} more" if len(names) > _NAMED_AT_MOST else ""
                left.append(f"{resource.kind} {', '.join(names[:_NAMED_AT_MOST])}{more} (of {one.label})")
    if left:
        raise ClusterctlError(
            f"--include-crd would delete these with their definitions, and leave what they stand for without an owner: "
            f"{'; '.join(left)}. Delete them first"
        )


async def _names(client: Client, resource: Resource[Object]) -> list[str]:
    """Of all objects of a kind. One that has just gone has none."""
    try:
        return [str(key_of(one)) for one in (await client.list(metadata_of(resource))).items]
    except NotFound:
        return []


def _tell_about_others(
    namespace: str, installed: Sequence[Installed], going: Sequence[Installed], progress: Progress
) -> None:
    for other in installed:
        if other.namespace == namespace and other not in going:
            progress(f"Provider {other.instance} goes with its namespace, too")


async def _delete(client: Client, obj: Object, *, until_gone: bool = False) -> None:
    """Delete exactly this object: another one of its name stays."""
    resource = await client.resource(text_at(obj, "apiVersion"), kind_of(obj))
    where = namespace_of(obj) or None

    async def deed() -> bool:
        try:
            return await client.delete(resource, name_of(obj), namespace=where, uid=uid_of(obj)) is not None
        except (NotFound, Conflict):
            return False

    left = await persistently(deed, what=f"{described(obj)} cannot be deleted")
    # Whoever installs the provider again would otherwise write into a definition that is about to go.
    if not left or not (until_gone or kind_of(obj) == DEFINITIONS.kind):
        return

    def look(now: Object | None) -> bool:
        return now is None or uid_of(now) != uid_of(obj)

    if not await wait_for(client, resource, name_of(obj), namespace=where, look=look, seconds=_GONE_WITHIN):
        raise ClusterctlError(
            f"{described(obj)} is being deleted, and held by finalizers after {_GONE_WITHIN:g} seconds: see who does"
        )

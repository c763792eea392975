"""What people changed on controllers: found on the running Deployments, and written down while these are replaced.

The note is on the inventory object, and says of which version it is: when the inventory says another one, it is of no
use any more. Neighbours: `keeping` compares, `deed` applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mooring.clusterctl.inventory import Installed
from mooring.clusterctl.notes import CHANGES, Notes, write_note
from mooring.clusterctl.objects import name_of
from mooring.clusterctl.providers import CLUSTERCTL_LABEL, PROVIDER_LABEL
from mooring.clusterctl.upgrading.keeping import Change, wishes
from mooring.clusterctl.upgrading.settings import Part
from mooring.clusterctl.waiting import DEPLOYMENTS
from mooring.kube import Client, Object
from mooring.kube.errors import ApiError

_LONGEST_NAME = 40  # of a Deployment that is only tried


class _Note(msgspec.Struct, frozen=True):
    version: str
    wishes: list[Change]


def remembered(notes: Notes, one: Installed) -> list[Change] | None:
    """What an interrupted upgrade of this version has written down; None if there is nothing."""
    text = notes.get((one.namespace, one.name))
    try:
        note = msgspec.json.decode(text, type=_Note) if text is not None else None
    except msgspec.MsgspecError:
        return None
    return note.wishes if note is not None and note.version == one.version else None


async def write_down(client: Client, one: Installed, found: list[Change]) -> None:
    text = msgspec.json.encode(_Note(one.version, found)).decode()
    await write_note(client, one, CHANGES, text)


async def forget_old_notes(client: Client, notes: Notes, installed: Iterable[Installed]) -> None:
    """Notes of versions that are no longer there: another clusterctl finished what we began."""
    for one in installed:
        if (one.namespace, one.name) in notes and remembered(notes, one) is None:
            await write_note(client, one, CHANGES, None)


async def controllers_of(client: Client, one: Installed) -> dict[str, Object]:
    """The Deployments of a provider, as they are."""
    selector = f"{CLUSTERCTL_LABEL}=,{PROVIDER_LABEL}={one.label}"
    found = await client.list(DEPLOYMENTS, namespace=one.namespace, label_selector=selector)
    return {name_of(each): each for each in found.items}


async def changes_of(
    client: Client, one: Installed, *, released: Mapping[str, Object], new: Mapping[str, Object]
) -> list[Change]:
    """What differs between the release that is installed and the controllers that run."""
    running = await controllers_of(client, one)
    tried: dict[str, Object | None] = {
        name: await _tried(client, released[name]) for name in running if name in released
    }
    known = {name: each or released[name] for name, each in tried.items()}
    found = wishes(known, running, new)
    # Without the server's own spelling of a release, only what it leaves as it is can be compared.
    return [wish for wish in found if tried.get(wish.deployment) or wish.part in (Part.ARGS, Part.REPLICAS)]


async def _tried(client: Client, deployment: Object) -> Object | None:
    """A Deployment as the server would store it: defaults are filled in, and amounts written in its way."""
    metadata = {**deployment["metadata"], "name": f"{name_of(deployment)[:_LONGEST_NAME].rstrip('.-')}-compared"}
    try:
        return await client.create(DEPLOYMENTS, {**deployment, "metadata": metadata}, dry_run=True)
    except ApiError:
        return None

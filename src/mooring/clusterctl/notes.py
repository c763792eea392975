"""What a run must not forget when it is killed, kept where the next one looks: in annotations of the inventory.

The other clusterctl neither reads nor removes these; a note that no longer fits what it says of itself means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.applying import persistently
from mooring.clusterctl.inventory_definition import PROVIDERS
from mooring.clusterctl.objects import texts_at
from mooring.kube import Client, MergePatch, key_of
from mooring.kube.errors import NotFound

if TYPE_CHECKING:
    from mooring.clusterctl.inventory import Installed

CHANGES: Final = "mooring.dev/changes-to-keep"  # of an upgrade: what people changed on controllers
DELETED_WITH: Final = "mooring.dev/deleted-with"  # of a deletion: all that it was to delete

Notes = Mapping[tuple[str, str], str]  # by namespace and name of the inventory object


async def read_notes(client: Client, note: str) -> Notes:
    """All notes of a kind that are there."""
    found = {key_of(one): texts_at(one, "annotations").get(note) for one in (await client.list(PROVIDERS)).items}
    return {(key.namespace, key.name): text for key, text in found.items() if text is not None}


async def write_note(client: Client, installed: Installed, note: str, text: str | None) -> None:
    """Write a note, or with None, remove it."""

    async def deed() -> None:
        patch = MergePatch({"metadata": {"annotations": {note: text}}})
        try:
            await client.patch(PROVIDERS, installed.name, patch, namespace=installed.namespace)
        except NotFound:
            if text is not None:
                raise

    await persistently(deed, what=f"the inventory of {installed.instance} cannot be written")

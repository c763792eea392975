"""Looking at doors without touching them."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.entry.doors import Door
from mooring.entry.opening import Part, _is_so, _part, together
from mooring.entry.resources import PARTS
from mooring.kube import Client, Object, key_of


async def parts_selected(client: Client, selector: str) -> dict[Part, Object]:
    """Everything in the cluster that doors are made of, as far as its labels are selected."""
    listings = await together(*(client.list(resource, label_selector=selector) for resource in PARTS.values()))
    # Objects in a list do not say their kind.
    return {(kind, key_of(one)): one for kind, listing in zip(PARTS, listings, strict=True) for one in listing.items}


def is_whole(door: Door, parts: Mapping[Part, Object]) -> bool:
    """Whether these are the parts of the door, all of them as they should be, and no others."""
    wanted = {_part(one): one for one in door.objects}
    return wanted.keys() == parts.keys() and all(_is_so(parts[part], one) for part, one in wanted.items())

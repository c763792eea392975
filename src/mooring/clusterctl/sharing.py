"""What all instances of a provider share (`compat`): which release it is of, and when another takes its place.

It follows the newest instance that there is or was, and never goes back: what is there once may be all that can read
what is stored. The inventory tells of instances that are there; of those that are gone, or of an init that was killed
before it came to the inventory, a note on the definitions tells. It is written last: what is half done counts for
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.applying import persistently, side_by_side
from mooring.clusterctl.compat import SHARED
from mooring.clusterctl.components import Components
from mooring.clusterctl.inventory import Installed, instances_of
from mooring.clusterctl.objects import kind_of, name_of, texts_at
from mooring.clusterctl.providers import LIFECYCLE_LABEL, PROVIDER_LABEL
from mooring.clusterctl.semver import Version
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import MergePatch

if TYPE_CHECKING:
    from mooring.kube import Client, Object

OF_RELEASE: Final = "mooring.dev/shared-release"

Standing = Mapping[str, Version]  # by the label of the provider: the newest release that shared objects are of


async def standing_shares(client: Client) -> Standing:
    """What is shared now, as far as it says so: what another clusterctl has installed does not."""
    found: dict[str, Version] = {}
    listing = await client.list(DEFINITIONS, label_selector=f"{LIFECYCLE_LABEL}={SHARED}")
    for one in listing.items:
        label = texts_at(one, "labels").get(PROVIDER_LABEL, "")
        version = Version.read(texts_at(one, "annotations").get(OF_RELEASE, ""))
        if version is not None and (label not in found or found[label] < version):
            found[label] = version
    return found


def objects_due(components: Components, there: Iterable[Installed], standing: Standing) -> list[Object]:
    """The objects to apply: what is shared is among them where it is newer than what there is."""
    return components.all_objects if _is_newest(components, there, standing) else components.objects


async def note_release(client: Client, applied: Iterable[Object], version: str) -> None:
    """Write down which release the shared ones among these objects are of, now that all of them are there."""
    shared = [one for one in applied if texts_at(one, "labels").get(LIFECYCLE_LABEL) == SHARED]
    patch = MergePatch({"metadata": {"annotations": {OF_RELEASE: version}}})

    async def noted(name: str) -> None:
        await persistently(
            lambda: client.patch(DEFINITIONS, name, patch), what=f"{DEFINITIONS.kind} {name} cannot be annotated"
        )

    await side_by_side([noted(name_of(one)) for one in shared if kind_of(one) == DEFINITIONS.kind])


def _is_newest(components: Components, there: Iterable[Installed], standing: Standing) -> bool:
    mine, label = Version.parse(components.version), components.provider.label
    others = instances_of(there, components.provider.name, components.provider.type)
    if label in standing and mine < standing[label]:
        return False
    return all(Version.parse(one.version) < mine for one in others)

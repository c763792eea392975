"""Objects into the version that their definition stores, so that a newer definition may drop the versions before.

A definition that leaves out a version in which objects may still be stored is refused by the server. Writing every
object once, unchanged, stores it anew; then the definition can say that nothing is left in older versions. This needs
whoever converts the objects: do it before a provider is scaled down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mooring.clusterctl.applying import Progress, persistently, side_by_side, silent
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import at, described, kind_of, name_of, text_at
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import Client, MergePatch, Object, Resource, revision_of, untyped
from mooring.kube.errors import Conflict, NotFound

_PAGE: Final = 500


async def migrate(
    client: Client, objects: Iterable[Object], progress: Progress = silent, *, when_needed: bool = False
) -> None:
    """For each definition among the new objects: leave nothing in another version than the one that is stored now.

    With ``when_needed`` only where the new definition drops a version that something may be stored in.
    """
    outdated: list[Object] = []
    for new in objects:
        if kind_of(new) != DEFINITIONS.kind:
            continue
        try:
            there = await client.get(DEFINITIONS, name_of(new))
        except NotFound:
            continue
        if left_behind(there, new, when_needed=when_needed):
            outdated.append(there)
    for there in outdated:
        await _migrate(client, there, progress)


def left_behind(there: Object, new: Object, *, when_needed: bool = False) -> set[str]:
    """The versions that objects have to be brought out of; an error if the new definition makes that impossible."""
    kept = {str(one.get("name", "")) for one in at(new, "spec", "versions") or ()}
    stored = stored_version(there)
    older = set(at(there, "status", "storedVersions") or ()) - {stored}
    if stored not in kept:
        raise ClusterctlError(
            f"CustomResourceDefinition {name_of(new)} stores its objects in version {stored}, which the new one does "
            f"not have: upgrade to a release in between that has both"
        )
    return older - kept if when_needed else older


def stored_version(definition: Object) -> str:
    """The version that objects are stored in from now on."""
    for one in at(definition, "spec", "versions") or ():
        if one.get("storage"):
            return str(one["name"])
    raise ClusterctlError(f"{described(definition)} has no version that is stored")


def resource_of(definition: Object) -> Resource[Object]:
    """How objects of a definition are read and written: in the version that they are stored in."""
    return untyped(
        group=text_at(definition, "spec", "group"),
        version=stored_version(definition),
        plural=text_at(definition, "spec", "names", "plural"),
        kind=text_at(definition, "spec", "names", "kind"),
        namespaced=at(definition, "spec", "scope") == "Namespaced",
    )


async def _migrate(client: Client, definition: Object, progress: Progress) -> None:
    resource = resource_of(definition)
    listing = await client.list(resource, page=_PAGE)
    progress(f"Storing {len(listing.items)} objects of kind {resource.kind} in version {resource.version}")
    await side_by_side([_written(client, resource, one) for one in listing.items])

    async def deed() -> None:
        # Others write here too, certificates of webhooks for example: only another stored version would matter.
        now = await client.get(DEFINITIONS, name_of(definition))
        if stored_version(now) != resource.version:
            raise ClusterctlError(f"{described(definition)} was changed while its objects were stored anew: run again")
        stored = {
            "metadata": {"resourceVersion": revision_of(now)},
            "status": {"storedVersions": [resource.version]},
        }
        await client.patch(DEFINITIONS, name_of(definition), MergePatch(stored), subresource="status")

    await persistently(deed, what=f"the stored versions of {described(definition)} cannot be written")


async def _written(client: Client, resource: Resource[Object], obj: Object) -> None:
    async def deed() -> None:
        try:
            await client.replace(resource, obj)
        except (NotFound, Conflict):
            return  # it is gone, or somebody else has just written it

    await persistently(deed, what=f"{described(obj)} cannot be stored anew")

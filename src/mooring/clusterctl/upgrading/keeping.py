"""What people changed on running controllers, and how it gets through an upgrade: three tables side by side.

The release that is installed says how a Deployment was; the one that runs, how it is; what differs was somebody's wish
(`wishes`). The new release gets these wishes (`carried`), unless it has nothing any more that they could apply to, or a
variable that is set today says otherwise. All of this decides, and asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mooring.clusterctl.containers import containers_of, images_of
from mooring.clusterctl.objects import kind_of, name_of
from mooring.clusterctl.upgrading.settings import Part, Place, alike, settings_of, shown, with_settings
from mooring.kube import Object

IsSetToday = Callable[[str], bool]  # whether a text of the new release has a variable that somebody has set


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One setting that is not as the installed release has it. It is written down while the Deployment is replaced."""

    deployment: str
    part: Part
    container: str = ""
    name: str = ""
    item: str = ""
    was: Any = None  # None: it was not there
    now: Any = None  # None: it was taken away

    @property
    def place(self) -> Place:
        return Place(self.container, self.part, self.name, self.item)

    def __str__(self) -> str:
        where = f"container {self.container} of " if self.container else ""
        return f"{shown(self.place, self.now)} in {where}Deployment {self.deployment}"


@dataclass(frozen=True, slots=True)
class Carried:
    """The new objects with what was wished, and what became of each wish."""

    objects: list[Object]
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def deployments_of(objects: Iterable[Object]) -> dict[str, Object]:
    """By their names: all are in one namespace."""
    return {name_of(one): one for one in objects if kind_of(one) == "Deployment"}


def wishes(installed: Mapping[str, Object], running: Mapping[str, Object], new: Mapping[str, Object]) -> list[Change]:
    """What was changed on the running Deployments.

    One that has the images of the new release is what an upgrade left that did not get to its end.
    """
    found: list[Change] = []
    for name, live in running.items():
        release = installed.get(name)
        if name in new and (release is None or _is_already_new(live, release, new[name])):
            release = new[name]
        if release is not None:
            found += _differences(name, settings_of(release), settings_of(live))
    return found


def carried(
    objects: Sequence[Object],
    wished: Iterable[Change],
    *,
    templates: Mapping[str, Object] | None = None,
    is_set_today: IsSetToday = lambda _: False,
) -> Carried:
    """The components of the new release with these wishes. ``templates`` are its Deployments before substitution."""
    result = Carried(list(objects))
    by_deployment: dict[str, list[Change]] = {}
    for wish in wished:
        by_deployment.setdefault(wish.deployment, []).append(wish)
    known = deployments_of(objects)
    for name, some in by_deployment.items():
        if name not in known:
            result.dropped.extend(f"{wish}: the new version has no such Deployment" for wish in some)
            continue
        changed = _carry(known[name], some, (templates or {}).get(name), is_set_today, result)
        result.objects[:] = [changed if one is known[name] else one for one in result.objects]
    return result


def _carry(
    deployment: Object, some: Iterable[Change], template: Object | None, is_set_today: IsSetToday, result: Carried
) -> Object:
    new = settings_of(deployment)
    raw = settings_of(template) if template is not None else {}
    containers = {str(one.get("name", "")) for one in containers_of(deployment)}
    changes: dict[Place, Any] = {}
    for wish in some:
        if new.get(wish.place) == wish.now:
            continue
        reason = _against(wish, new, raw, containers, is_set_today)
        if reason:
            result.dropped.append(f"{wish}: {reason}")
        else:
            changes[wish.place] = wish.now
            result.kept.append(f"{wish}{_instead(wish, new)}")
    return with_settings(deployment, changes)


def _against(
    wish: Change, new: Mapping[Place, Any], raw: Mapping[Place, Any], containers: set[str], is_set_today: IsSetToday
) -> str:
    """Why this wish cannot be kept; empty if it can."""
    place = wish.place
    if place.container and place.container not in containers:
        return "the new version has no such container"
    if any(is_set_today(str(value)) for value in _about(place, raw)):
        return f"variables that are set today say {shown(place, new.get(place))}"
    if place.item and place.part is Part.ARGS and Place(place.container, place.part, place.name) in new:
        return f"the new version has {shown(place._replace(item=''), new[place._replace(item='')])}"
    # A flag that a controller does not know any more would keep it from starting.
    was_there = wish.was is not None and wish.now is not None and not _about(place, new)
    if was_there and place.part in (Part.ARGS, Part.ENV):
        return "the new version does not have it any more"
    return ""


def _about(place: Place, table: Mapping[Place, Any]) -> list[Any]:
    """What a table says of a setting: of a flag, all its settings; of a setting, also the flag if that is one value."""
    flag = place._replace(item="")
    same = (one for one in table if one._replace(item="") == flag)
    if place.part is not Part.ARGS:
        return [table[place]] if place in table else []
    return [table[one] for one in same if not place.item or one.item in ("", place.item)]


def _instead(wish: Change, new: Mapping[Place, Any]) -> str:
    there = new.get(wish.place)
    return f" (the new version has {shown(wish.place, there)})" if there is not None else ""


def _differences(name: str, release: Mapping[Place, Any], live: Mapping[Place, Any]) -> Iterable[Change]:
    release, live = alike(release, live)
    for place in {**release, **live}:
        was, now = release.get(place), live.get(place)
        # No replicas at all are what an upgrade leaves that was interrupted.
        if was == now or (place.part is Part.REPLICAS and not now):
            continue
        yield Change(name, place.part, place.container, place.name, place.item, was, now)


def _is_already_new(live: Object, release: Object, new: Object) -> bool:
    images = images_of([live])
    return images != images_of([release]) and images == images_of([new])

"""The settings of a Deployment that people change by hand: flags of its containers, their environment and resources,
and how many replicas there are. Read as a flat table, and written back into a Deployment.

A flag whose value is a list of settings itself, as ``--feature-gates=A=true,B=false``, has a row for each of them: one
can be changed while others come and go with releases.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from mooring.clusterctl.containers import containers_of
from mooring.clusterctl.objects import at
from mooring.kube import Object

_SETTING: Final = re.compile(r"[A-Za-z0-9_./-]+=.*", re.DOTALL)


class Part(StrEnum):
    """What a setting belongs to."""

    REPLICAS = "replicas"
    ARGS = "args"
    ENV = "env"
    RESOURCES = "resources"


class Place(NamedTuple):
    """Where in a Deployment a setting is. ``item`` is one of several in the value of a flag, or a kind of resource."""

    container: str  # empty for what belongs to the Deployment itself
    part: Part
    name: str = ""
    item: str = ""


def settings_of(deployment: Object) -> dict[Place, Any]:
    """The table of a Deployment. The value of a flag is the list of words that say it."""
    found: dict[Place, Any] = {}
    replicas = at(deployment, "spec", "replicas")
    if replicas is not None:
        found[Place("", Part.REPLICAS)] = replicas
    for container in containers_of(deployment):
        found.update(_of_container(str(container.get("name", "")), container))
    return found


def alike(one: Mapping[Place, Any], other: Mapping[Place, Any]) -> tuple[dict[Place, Any], dict[Place, Any]]:
    """Two tables in which each flag has either one row in both, or rows for its settings in both."""
    whole = {place for table in (one, other) for place in table if place.part is Part.ARGS and not place.item}
    return _with_whole(one, whole), _with_whole(other, whole)


def with_settings(deployment: Object, changes: Mapping[Place, Any]) -> Object:
    """The Deployment with these settings; None takes one away. Containers that it does not have are passed over."""
    changed = copy.deepcopy(deployment)
    for place, value in changes.items():
        if place.part is Part.REPLICAS:
            changed["spec"]["replicas"] = value
    for container in containers_of(changed):
        own = {place: value for place, value in changes.items() if place.container == container.get("name")}
        if own:
            _change(container, own)
    return changed


def shown(place: Place, value: Any) -> str:
    """A setting, for people."""
    match place.part:
        case Part.REPLICAS:
            return f"{value} replicas"
        case Part.ARGS if place.item:
            return f"{place.name} {place.item}={value}" if value is not None else f"no {place.item} in {place.name}"
        case Part.ARGS:
            return " ".join(value) if value is not None else f"no {place.name}"
        case Part.ENV:
            # Not its value: that may be a secret.
            return f"{'its own' if value is not None else 'no'} variable {place.name}"
    return f"{place.name}.{place.item} {value if value is not None else 'unset'}"


def _with_whole(table: Mapping[Place, Any], whole: set[Place]) -> dict[Place, Any]:
    made: dict[Place, Any] = {}
    for place, value in table.items():
        flag = place._replace(item="")
        if flag not in whole or place == flag or place.part is not Part.ARGS:
            made[place] = value
        elif flag in made:
            made[flag] = [f"{made[flag][0]},{place.item}={value}"]
        else:
            made[flag] = [f"{place.name}={place.item}={value}"]
    return made


def _of_container(name: str, container: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    for flag in _flags(container.get("args") or ()):
        if not flag.name:
            continue
        if flag.items is None:
            yield Place(name, Part.ARGS, flag.name), flag.words
        else:
            yield from ((Place(name, Part.ARGS, flag.name, item), value) for item, value in flag.items.items())
    for variable in container.get("env") or ():
        yield Place(name, Part.ENV, str(variable.get("name", ""))), variable
    for kind in ("limits", "requests"):
        for item, amount in (at(container, "resources", kind) or {}).items():
            yield Place(name, Part.RESOURCES, kind, str(item)), amount


def _change(container: dict[str, Any], changes: Mapping[Place, Any]) -> None:
    flags = _flags(container.get("args") or ())
    for place, value in changes.items():
        match place.part:
            case Part.ARGS:
                _change_flag(flags, place, value)
            case Part.ENV:
                container["env"] = _variables(container.get("env") or (), place.name, value)
            case Part.RESOURCES:
                amounts = container.setdefault("resources", {}).setdefault(place.name, {})
                amounts.pop(place.item, None)
                amounts.update({} if value is None else {place.item: value})
    if any(place.part is Part.ARGS for place in changes):
        container["args"] = [word for flag in flags for word in flag.said()]


def _variables(variables: Sequence[Any], name: str, value: Any) -> list[Any]:
    """In their order: a variable may refer to those in front of it."""
    changed = [value if one.get("name") == name else one for one in variables]
    if not any(one.get("name") == name for one in variables):
        changed.append(value)
    return [one for one in changed if one is not None]


@dataclass(slots=True)
class _Flag:
    """A flag with all its words, wherever they stood; or, without a name, words that belong to none."""

    name: str
    words: list[str] = field(default_factory=list)
    items: dict[str, str] | None = None  # if its value is a list of settings

    def said(self) -> list[str]:
        if self.items is None:
            return self.words
        told = ",".join(f"{item}={value}" for item, value in self.items.items())
        return [f"{self.name}={told}"] if told else []


def _flags(words: Sequence[Any]) -> list[_Flag]:
    found: dict[str, _Flag] = {}
    in_order: list[_Flag] = []
    texts = [str(word) for word in words]
    at_word = 0
    while at_word < len(texts):
        word, name = texts[at_word], texts[at_word].partition("=")[0]
        if not word.startswith("-") or word in ("-", "--"):
            in_order.append(_Flag("", [word]))
            at_word += 1
            continue
        following = texts[at_word + 1 : at_word + 2]
        takes = "=" not in word and following and not following[0].startswith("-")
        said = [word, *following] if takes else [word]
        if name not in found:
            found[name] = _Flag(name)
            in_order.append(found[name])
        found[name].words += said
        at_word += len(said)
    for flag in found.values():
        flag.items = _items(flag)
    return in_order


def _items(flag: _Flag) -> dict[str, str] | None:
    if len(flag.words) != 1:
        return None
    items = flag.words[0].partition("=")[2].split(",")
    if not all(_SETTING.fullmatch(item) for item in items):
        return None
    return {name: value for name, _, value in (item.partition("=") for item in items)}


def _change_flag(flags: list[_Flag], place: Place, value: Any) -> None:
    flag = next((one for one in flags if one.name == place.name), None)
    if flag is None:
        flag = _Flag(place.name, items={} if place.item else None)
        flags.append(flag)
    if not place.item:
        flag.words, flag.items = list(value or ()), None
    elif flag.items is not None:
        if value is None:
            flag.items.pop(place.item, None)
        else:
            flag.items[place.item] = value

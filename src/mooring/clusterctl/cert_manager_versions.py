"""Whether the cert-manager that is there should give way to another: decided from its objects alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from mooring.clusterctl.containers import images_of
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import described, kind_of, texts_at
from mooring.clusterctl.semver import Version
from mooring.kube import Object

VERSION_ANNOTATION: Final = "cert-manager.clusterctl.cluster.x-k8s.io/version"
# Before there was the annotation, this was the version that clusterctl installed.
_WITHOUT_ANNOTATION: Final = "v0.11.0"
_MADE_BY_THE_SERVER: Final = frozenset({"Endpoints", "EndpointSlice"})


@dataclass(frozen=True, slots=True)
class Upgrade:
    """From which version to which, and whether that is needed. ``is_ours`` False: somebody else looks after it."""

    current: str = ""
    target: str = ""
    needed: bool = False
    is_ours: bool = True

    @classmethod
    def not_ours(cls) -> Self:
        return cls(is_ours=False)


def upgrade_of(there: Iterable[Object], wanted: Sequence[Object], version: str) -> Upgrade:
    """Older parts are upgraded; parts of the same version only if their number or their images have changed."""
    there = [one for one in there if kind_of(one) not in _MADE_BY_THE_SERVER]
    target = _read(version, "cert-manager.version in the configuration file")
    current = ""
    for one in there:
        told = texts_at(one, "annotations").get(VERSION_ANNOTATION)
        if told is None:
            return Upgrade(_WITHOUT_ANNOTATION, version, needed=True)
        current = told
        order = _compared(_read(told, f"{VERSION_ANNOTATION} of {described(one)}"), target)
        if order is None or order < 0 or (order == 0 and _differ(there, wanted)):
            return Upgrade(current, version, needed=True)
    return Upgrade(current, version)


def _differ(there: Sequence[Object], wanted: Sequence[Object]) -> bool:
    return len(there) != len(wanted) or sorted(images_of(there)) != sorted(images_of(wanted))


def _read(text: str, where: str) -> Version:
    """A version in which minor and patch may be missing, and numbers may begin with zeros."""
    head, rest = re.fullmatch(r"v?([0-9.]*)(.*)", text.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    numbers = [number and (number.lstrip("0") or "0") for number in head.split(".")]
    full = [*numbers, *["0"] * (3 - len(numbers))] if not rest else numbers
    found = Version.read(".".join(full) + rest)
    if not head or found is None:
        raise ClusterctlError(f"{where} is {text!r}, which is not a version: write it like v1.2.3")
    return found


def _compared(one: Version, other: Version) -> int | None:
    """Less than, equal to or greater than zero; None where only builds differ, in a way that has no order."""
    if one != other:
        return -1 if one < other else 1
    left, right = (version.build.split(".") if version.build else [] for version in (one, other))
    for mine, theirs in zip(left, right, strict=False):
        if mine.isdigit() and theirs.isdigit():
            if int(mine) != int(theirs):
                return -1 if int(mine) < int(theirs) else 1
        elif mine.isdigit() != theirs.isdigit():
            return -1 if mine.isdigit() else 1
        elif mine != theirs:
            return None
    return (len(left) > len(right)) - (len(left) < len(right))

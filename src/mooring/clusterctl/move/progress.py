"""Where a run is, written on the objects themselves, so that whoever comes after a kill can go on.

At the source, Clusters and ClusterClasses that a run has paused carry `PAUSED_BY`, and what is deleted next carries
`LEAVING`: its copy is as it is. At the target, whatever a run has created or overwritten carries `FROM` until it is
finished: where it came from, and how that looked. From these follows all that the next run must know:

- an object with `FROM` was made by a run with these words, and goes if the move is called off;
- one of them is marked as the first: its original is deleted before any other. If that is no longer there, the point of
  no return has been passed: forward only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

FROM: Final = "move.mooring.dev/from"
PAUSED_BY: Final = "move.mooring.dev/paused-by"
LEAVING: Final = "move.mooring.dev/leaving"
STAYS_PAUSED: Final = "move.mooring.dev/stays-paused"  # in files: a Cluster that was paused before
DELETE_FOR_MOVE: Final = "clusterctl.cluster.x-k8s.io/delete-for-move"
PAUSED: Final = "cluster.x-k8s.io/paused"

# Never copied along.
OURS: Final = frozenset({FROM, PAUSED_BY, LEAVING, STAYS_PAUSED, DELETE_FOR_MOVE})
# As whom we write: its entries are taken out of what is restored, so that nothing is owned by us afterwards.
MANAGER: Final = "mooring-clusterctl-move"


class Run(msgspec.Struct, frozen=True):
    """Which move this is: from which source, with which words. The same words go on with the same run."""

    source: str
    words: str


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an object at the target was made from."""

    source: str
    words: str
    uid: str
    revision: str
    over: bool = False  # it was there before, and has been overwritten
    stays_paused: bool = False  # the original was paused by somebody else
    whole: bool = False  # its fields belong to their owners again
    first: bool = False  # the original is deleted first, and next

    def is_of(self, run: Run) -> bool:
        return (self.source, self.words) == (run.source, run.words)

    @property
    def text(self) -> str:
        return msgspec.json.encode(self).decode()


class Pause(msgspec.Struct, frozen=True):
    """That a run has paused an object, and what was there before: None for nothing."""

    words: str
    before: bool | None = None

    @property
    def text(self) -> str:
        return msgspec.json.encode(self).decode()


def origin_in(annotations: Mapping[str, str]) -> Origin | None:
    return _read(annotations.get(FROM), Origin)


def pause_in(annotations: Mapping[str, str]) -> Pause | None:
    return _read(annotations.get(PAUSED_BY), Pause)


def _read(text: str | None, kind: type[T]) -> T | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError:
        return None  # somebody else's hand: not ours then

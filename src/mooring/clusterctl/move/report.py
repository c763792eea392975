"""What a move has done or would do: everything that it saw, and for what does not move, why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mooring.clusterctl.move.graph import Node
from mooring.clusterctl.move.sequence import Sequence

# Told while it goes on: from which verbosity on somebody wants to hear it, and the text.
Tell = Callable[[int, str], None]


def silent(_: int, __: str) -> None:
    """For those who want to hear nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """One object, and what becomes of it."""

    kind: str
    namespace: str
    name: str
    api_version: str
    action: str  # "move", "copy" or "skip"
    reason: str = ""

    def as_document(self) -> dict[str, Any]:
        shown = {
            "action": self.action,
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "reason": self.reason,
        }
        return {key: value for key, value in shown.items() if value}


@dataclass(slots=True)
class Report:
    """All lines, and what else there is to say."""

    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dry_run: bool = False

    def of(self, action: str) -> list[Line]:
        return [one for one in self.lines if one.action == action]

    def as_document(self) -> dict[str, Any]:
        return {
            "dryRun": self.dry_run,
            "objects": [one.as_document() for one in self.lines],
            "notes": list(self.notes),
        }


def report_of(sequence: Sequence, *, dry_run: bool = False) -> Report:
    """The report of a sequence: what moves in its order, then what does not."""
    lines = [_moved(one) for one in sequence.nodes]
    lines += [_line(one.node, "skip", one.reason) for one in sequence.skipped]
    return Report(lines, dry_run=dry_run)


def _moved(node: Node) -> Line:
    if node.is_global:
        return _line(node, "copy", "is in no namespace: the source keeps it")
    if node.in_global_hierarchy:
        return _line(node, "copy", "belongs to something in no namespace: the source keeps it")
    if node.stays:
        return _line(node, "copy", "others at the source need it, too: the source keeps it")
    return _line(node, "move")


def _line(node: Node, action: str, reason: str = "") -> Line:
    return Line(node.kind, node.namespace, node.name, node.api_version, action, reason)

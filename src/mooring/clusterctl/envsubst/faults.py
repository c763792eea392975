"""What can be wrong with a substitution, and how it is told."""

from __future__ import annotations

from enum import StrEnum

from mooring.clusterctl.errors import ClusterctlError


class Fault(StrEnum):
    """The classes of errors. All but the last are those of the upstream library; BOUNDS makes it panic."""

    NAME = "there is no variable name after ${ (letters, digits and _)"
    CLOSING = "after the name comes neither } nor one of the operators : = , ^ / # %"
    ARGUMENT = "an operator lacks its argument"
    FORM = "it does not end, or go on, as its operator wants it"
    BOUNDS = "the length of a substring is negative or beyond any number"
    EFFORT = "it would take too much time or space with the values that it is given"


_LONGEST_EXCERPT = 60


class BadSubstitution(ClusterctlError):
    """A ``${…}`` that means nothing, or nothing with these values."""

    def __init__(self, fault: Fault, excerpt: str, *, line: int | None = None) -> None:
        self.fault = fault
        self.line = line
        where = "" if line is None else f" in line {line}"
        shown = excerpt if len(excerpt) <= _LONGEST_EXCERPT else f"{excerpt[:_LONGEST_EXCERPT]}…"
        shown = shown.encode("utf-8", "replace").decode()
        super().__init__(f"bad substitution{where}: {fault} at {shown!r}; a plain ${{ is written as $${{")

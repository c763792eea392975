"""What can go wrong, in words for the person who asked: what it is about, what was found, and what to do."""

from __future__ import annotations

from collections.abc import Iterable


class ClusterctlError(Exception):
    """The message is complete, and made for people."""


class MissingVariables(ClusterctlError):
    """Values that a template needs and nobody has given: all of them at once."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(set(names)))
        listed = ", ".join(self.names)
        super().__init__(
            f"value for variables [{listed}] is not set: give each in the environment, or as a line NAME: value in the "
            f"configuration file (see --config)"
        )


class NotHere(ClusterctlError):
    """A repository does not have the file, version or provider that was asked for."""

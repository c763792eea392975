"""Tests of words about requests find a platform of their own; see ``quiet_kit``."""

from quiet_kit import quiet, room, there

__all__ = ["quiet", "room", "there"]

"""Why a local cluster is not ready, or cannot be: the words in its conditions. The page for people explains each."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    STARTING = "Starting"
    UPGRADING = "Upgrading"
    RESTARTING = "Restarting"
    KEEPS_DYING = "KeepsDying"
    START_FAILED = "StartFailed"
    NOT_ANSWERING = "NotAnswering"
    UNKNOWN_VERSION = "UnknownVersion"
    BAD_FLAG = "BadFlag"
    DOWNGRADE = "DowngradeRefused"
    UPGRADE = "UpgradeRefused"
    BINARIES = "Binaries"
    PLATFORM = "Platform"

"""Condition types and reasons on ClusterProviders: upstream's, and ours where upstream does not tell why."""

from __future__ import annotations

from typing import Final

# Whether the init command has done its part for this generation.
INITIALIZED: Final = "Initialized"
INIT_PENDING: Final = "InitPending"
INIT_NOT_CREATED: Final = "InitJobCreationFailed"
INIT_RUNNING: Final = "InitRunning"
INIT_COMPLETED: Final = "InitCompleted"
INIT_FAILED: Final = "InitFailed"  # ours

# Whether the run command is at work as the object says; the type is the Ready of all objects.
INSTALLATION_PENDING: Final = "ProviderInstallationPending"
INSTALLATION_FAILED: Final = "ProviderInstallationFailed"
NOT_READY: Final = "ProviderNotReady"
PROVIDER_READY: Final = "ProviderReady"

# Only while the provider is being deleted.
UNINSTALLED: Final = "Uninstalled"
UNINSTALLING: Final = "Uninstalling"
UNINSTALL_FAILED: Final = "UninstallFailed"
CLUSTERS_REMAIN: Final = "ClustersRemain"  # ours

# By which a ground tells that the command has not begun yet, and nothing is wrong.
PENDING: Final = "Pending"

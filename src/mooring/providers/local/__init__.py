"""Real, workerless clusters as processes on this machine: one kube-apiserver and one kube-controller-manager each.

They live in a landscape (``mooring.controlplane``) beside its platform, which is one of them. ``docs/how-to/
local-clusters.md`` is the page for their users.
"""

from mooring.providers.local.config import LocalConfig
from mooring.providers.local.first import PLATFORM
from mooring.providers.local.provider import LocalProvider

__all__ = ["PLATFORM", "LocalConfig", "LocalProvider"]

"""Clusters that somebody else made, brought along by a kubeconfig in a Secret: looked at, used, and never changed.

``docs/how-to/bring-your-own-cluster.md`` is the page for their owners.
"""

from mooring.providers.external.adoption import AdoptedCluster
from mooring.providers.external.config import ExternalClusterConfig, ExternalConfig
from mooring.providers.external.provider import ExternalProvider

__all__ = ["AdoptedCluster", "ExternalClusterConfig", "ExternalConfig", "ExternalProvider"]

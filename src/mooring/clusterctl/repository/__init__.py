"""Where the releases of providers are kept: local folders, GitHub, GitLab, other web servers, OCI layouts on disk.

`open_repository` chooses by the provider's address. docs/reference/clusterctl-repositories.md describes the layouts.
"""

from mooring.clusterctl.repository.opening import open_repository
from mooring.clusterctl.repository.releases import ProviderRepository
from mooring.clusterctl.repository.source import NoSuchRelease, Source

__all__ = ["NoSuchRelease", "ProviderRepository", "Source", "open_repository"]

"""Which kind of repository an address means.

Each kind is imported only when it is needed: most commands read one folder, and must not pay for the web.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.providers import Provider
from mooring.clusterctl.repository.addresses import Address, read_address, wrong_address
from mooring.clusterctl.repository.latest import default_version
from mooring.clusterctl.repository.local import LATEST, LocalSource
from mooring.clusterctl.repository.releases import ProviderRepository
from mooring.clusterctl.repository.source import Source

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.clusterctl.repository.github import GitHubServer
    from mooring.clusterctl.repository.http import Fetcher

GITHUB_SERVER: Final = "github-server"  # in the configuration file; GITHUB_SERVER in the environment
LAYOUT_SCHEME: Final = "oci-layout"

# A run has one configuration, and what was fetched for it once is not fetched again. By identity: it can change.
_fetchers: dict[int, Fetcher] = {}


async def open_repository(provider: Provider, configuration: Configuration, *, compat: str = "") -> ProviderRepository:
    """Open a provider's repository and find its default version. Errors say which provider they are about."""
    try:
        source = _source(provider, configuration)
        version = source.version_in_address
        if version == LATEST and not await source.keeps_latest():
            version = await default_version(source, label=provider.label, compat=compat)
    except ClusterctlError as error:
        raise type(error)(f"cannot open the repository of the {provider.type} {provider.name!r}: {error}") from error
    return ProviderRepository(
        provider=provider,
        source=source,
        default_version=version,
        overrides=configuration.overrides_folder(),
        compat=compat,
    )


def _source(provider: Provider, configuration: Configuration) -> Source:
    address = read_address(provider.url)
    if address.scheme in ("", "file"):
        return LocalSource(provider, address)
    if address.scheme == LAYOUT_SCHEME:
        from mooring.clusterctl.repository.oci import LayoutSource

        return LayoutSource(provider, address)
    if address.is_web:
        return _web_source(provider, address, configuration)
    if address.scheme == "http":
        raise wrong_address(provider.url, "what is installed is fetched by https only")
    raise wrong_address(
        provider.url,
        f"there is no kind of repository for {address.scheme}: addresses; use a "
        f"folder (file:), https: or {LAYOUT_SCHEME}:",
    )


def _web_source(provider: Provider, address: Address, configuration: Configuration) -> Source:
    from mooring.clusterctl.repository.github import GITHUB, GitHubSource
    from mooring.clusterctl.repository.gitlab import API_PREFIX, GitLabSource
    from mooring.clusterctl.repository.indexed import IndexedSource

    fetcher = _fetcher_of(configuration)
    own_server = (configuration.variable(GITHUB_SERVER) or "").rstrip("/")
    if address.server in (GITHUB, own_server):
        return GitHubSource(provider, address, _github_server(address.server, configuration), fetcher)
    if address.raw_path.startswith(API_PREFIX):
        return GitLabSource(provider, address, configuration.gitlab_token, fetcher)
    if address.user:
        raise wrong_address(provider.url, "a name or password before the host is not sent; leave it out")
    return IndexedSource(provider, address, fetcher)


def _fetcher_of(configuration: Configuration) -> Fetcher:
    from mooring.clusterctl.repository.http import Fetcher

    key = id(configuration)
    if key not in _fetchers:
        _fetchers[key] = Fetcher()
        weakref.finalize(configuration, _fetchers.pop, key, None)
    return _fetchers[key]


def _github_server(url: str, configuration: Configuration) -> GitHubServer:
    from mooring.clusterctl.repository.github import GITHUB, GITHUB_API, GitHubServer
    from mooring.clusterctl.repository.goproxy import chosen_proxy

    variable = configuration.environ.get("GOPROXY", "")
    proxy, public = chosen_proxy(variable), url == GITHUB
    return GitHubServer(
        url=url,
        api=GITHUB_API if public else f"{url}/api/v3",
        token=configuration.github_token,
        go_proxy=proxy,
        plainly=proxy is not None or (public and not variable),
    )

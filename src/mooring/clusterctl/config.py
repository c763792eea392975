"""The configuration: variables, providers, cert-manager and images; from flags, the environment and a file.

That is also the order in which they count. A variable is found by its name in any case in the file, and in the
environment in capitals, with ``_`` for ``-``. An empty value in the environment is a value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from mooring.clusterctl import configuration_file
from mooring.clusterctl.configuration_file import text_of
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.images import ImageOverrides, Override
from mooring.clusterctl.providers import Provider, ProviderType
from mooring.clusterctl.settings import (
    as_joined_mapping,
    as_list,
    as_mapping,
    as_text,
    checked_provider,
    seconds,
    switch,
)

CERT_MANAGER_VERSION: Final = "v1.21.1"
CERT_MANAGER_URL: Final = (
    f"https://github.com/cert-manager/cert-manager/releases/{CERT_MANAGER_VERSION}/cert-manager.yaml"
)
CERT_MANAGER_TIMEOUT: Final = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class CertManagerSettings:
    """Which cert-manager to install, and how long to wait for it; or that somebody else has seen to it."""

    url: str = CERT_MANAGER_URL
    version: str = CERT_MANAGER_VERSION
    timeout: float = CERT_MANAGER_TIMEOUT
    externally_provisioned: bool = False


@dataclass
class Configuration:
    """Everything that was configured, for one run."""

    settings: Mapping[str, Any] = field(default_factory=dict)  # of the file, keys in lower case
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _given: dict[str, str] = field(default_factory=dict)

    def set(self, name: str, value: str) -> None:
        """A value that beats the environment and the file, such as one from a flag."""
        self._given[name.lower()] = value

    def variable(self, name: str) -> str | None:
        """The value of a variable; None if nobody has set it."""
        value = self._find(name)
        return None if value is None else text_of(value)

    def providers(self) -> list[Provider]:
        """Every provider that can be had: the built-in ones, overridden and added to by the file."""
        return list(self._providers)

    def provider(self, name: str, type_: ProviderType | None) -> Provider:
        """The provider of this name and type; without a type, the only one of this name."""
        found = [one for one in self._providers if one.name == name and type_ in (None, one.type)]
        if len(found) == 1:
            return found[0]
        if found:
            types = ", ".join(one.type for one in found)
            raise ClusterctlError(f"several providers are called {name} ({types}): say which type")
        what = f"{type_} with name {name}" if type_ else f"provider with name {name}"
        raise ClusterctlError(
            f"there is no configuration for the {what}: check the name (see `config repositories`), or add it under "
            f"`providers` in the configuration file"
        )

    def cert_manager(self) -> CertManagerSettings:
        given = as_mapping(self._find("cert-manager"), "cert-manager")
        text = {key: as_text(value, f"cert-manager.{key}") for key, value in given.items() if key in _CERT_MANAGER_KEYS}
        timeout = text.get("timeout", "")
        external = text.get("externallyprovisioned", "")
        return CertManagerSettings(
            url=self._expanded(text.get("url") or CERT_MANAGER_URL, "cert-manager.url"),
            version=text.get("version") or CERT_MANAGER_VERSION,
            timeout=seconds(timeout, CERT_MANAGER_TIMEOUT) if timeout else CERT_MANAGER_TIMEOUT,
            externally_provisioned=switch(external, "cert-manager.externallyProvisioned") if external else False,
        )

    def images(self) -> ImageOverrides:
        """What to replace in the images of components."""
        found: dict[str, Override] = {}
        for key, value in as_joined_mapping(self._find("images"), "images").items():
            meta = as_mapping(value, f"images.{key}")
            texts = (as_text(meta.get(one), f"images.{key}.{one}") for one in ("repository", "name", "tag"))
            found[key] = Override(*texts)
        return ImageOverrides(found)

    def overrides_folder(self) -> Path:
        """Where files are that stand in for those of a repository."""
        if (given := self.variable("overridesFolder") or "").strip():
            return Path(self._expanded(given, "overridesFolder"))
        today, old = (folder / "overrides" for folder in configuration_file.folders(self.environ))
        return old if not today.exists() and old.exists() else today

    @property
    def github_token(self) -> str:
        return self.variable("github-token") or ""

    @property
    def gitlab_token(self) -> str:
        return self.variable("gitlab-access-token") or ""

    @cached_property
    def _providers(self) -> tuple[Provider, ...]:
        from mooring.clusterctl.builtin import BUILT_IN

        known = {(one.name, one.type): one for one in BUILT_IN}
        for number, entry in enumerate(as_list(self._find("providers"), "providers"), 1):
            one = as_mapping(entry, f"providers[{number}]")
            name, type_, url = (as_text(one.get(key), f"providers[{number}].{key}") for key in ("name", "type", "url"))
            provider = checked_provider(name, type_, self._expanded(url, f"the url of provider {name}"))
            known[provider.name, provider.type] = provider
        return tuple(sorted(known.values(), key=lambda one: (one.type.order, one.name)))

    def _expanded(self, text: str, what: str) -> str:
        """With variables of the environment in it replaced; only of the environment, as upstream does."""
        if "$" not in text:
            return text
        from mooring.clusterctl.envsubst import parse

        try:
            return parse(text).expand(lambda name: self.environ.get(name, ""))
        except ClusterctlError as error:
            raise ClusterctlError(f"cannot evaluate {what}, {text!r}: {error}") from None

    def _find(self, name: str) -> Any:
        key = name.lower()
        if key in self._given:
            return self._given[key]
        capitals = key.upper().replace("-", "_")
        if capitals in self.environ:
            return self.environ[capitals]
        return self.settings.get(key)


_CERT_MANAGER_KEYS: Final = frozenset({"url", "version", "timeout", "externallyprovisioned"})


def read_configuration(path: str = "", environ: Mapping[str, str] | None = None) -> Configuration:
    """Read the file at a path or an http(s) address; without one, the file in its usual places if there is any."""
    surroundings = os.environ if environ is None else environ
    return Configuration(configuration_file.read_file(path, surroundings), surroundings)

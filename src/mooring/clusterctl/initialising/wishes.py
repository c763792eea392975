"""What somebody wants of ``init``: which providers, where, and how patiently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.providers import ProviderType, named_provider

NONE: Final = "-"  # instead of a provider: not even the one that comes by default
_DEFAULT_CORE, _DEFAULT_BOOTSTRAP, _DEFAULT_CONTROL_PLANE = "cluster-api", "kubeadm", "kubeadm"


@dataclass(frozen=True, slots=True)
class Wish:
    """One provider; the version is empty if any will do."""

    type: ProviderType
    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Providers as ``name[:version]``, and how they are wanted."""

    core: str = ""
    bootstrap: tuple[str, ...] = ()
    control_plane: tuple[str, ...] = ()
    infrastructure: tuple[str, ...] = ()
    ipam: tuple[str, ...] = ()
    runtime_extension: tuple[str, ...] = ()
    addon: tuple[str, ...] = ()
    target_namespace: str = ""  # empty: of each provider its own
    watching_namespace: str = ""  # only with compat
    compat: str = ""
    validate: bool = True  # False: a management cluster that will not work is not refused
    wait: bool = False
    wait_seconds: float = 300.0  # for each provider
    cert_manager: bool = True  # False: do without, which is refused where a provider needs it

    def with_defaults(self) -> Wishes:
        """What a cluster needs that has no core provider yet."""
        return replace(
            self,
            core=self.core or _DEFAULT_CORE,
            bootstrap=self.bootstrap or (_DEFAULT_BOOTSTRAP,),
            control_plane=self.control_plane or (_DEFAULT_CONTROL_PLANE,),
        )

    def each(self) -> Iterator[Wish]:
        """The wishes, one by one, in the order of types."""
        if self.core == NONE:
            raise ClusterctlError("--core -: a management cluster cannot do without a core provider")
        given: tuple[tuple[ProviderType, tuple[str, ...]], ...] = (
            (ProviderType.CORE, (self.core,) if self.core else ()),
            (ProviderType.BOOTSTRAP, self.bootstrap),
            (ProviderType.CONTROL_PLANE, self.control_plane),
            (ProviderType.INFRASTRUCTURE, self.infrastructure),
            (ProviderType.IPAM, self.ipam),
            (ProviderType.RUNTIME_EXTENSION, self.runtime_extension),
            (ProviderType.ADDON, self.addon),
        )
        for type_, texts in given:
            for text in texts:
                if text != NONE:
                    yield Wish(type_, *named_provider(text))

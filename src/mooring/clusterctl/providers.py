"""Providers: what kinds there are, how one is named, and where its releases are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mooring.clusterctl.errors import ClusterctlError

# Labels and annotations that clusterctl, ours and the other, write and read.
CLUSTERCTL_LABEL: Final = "clusterctl.cluster.x-k8s.io"
CORE_LABEL: Final = "clusterctl.cluster.x-k8s.io/core"  # "inventory" or "cert-manager"
PROVIDER_LABEL: Final = "cluster.x-k8s.io/provider"
LIFECYCLE_LABEL: Final = "clusterctl.cluster.x-k8s.io/lifecycle"  # "shared", in the days of v1alpha3
MOVE_LABEL: Final = "clusterctl.cluster.x-k8s.io/move"
MOVE_HIERARCHY_LABEL: Final = "clusterctl.cluster.x-k8s.io/move-hierarchy"

CONTRACT: Final = "v1beta2"  # the contract that we speak
COMPATIBLE_CONTRACTS: Final = frozenset({"v1beta1", "v1beta2"})
OLD_CONTRACT: Final = "v1alpha3"  # of --compat v1alpha3

_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


class ProviderType(StrEnum):
    """The kinds of providers, in the order in which they are installed."""

    CORE = "CoreProvider"
    BOOTSTRAP = "BootstrapProvider"
    CONTROL_PLANE = "ControlPlaneProvider"
    INFRASTRUCTURE = "InfrastructureProvider"
    IPAM = "IPAMProvider"
    RUNTIME_EXTENSION = "RuntimeExtensionProvider"
    ADDON = "AddonProvider"

    @property
    def order(self) -> int:
        return list(ProviderType).index(self)

    @property
    def prefix(self) -> str:
        """What the label of such a provider begins with."""
        return _PREFIXES[self]


_PREFIXES: Final = {
    ProviderType.CORE: "",
    ProviderType.BOOTSTRAP: "bootstrap-",
    ProviderType.CONTROL_PLANE: "control-plane-",
    ProviderType.INFRASTRUCTURE: "infrastructure-",
    ProviderType.IPAM: "ipam-",
    ProviderType.RUNTIME_EXTENSION: "runtime-extension-",
    ProviderType.ADDON: "addon-",
}


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that can be had: the name and type say which, the address where its releases are."""

    name: str
    type: ProviderType
    url: str

    @property
    def label(self) -> str:
        """What its components are labelled with, and its folder in a local repository is called."""
        return manifest_label(self.name, self.type)


def manifest_label(name: str, type_: ProviderType) -> str:
    return f"{type_.prefix}{name}"


def named_provider(text: str) -> tuple[str, str]:
    """Read ``name[:version]``; the version is empty if none is given."""
    name, colon, version = text.partition(":")
    name = name.lower()
    if not _NAME.fullmatch(name) or ":" in version:
        raise ClusterctlError(
            f"invalid provider name {text!r}: it must be in the form name[:version], and the name a DNS label "
            f"(lower-case letters, digits and hyphens)"
        )
    if colon and not version:
        raise ClusterctlError(f"invalid provider name {text!r}: there is nothing after the colon; leave it out")
    return name, version

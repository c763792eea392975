"""Which version of a provider's kind to read: its definition says so in labels, one per contract."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.providers import COMPATIBLE_CONTRACTS

_PREFIX: Final = "cluster.x-k8s.io/"
_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STAGES: Final = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True)
class Contract:
    """What a definition says: the contract that it fulfils, and with which version of the kind."""

    name: str
    version: str
    labels: Mapping[str, str]

    def of_version(self, version: str) -> str:
        """The contract that this version of the kind fulfils; the newest, where it fulfils several."""
        names = [key.removeprefix(_PREFIX) for key, text in self.labels.items() if version in text.split("_")]
        return max(names, key=version_order, default=self.name)


def contract_of(definition: str, labels: Mapping[str, str]) -> Contract:
    """The newest contract that both sides know, and the newest version for it."""
    ours = {key: text for key, text in labels.items() if key.startswith(_PREFIX)}
    for name in sorted(COMPATIBLE_CONTRACTS, key=version_order, reverse=True):
        if versions := ours.get(f"{_PREFIX}{name}"):
            return Contract(name, max(versions.split("_"), key=version_order), ours)
    wanted = " or ".join(f"{_PREFIX}{name}" for name in sorted(COMPATIBLE_CONTRACTS))
    raise ClusterctlError(
        f"the definition {definition} does not say which of its versions fulfil a contract that we speak: "
        f"it needs a label {wanted}"
    )


def version_order(version: str) -> tuple[int, int, int, str]:
    """As Kubernetes orders versions: v2, v1, v1beta2, v1beta1, v1alpha1, and then what is not a version."""
    if not (read := _VERSION.fullmatch(version)):
        return -1, 0, 0, version
    major, stage, minor = read.groups()
    return _STAGES[stage], int(major), int(minor or 0), ""

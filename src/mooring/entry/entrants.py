"""Whom a door is for, and how everything that belongs to it is marked.

The marks hold the installation and the uid of the request, so that what is left of a request can be found without any
memory of it, also where two installations share a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mooring.api.names import name_hash
from mooring.kube import ObjectKey

INSTALLATION_LABEL: Final = "mooring.dev/installation"
ENTRANT_LABEL: Final = "mooring.dev/entrant"
# For people: the request, as namespace/name.
REQUEST_ANNOTATION: Final = "mooring.dev/access-request"

# The namespace that upstream's providers keep accounts in.
ACCOUNTS: Final = "accessrequests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """An AccessRequest of one installation, as its marks tell it."""

    installation: str
    environment: str
    provider: str
    key: ObjectKey
    uid: str

    @property
    def hash(self) -> str:
        """What upstream's providers derive names from, too."""
        return name_hash(self.environment, self.provider, self.key.namespace, self.key.name)

    @property
    def labels(self) -> dict[str, str]:
        return {INSTALLATION_LABEL: self.installation, ENTRANT_LABEL: self.uid}

    @property
    def selector(self) -> str:
        """Selects everything of this entrant, and nothing else."""
        return ",".join(f"{name}={value}" for name, value in self.labels.items())

    def metadata(self, name: str, namespace: str = "") -> dict[str, Any]:
        """The metadata of one of its objects."""
        where = {"namespace": namespace} if namespace else {}
        notes = {REQUEST_ANNOTATION: f"{self.key.namespace}/{self.key.name}"}
        return {"name": name, **where, "labels": self.labels, "annotations": notes}

    def owns(self, thing: Mapping[str, Any]) -> bool:
        """Whether an object carries its marks."""
        labels = thing["metadata"].get("labels") or {}
        return all(labels.get(name) == value for name, value in self.labels.items())

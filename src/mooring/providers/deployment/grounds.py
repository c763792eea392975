"""Where the programs of providers run: what the deployment controller asks of a ground, and what it hears.

There are two grounds. *Pods* is a cluster with nodes, where programs are images. *Processes* is the machine of an
embedded landscape, where they are programs that its owner has installed. The controller is the same on both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mooring.api.providers import ClusterProvider, ProviderRights
from mooring.api.references import ObjectReference
from mooring.kube import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What all providers of one installation have in common."""

    environment: str  # the landscape's name: the first part of profiles' names
    namespace: str  # that accounts, leases and pods are in


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far something has come. Neither done nor failed: it is under way, and whoever watches will hear of it."""

    done: bool
    failed: bool = False
    reason: str = ""  # one CamelCase word
    message: str = ""  # for people: what it waits for, or what went wrong and what to do

    look_again: float | None = None  # seconds; None: when something is heard


class Ground(Protocol):
    """A place for programs. Every deed can be repeated at any point, and is made once."""

    def declared(self, provider: ClusterProvider) -> ProviderRights | None:
        """What the program itself says it needs, where that is known."""

    async def initialised(self, provider: ClusterProvider) -> Progress:
        """Have the init command run once for this generation of the object, and tell how that goes.

        Of a provider that is being deleted and still needed, the generation is that of its spec: one that was
        initialised is not initialised again because somebody deletes it.

        One that failed is told with the reason, and tried again with growing pauses.
        """

    async def running(self, provider: ClusterProvider) -> Progress:
        """Have the run command at work as the object says now, and tell how it is."""

    def metrics(self, provider: ClusterProvider) -> ObjectReference | None:
        """The Service that its metrics are behind, if there is one."""

    async def remove(self, provider: ClusterProvider) -> bool:
        """Bring it a step nearer to its end; True when nothing of its programs is left."""

    async def watch(self, wake: Callable[[ObjectKey], None]) -> None:
        """Call ``wake`` with the key of a ClusterProvider whenever something of it changes here, until cancelled."""

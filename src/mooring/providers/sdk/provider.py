"""What a provider's author writes: one class. The SDK does the rest of the contract.

A provider says which profiles its configuration stands for, and brings clusters to where they should be. It is asked
again and again, and answers with what it saw: it keeps no state of its own, and never waits for slow infrastructure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from mooring.api.clusters import Endpoint, SupportedVersion
from mooring.api.kinds import Kind
from mooring.kube import Client, Connection, ObjectKey

C = TypeVar("C", bound=Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A profile to be published. Several of one configuration are told apart by ``variant``."""

    versions: Sequence[str | SupportedVersion]
    variant: str = ""
    traits: Sequence[str] = ()
    max_clusters: int = 0  # 0: any number


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Generic[C]):
    """A cluster that is wanted, with all that a provider may need to know about it."""

    key: ObjectKey
    uid: str
    profile: str
    variant: str
    config: C
    version: str  # in full, one of the profile's; as the Cluster says it, or empty, if the profile names none
    wanted: str = ""  # the version as the Cluster says it, in full or in part; empty if it leaves that to us
    cluster_configs: Sequence[Any] = ()  # of the provider's kind, in the order of spec.clusterConfigs
    running: str = ""  # the version that the cluster was last seen to run; empty if it was never seen
    noted: Mapping[str, Any] = field(default_factory=dict)  # status.providerStatus: may be lost at any time


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a cluster is. Say what is known: the SDK turns it into labels, endpoints, conditions and phase."""

    ready: bool
    reason: str = ""  # one CamelCase word; needed unless ready
    message: str = ""  # for people: what it waits for, or what is wrong and what to do
    version: str = ""  # that it runs
    api_server: str = ""
    endpoints: Sequence[Endpoint] = ()
    info: str = ""  # a few words for a column of ``kubectl get -o wide``
    note: Mapping[str, Any] = field(default_factory=dict)  # for status.providerStatus; never anything secret
    look_again: float | None = None  # seconds; None: now and then (``ask_again``); if not ready, with growing pauses


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """An identity provider that a cluster is to trust. Prefixes are as they are to be used; empty is none."""

    name: str
    url: str
    client_id: str
    username_claim: str
    username_prefix: str
    groups_claim: str
    groups_prefix: str


class Refused(Exception):
    """The order cannot be carried out as it is, and trying again would not help; the message says what to change."""

    def __init__(self, message: str, *, reason: str = "Refused") -> None:
        super().__init__(message)
        self.reason = reason


class Provider(ABC, Generic[C]):
    """A maker of clusters."""

    config: ClassVar[type[Kind]]  # the kind of its configuration objects: cluster-scoped, with spec.providerRef
    cluster_config: ClassVar[type[Kind] | None] = None  # the kind that spec.clusterConfigs names, if it has one
    more_kinds: ClassVar[Sequence[type[Kind]]] = ()  # further kinds that it brings; what it may do to them: ``rights``
    rights: ClassVar[Sequence[Mapping[str, Any]]] = ()  # RBAC rules for what it does on the platform beside the SDK
    keeps_clusters: ClassVar[bool] = False  # whether clusters outlive their deletion, as those do that others own
    longest_step: ClassVar[float] = 120.0  # seconds that one call may take before it is cut off and made again
    ask_again: ClassVar[float] = 600.0  # seconds: what is offered, or a cluster, may change without a word to us

    platform: Client  # the API server that the Clusters are on; set by the SDK before anything is asked

    @abstractmethod
    async def profiles(self, config: C) -> Sequence[Offer]:
        """What can be had with this configuration. Raises Refused if it makes no sense."""

    @abstractmethod
    async def ensure(self, order: Order[C]) -> State:
        """Bring the cluster a step nearer to what is ordered, and tell how it is. Must be repeatable at any point."""

    @abstractmethod
    async def delete(self, order: Order[C]) -> bool:
        """Bring the cluster a step nearer to its end; True when nothing of it is left. Repeatable, too."""

    @abstractmethod
    async def admin_access(self, order: Order[C]) -> Connection:
        """How to enter the cluster as its administrator: made on demand, short-lived, and never written down."""

    async def oidc(self, order: Order[C], issuers: Sequence[Issuer]) -> Mapping[str, str]:
        """Have the cluster trust exactly these identity providers, those that it trusted before no more.

        Gives, by name, why one of them is not trusted yet; it is asked again then. Whoever cannot do this at all leaves
        it as it is.
        """
        raise Refused(
            "The provider of this cluster cannot have it trust identity providers; ask for a token (spec.token).",
            reason="OIDCUnsupported",
        )

    async def watch(self, wake: Callable[[ObjectKey], None]) -> None:
        """For those who can tell when a cluster changes: call ``wake`` with its key, until cancelled.

        The key of a configuration, which has no namespace, has it asked anew what can be had with it.
        Without it, a cluster is looked at when its objects change, when ``State.look_again`` says so, and now and then.
        """

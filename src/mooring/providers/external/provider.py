"""The provider: a kubeconfig becomes a connection, a look at the cluster behind it, a claim on it, and a State.

Nothing is kept of a kubeconfig beyond the call that reads it. What is remembered between two looks saves questions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mooring.api.clusters import Endpoint
from mooring.api.kinds import Kind
from mooring.api.marks import EXTERNAL_ENDPOINT
from mooring.api.versions import is_full, satisfies
from mooring.kube import Client, Connection, ObjectKey, Timeouts
from mooring.providers.external.adoption import AdoptedCluster, Adoptions, Holder, Occupied, confirm
from mooring.providers.external.config import ExternalClusterConfig, ExternalConfig
from mooring.providers.external.probing import HEART, Glance, glance_at, identity_of, missing_rights, version_of
from mooring.providers.external.reasons import Reason, Trouble
from mooring.providers.external.sources import Source, connection_in, secret_at, source_of, source_of_config
from mooring.providers.external.troubles import told, too_weak
from mooring.providers.external.watches import Watches
from mooring.providers.sdk.provider import Offer, Order, Provider, Refused, State

LOOK_AGAIN = 30.0  # seconds between two looks at a cluster that is well
_RIGHTS_LAST = 600.0  # seconds until it is asked again what an unchanged credential may do
_PATIENCE = Timeouts(connect=5.0, request=10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A kubeconfig, for the time of one call."""

    source: Source
    revision: str
    connection: Connection


class ExternalProvider(Provider[ExternalConfig]):
    """Provides clusters that somebody else made, by their kubeconfigs."""

    config: ClassVar[type[Kind]] = ExternalConfig
    cluster_config: ClassVar[type[Kind] | None] = ExternalClusterConfig
    more_kinds: ClassVar[Sequence[type[Kind]]] = (AdoptedCluster,)
    rights: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": [AdoptedCluster.API.group],
            "resources": [AdoptedCluster.API.plural],
            "verbs": ["get", "list", "watch", "create", "update", "delete"],
        },
    )
    keeps_clusters: ClassVar[bool] = True
    ask_again: ClassVar[float] = LOOK_AGAIN

    def __init__(self) -> None:
        self._watches = Watches()
        self._adoptions = Adoptions()
        self._allowed: dict[str, tuple[object, float]] = {}  # by uid: what was found to be enough, and when

    async def profiles(self, config: ExternalConfig) -> Sequence[Offer]:
        me, source = ObjectKey("", config.metadata.name), source_of_config(config)
        traits = tuple(dict.fromkeys(trait.key for trait in config.spec.traits))
        if source is None:
            self._watches.forget(me)
            return [Offer(versions=(), traits=traits)]
        found = await self._found(me, source)
        async with Client(found.connection, timeouts=_PATIENCE) as client:
            with told(source, found.connection.server):
                version = await version_of(client)
        return [Offer(versions=[version] if _can_be_offered(version) else (), traits=traits, max_clusters=1)]

    async def ensure(self, order: Order[ExternalConfig]) -> State:
        try:
            state = await self._adopted(order)
        except Occupied as trouble:
            self._watches.wait_for(order.key, trouble.claim)
            return _not_ready(order, trouble)
        except Trouble as trouble:
            self._watches.wait_no_more(order.key)
            return _not_ready(order, trouble)
        self._watches.wait_no_more(order.key)
        return state

    async def delete(self, order: Order[ExternalConfig]) -> bool:
        """The cluster stays as it is; only the claim on it goes. Its kubeconfig is not needed for that."""
        self._watches.forget(order.key)
        self._allowed.pop(order.uid, None)
        return await self._adoptions.release(self.platform, order.uid)

    async def admin_access(self, order: Order[ExternalConfig]) -> Connection:
        """By the owner's own credential, as it is in the Secret now; Refused if it leads to another cluster."""
        source = source_of(order)
        connection = await connection_in(await secret_at(self.platform, source), source)
        claim = await self._adoptions.held_by(self.platform, order.uid)
        if claim is None:
            raise Refused(f"The Cluster {order.key} has no cluster yet.", reason=Reason.NOT_ADOPTED)
        async with Client(connection, timeouts=_PATIENCE) as client:
            with told(source, connection.server):
                identity = await identity_of(client)
        confirm(claim, identity)
        return connection

    async def watch(self, wake: Callable[[ObjectKey], None]) -> None:
        await self._watches.run(self.platform, wake)

    # -- looking ------------------------------------------------------------------------------------------------

    async def _adopted(self, order: Order[ExternalConfig]) -> State:
        try:
            source = source_of(order)
        except Refused:
            self._watches.forget(order.key)
            raise
        found = await self._found(order.key, source)
        glance = await self._look(order.uid, found)
        holder = Holder(namespace=order.key.namespace, name=order.key.name, uid=order.uid)
        claim = await self._adoptions.adopt(self.platform, holder, glance.identity)
        return _as_wanted(order, _ready(found.connection.server, glance, claim))

    async def _found(self, user: ObjectKey, source: Source) -> _Found:
        """The kubeconfig as it is now. Whoever asks is woken when it changes."""
        self._watches.use(user, source.secret)
        secret = await secret_at(self.platform, source)
        revision = "" if secret is None else str(secret["metadata"]["resourceVersion"])
        self._watches.read(user, revision)
        return _Found(source=source, revision=revision, connection=await connection_in(secret, source))

    async def _look(self, uid: str, found: _Found) -> Glance:
        server = found.connection.server
        async with Client(found.connection, timeouts=_PATIENCE) as client:
            with told(found.source, server):
                glance = await glance_at(client)
                asked = (found.source, found.revision, glance.identity)
                if self._is_enough(uid, asked):
                    return glance
                missing = await missing_rights(client)
        if missing or not glance.identity:
            self._allowed.pop(uid, None)
            raise too_weak(missing or [f"get the namespace {HEART}"], found.source, server)
        self._allowed[uid] = (asked, time.monotonic())
        return glance

    def _is_enough(self, uid: str, asked: object) -> bool:
        known, since = self._allowed.get(uid, (None, 0.0))
        return known == asked and time.monotonic() - since < _RIGHTS_LAST


def _ready(server: str, glance: Glance, claim: str) -> State:
    return State(
        ready=True,
        version=glance.version,
        api_server=server,
        endpoints=(Endpoint(name=EXTERNAL_ENDPOINT, url=server),),
        info=claim,
        note={"adoptedCluster": claim},
        look_again=LOOK_AGAIN,
    )


def _not_ready(order: Order[ExternalConfig], trouble: Trouble) -> State:
    """Where it is and what it runs stays as it was last known."""
    return State(ready=False, reason=trouble.reason, message=str(trouble), note=order.noted)


def _as_wanted(order: Order[ExternalConfig], state: State) -> State:
    """Not ready if it runs another version than the one that is wanted: that is for its owner to change."""
    try:
        if satisfies(order.wanted, state.version):
            return state
    except ValueError as error:
        raise Refused(f"spec.kubernetes.version: {error}.", reason=Reason.VERSION_DIFFERS) from None
    message = (
        f"The cluster runs Kubernetes {state.version}, and spec.kubernetes.version is {order.wanted}. It is for the "
        f"cluster's owner to upgrade it: leave spec.kubernetes.version empty, or set it to what runs."
    )
    return replace(state, ready=False, reason=Reason.VERSION_DIFFERS, message=message, look_again=None)


def _can_be_offered(version: str) -> bool:
    try:
        return is_full(version)
    except ValueError:
        return False

"""A configuration is held by our finalizer while clusters are made by it: they cannot be kept, or ended, without it.

One that no cluster uses is not held. So it can be deleted at any time, also when its provider is gone for good.

Guarantees:
    Before a provider is asked to make anything, the configuration is held (:meth:`Holding.hold`).
    It is let go only after the server said that no cluster is left (:meth:`Holding.settle`). A cluster that comes at
    that very moment has it held again, because it is missed (``wakes``).
"""

from __future__ import annotations

import asyncio
from typing import Any

from mooring.api.clusters import Cluster
from mooring.kube import Object, ObjectKey, key_of, metadata_of, typed
from mooring.providers.sdk.configs import plain_resource
from mooring.providers.sdk.naming import config_finalizer
from mooring.providers.sdk.ordering import CONFIG_MISSING
from mooring.providers.sdk.provider import Refused
from mooring.providers.sdk.seen import Seen
from mooring.runtime import Manager, Writer, with_finalizer, without_finalizer
from mooring.runtime.predicates import is_deleting


class Holding:
    """For the configurations of one instance; its reconcilers share it."""

    def __init__(self, manager: Manager, seen: Seen) -> None:
        self._seen = seen
        self._client = manager.client
        self._configs = Writer(manager.client, plain_resource(seen.provider.config), seen.configs)
        self._finalizer = config_finalizer(seen.provider.config)
        self._one_at_a_time = asyncio.Lock()  # many clusters may begin at once

    def is_held(self, config: Object | None) -> bool:
        return config is not None and self._finalizer in finalizers_of(config)

    async def hold(self, name: str, *, begun: bool) -> None:
        """Have it held for a cluster. For one that was not begun it is too late when the configuration goes already."""
        async with self._one_at_a_time:
            config = self._seen.configs.get(ObjectKey("", name))
            if config is None or self.is_held(config):
                return
            if not is_deleting(config):
                held = [*with_finalizer(finalizers_of(config), self._finalizer)]
                await self._configs.save(config, with_metadata(config, finalizers=held), guarded=True)
            elif not begun:
                raise Refused(
                    f"The {self._seen.provider.config.API.kind} {name} of the profile is being deleted; choose another "
                    f"profile, or create it again when it is gone.",
                    reason=CONFIG_MISSING,
                )

    async def settle(self, config: Object) -> Object:
        """Held if clusters are made by it, and let go if not; as it is then."""
        name = key_of(config).name
        if self._seen.clusters_of(name):
            await self.hold(name, begun=True)
            return self._seen.configs.get(ObjectKey("", name)) or config
        if self.is_held(config) and not await self._is_used(name):
            return await self.let_go(config)
        return config

    async def let_go(self, config: Object) -> Object:
        if not self.is_held(config):
            return config
        left = [*without_finalizer(finalizers_of(config), self._finalizer)]
        return await self._configs.save(config, with_metadata(config, finalizers=left), guarded=True)

    async def uses(self, profile: str) -> int:
        """How many clusters there are of it: asked of the server, because a cache may not know of the latest."""
        bare = metadata_of(typed(Cluster))
        return len((await self._client.list(bare, field_selector=f"spec.profile={profile}")).items)

    async def _is_used(self, config: str) -> bool:
        for profile in self._seen.profiles_of(config):
            if await self.uses(profile.metadata.name):
                return True
        return False


def finalizers_of(config: Object | None) -> tuple[str, ...]:
    return () if config is None else tuple(config["metadata"].get("finalizers") or ())


def with_metadata(config: Object, **metadata: Any) -> Object:
    return {**config, "metadata": {**config["metadata"], **metadata}}

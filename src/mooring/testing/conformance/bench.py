"""The bench that a provider is checked on: a namespace, its instances, its configuration, and Clusters.

Everything that is made here is gone at the end: the Clusters first, while the providers are there to end them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from mooring.kube import Client, KubeError, MergePatch, Object, ObjectKey, key_of
from mooring.kube.errors import NotFound
from mooring.testing.builders import NAMESPACES, namespace_object
from mooring.testing.conformance.accounts import Accounts
from mooring.testing.conformance.asking import ACCESS_REQUESTS, PROFILES, take_back
from mooring.testing.conformance.configurations import Configurations
from mooring.testing.conformance.instances import Instance
from mooring.testing.conformance.subjects import Subject
from mooring.testing.conformance.trails import CLUSTERS, Trails

ENVIRONMENT: Final = "conformance"

_FREE = MergePatch({"metadata": {"finalizers": None}})
_ASK_AGAIN = 0.1  # seconds
_HURRY = 30.0  # seconds for the end of Clusters when somebody has pressed Ctrl-C


class Bench:
    """Shared by all checks of a run."""

    def __init__(
        self, client: Client, subject: Subject, *, configs: Sequence[Object], namespace: str | None, directory: Path
    ) -> None:
        mark = uuid.uuid4().hex[:6]
        self.client = client
        self.subject = subject
        self.namespace = namespace or f"conformance-{mark}"
        self.trails = Trails(client)
        self.instances: dict[str, Instance] = {}
        self.first = subject.running_as or f"conform-{mark}"  # the names of the instances
        self.second = f"conform-{mark}-b"
        self.third = f"conform-{mark}-c"
        self.found_before: set[str] = set()  # profiles that are none of ours
        self._directory = directory
        self._accounts = Accounts(client, self.namespace, directory)
        self._configurations = Configurations(client, configs, ENVIRONMENT)
        self._namespaces: list[str] = []
        self._profiles: list[str] = []
        self._accesses: list[ObjectKey] = []
        self.held_accesses: set[ObjectKey] = set()  # whose end was waited for in vain, or is nobody's to bring
        self._evidence: dict[str, asyncio.Task[Any]] = {}
        self._following: asyncio.Task[None] | None = None

    # -- its life -----------------------------------------------------------------------------------------------

    async def open(self) -> None:
        await self.make_namespace(self.namespace)
        self.found_before = {key_of(one).name for one in await self.profiles()}
        self._following = asyncio.create_task(self.trails.run())
        await self.trails.listening.wait()

    async def close(self, patience: float, *, for_access: float) -> None:
        """Leave nothing behind. In this order: access, Clusters, configurations, providers, and what is left then."""
        for task in self._evidence.values():
            task.cancel()
        await asyncio.gather(*self._evidence.values(), return_exceptions=True)
        try:
            with contextlib.suppress(KubeError):  # the server may be what went away
                await self._end_accesses(for_access)
                await self._end_clusters(patience)
                await self._configurations.delete()
        finally:
            await asyncio.gather(*(one.ask_to_stop() for one in self.instances.values()))
            with contextlib.suppress(KubeError):
                await self._clear()
            if self._following is not None:
                self._following.cancel()
                await asyncio.gather(self._following, return_exceptions=True)

    async def close_in_a_hurry(self) -> None:
        await self.close(_HURRY, for_access=_HURRY)

    async def _end_clusters(self, patience: float) -> None:
        for trail in self.trails.all:
            with contextlib.suppress(NotFound):
                await self.client.delete(CLUSTERS, trail.key.name, namespace=trail.key.namespace)
        served = [one for one in self.trails.own if one.versions and not one.stuck]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience_left(patience)):
                await self.trails.until(lambda: all(one.gone for one in served) or self._all_dead())
        for trail in self.trails.all:
            with contextlib.suppress(NotFound):
                await self.client.patch(CLUSTERS, trail.key.name, _FREE, namespace=trail.key.namespace)

    async def _end_accesses(self, patience: float) -> None:
        """They go first: what was made for them is in clusters that go next."""
        for access in self._accesses:
            await take_back(self.client, access)
        waited_for = set(self._accesses) - self.held_accesses
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience_left(patience)):
                while waited_for & await self._accesses_there() and not self._all_dead():
                    await asyncio.sleep(_ASK_AGAIN)
        for access in self._accesses:
            with contextlib.suppress(NotFound):
                await self.client.patch(ACCESS_REQUESTS, access.name, _FREE, namespace=access.namespace)

    async def _accesses_there(self) -> set[ObjectKey]:
        namespaces = {one.namespace for one in self._accesses}
        listed = [(await self.client.list(ACCESS_REQUESTS, namespace=one)).items for one in namespaces]
        return {key_of(one) for items in listed for one in items}

    def _patience_left(self, patience: float) -> float:
        return 1.0 if any(one.died for one in self.instances.values()) else patience

    def _all_dead(self) -> bool:
        return bool(self.instances) and all(one.code is not None for one in self.instances.values())

    async def _clear(self) -> None:
        await self._configurations.force()
        names = set(self._profiles)
        if self.subject.is_ours_to_start:
            ours = {self.first, self.second, self.third}
            # Also those that name somebody else as their provider, which is what a broken one does.
            new = [one for one in await self.profiles() if key_of(one).name not in self.found_before]
            names |= {key_of(one).name for one in new if provider_of(one) in ours or self.first in key_of(one).name}
        for name in names:
            with contextlib.suppress(NotFound):
                await self.client.delete(PROFILES, name)
        await self._accounts.clear()
        for name in self._namespaces:
            with contextlib.suppress(NotFound):
                await self.client.delete(NAMESPACES, name)

    # -- what is on it ------------------------------------------------------------------------------------------

    async def make_namespace(self, name: str) -> None:
        """Have a namespace; one that was there already stays at the end."""
        try:
            await self.client.get(NAMESPACES, name)
        except NotFound:
            self._namespaces.append(name)
            await self.client.create(NAMESPACES, namespace_object(name))

    async def make_access(self, body: Object) -> Object:
        """An AccessRequest, gone at the end, whoever holds it by then."""
        made = await self.client.create(ACCESS_REQUESTS, body)
        self._accesses.append(key_of(made))
        return made

    async def make_profile(self, body: Object) -> None:
        """A profile that the suite itself publishes, for somebody who is not there."""
        self._profiles.append(key_of(body).name)
        await self.client.create(PROFILES, body)

    async def profiles(self, provider: str | None = None) -> list[Object]:
        """All profiles, or those of one provider, by name."""
        found = sorted((await self.client.list(PROFILES)).items, key=lambda one: key_of(one).name)
        return [one for one in found if provider is None or provider_of(one) == provider]

    async def once(self, what: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Something that several checks look at: made by the first who asks; its failure is everybody's."""
        if what not in self._evidence:
            self._evidence[what] = asyncio.ensure_future(make())
        return await asyncio.shield(self._evidence[what])

    # -- the provider -------------------------------------------------------------------------------------------

    async def init(self) -> Instance:
        """The provider's ``init``, begun."""
        return await self._begun("init", self.first, f"{self.first}-init", ())

    async def start(self, name: str, more: Sequence[str] = (), *, verbosity: str = "INFO") -> Instance:
        """An instance under this name, with its configuration, begun."""
        await self._configurations.apply(name)
        return await self._begun("run", name, name, more, verbosity=verbosity)

    async def _begun(
        self, word: str, name: str, account: str, more: Sequence[str], *, verbosity: str = "INFO"
    ) -> Instance:
        subject, is_init = self.subject, word == "init"
        kubeconfig = await self.once(
            f"account {account}",
            lambda: self._accounts.kubeconfig(
                account,
                subject.init_rights if is_init else subject.rights,
                at_home=() if is_init else subject.lease_rules(name),
            ),
        )
        flags = (f"--environment={ENVIRONMENT}", f"--verbosity={verbosity}", f"--provider-name={name}")
        environment = {
            **subject.environment,
            "KUBECONFIG": os.fspath(kubeconfig),
            "POD_NAME": f"{account}-0",
            "POD_NAMESPACE": self.namespace,
            "POD_IP": "127.0.0.1",
            "POD_SERVICE_ACCOUNT_NAME": account,
        }
        command = (*subject.command, word, *flags, *more)
        instance = Instance(account, command, environment, self._directory / f"{account}.log", self.trails.tell)
        if not is_init:
            self.instances[name] = instance
        await instance.start()
        return instance


def provider_of(profile: Object) -> str:
    """The provider that a profile names."""
    reference = (profile.get("spec") or {}).get("providerRef") or {}
    return str(reference.get("name") or "")

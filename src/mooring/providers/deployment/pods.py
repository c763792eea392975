"""The ground that is a cluster with nodes: programs are images, ``init`` is a Job and ``run`` a Deployment.

Everything that is made carries the provider's labels and is owned by it, and is watched: an object that somebody edits
or deletes is mended. A Job that somebody deletes is made again, which is how one has the init command run once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Callable

from mooring.api.marks import PROVIDER_NAME_ANNOTATION
from mooring.api.providers import ClusterProvider, ProviderRights
from mooring.api.references import ObjectReference
from mooring.kube import Change, Object, ObjectKey, key_of, uid_of, untyped
from mooring.kube.errors import NotFound
from mooring.providers.deployment.accounts import ACCESS, grant, grant_first, withdraw
from mooring.providers.deployment.contract import COMPONENT, Command, metrics_reference
from mooring.providers.deployment.grounds import Home, Progress
from mooring.providers.deployment.objects import Document, deployment, job, metrics_service
from mooring.providers.deployment.placing import SELECTOR, Placing, is_of, taken
from mooring.providers.deployment.reasons import PENDING
from mooring.providers.deployment.verdicts import (
    attempt_of,
    deployment_progress,
    generation_of,
    is_live,
    job_progress,
    next_attempt,
)
from mooring.providers.sdk.controllers import lease_name
from mooring.runtime import Manager, Store, TryAgain
from mooring.runtime.predicates import is_deleting, labels_of

JOBS = untyped(group="batch", plural="jobs", kind="Job")
DEPLOYMENTS = untyped(group="apps", plural="deployments", kind="Deployment")
REPLICA_SETS = untyped(group="apps", plural="replicasets", kind="ReplicaSet")
SERVICES = untyped(plural="services", kind="Service")
PODS = untyped(plural="pods", kind="Pod")
LEASES = untyped(group="coordination.k8s.io", plural="leases", kind="Lease")

_API = ClusterProvider.API
# As plain data: of volumes, our own type keeps the name and nothing else.
_PROVIDERS = untyped(group=_API.group, version=_API.version, plural=_API.plural, kind=_API.kind, namespaced=False)


class Pods:
    """Providers as Pods in the home namespace of the installation."""

    def __init__(self, manager: Manager, home: Home) -> None:
        self._home = home
        self._clock = manager.clock
        self._client = manager.client
        self._placing = Placing(manager, home, (*ACCESS, JOBS, DEPLOYMENTS, SERVICES))
        self._pods: Store[Object] = manager.store(
            PODS, namespace=home.namespace, label_selector=SELECTOR, indexes={"provider": by_provider}
        )
        self._volumes: dict[str, tuple[int, list[Document]]] = {}  # by uid of the provider, with its generation
        self._woken: asyncio.Queue[ObjectKey] = asyncio.Queue()
        self._placing.heard(self._woken.put_nowait)
        self._pods.subscribe(self._pod_changed)

    def declared(self, provider: ClusterProvider) -> ProviderRights | None:
        """An image does not tell what it needs."""
        return None

    async def watch(self, wake: Callable[[ObjectKey], None]) -> None:
        while True:
            wake(await self._woken.get())

    def metrics(self, provider: ClusterProvider) -> ObjectReference | None:
        return metrics_reference(provider, self._home)

    # -- init ---------------------------------------------------------------------------------------------------

    async def initialised(self, provider: ClusterProvider) -> Progress:
        volumes = await self._volumes_of(provider)
        wanted = job(provider, self._home, volumes)
        await grant_first(self._placing, provider, self._home, self._rights(provider))
        there = self._placing.there(wanted)
        if there is None:
            return await self._begin(provider, wanted)
        if not is_of(there, provider):
            raise taken(wanted, there)
        if is_deleting(there):
            return Progress(done=False, reason=PENDING, message="The Job of an earlier attempt is being removed.")
        if generation_of(there) != generation_of(wanted):
            await self._placing.remove(JOBS.kind, there)
            return await self._begin(provider, wanted)
        return await self._watched(provider, there, volumes)

    async def _begin(self, provider: ClusterProvider, wanted: Document) -> Progress:
        """Make the Job, once nothing of an earlier one can get in its way."""
        earlier = [pod for pod in self._pods_of(provider, Command.INIT) if is_live(pod)]
        if earlier:
            name = key_of(earlier[0]).name
            return Progress(
                done=False, reason=PENDING, message=f"Waiting for the Pod {name} of an earlier init to end."
            )
        made = await self._placing.place(wanted, provider)
        if generation_of(made) != generation_of(wanted):
            raise TryAgain("the Job of an earlier generation is there, and we have not heard of it yet")
        return job_progress(made, ())

    async def _watched(self, provider: ClusterProvider, there: Object, volumes: list[Document]) -> Progress:
        """How the Job does; one that failed is made again when its time has come."""
        pods = [pod for pod in self._pods_of(provider, Command.INIT) if _is_owned_by(pod, there)]
        progress = job_progress(there, pods)
        if not progress.failed:
            await self._mend(provider, there)
            return progress
        due = next_attempt(there)
        left = 0.0 if due is None else (due - self._clock.now().astimezone(datetime.UTC)).total_seconds()
        if left > 0:
            return Progress(done=False, failed=True, reason=progress.reason, message=progress.message, look_again=left)
        await self._placing.remove(JOBS.kind, there)
        return await self._begin(provider, job(provider, self._home, volumes, attempt=attempt_of(there) + 1))

    async def _mend(self, provider: ClusterProvider, there: Object) -> None:
        """Of a Job, only what is around its Pods can be changed, and only that has to be as we say."""
        wanted = job(provider, self._home, attempt=attempt_of(there))
        spec = {} if there.get("status", {}).get("succeeded") else {"suspend": wanted["spec"]["suspend"]}
        await self._placing.place({**wanted, "spec": spec}, provider)

    # -- run ----------------------------------------------------------------------------------------------------

    async def running(self, provider: ClusterProvider) -> Progress:
        wanted = deployment(provider, self._home, await self._volumes_of(provider))
        await grant(self._placing, provider, self._home, Command.RUN, self._rights(provider))
        made = await self._placing.place(wanted, provider)
        service = metrics_service(provider, self._home)
        kept = [] if service is None else [service]
        await self._placing.remove_but(provider, kept, kinds=[SERVICES.kind])
        for one in kept:
            await self._placing.place(one, provider)
        if is_deleting(made):
            return Progress(done=False, reason=PENDING, message="The Deployment is being removed by somebody else.")
        return deployment_progress(made, self._pods_of(provider, Command.RUN))

    # -- the end ------------------------------------------------------------------------------------------------

    async def remove(self, provider: ClusterProvider) -> bool:
        """First what runs, and its rights only when nothing runs any more: it may have something to clear up."""
        placing = self._placing
        await placing.remove_but(provider, kinds=[DEPLOYMENTS.kind, JOBS.kind, SERVICES.kind])
        if any(is_live(pod) for pod in self._pods.by("provider", provider.metadata.name)):
            return False
        if any(kind in (REPLICA_SETS.kind, PODS.kind) for kind, _ in await placing.left(provider, REPLICA_SETS, PODS)):
            return False
        await withdraw(placing, provider)
        await self._drop_lease(provider)
        left = await placing.left(provider, REPLICA_SETS, PODS)
        for kind, thing in left:
            if kind in placing.resources and not is_deleting(thing):
                await placing.remove(kind, thing)  # we had not heard of it
        if not left:
            self._volumes.pop(provider.metadata.uid, None)
        return not left

    async def _drop_lease(self, provider: ClusterProvider) -> None:
        """What replicas elected their leader by; it has no labels, because they made it themselves."""
        name, namespace = lease_name(provider.metadata.name), self._home.namespace
        with contextlib.suppress(NotFound):
            await self._client.get(LEASES, name, namespace=namespace)
            await self._client.delete(LEASES, name, namespace=namespace)

    # -- what is seen -------------------------------------------------------------------------------------------

    def _rights(self, provider: ClusterProvider) -> ProviderRights | None:
        said = provider.spec.rights
        return self.declared(provider) if said is None else said

    def _pods_of(self, provider: ClusterProvider, command: Command) -> list[Object]:
        pods = self._pods.by("provider", provider.metadata.name)
        return [pod for pod in pods if labels_of(pod).get(COMPONENT) == command.component]

    def _pod_changed(self, change: Change[Object]) -> None:
        for name in {name for one in (change.before, change.after) if one is not None for name in by_provider(one)}:
            self._woken.put_nowait(ObjectKey("", name))

    async def _volumes_of(self, provider: ClusterProvider) -> list[Document]:
        """Its extra volumes in full, read once for each generation."""
        if not provider.spec.extra_volumes:
            return []
        metadata = provider.metadata
        generation, volumes = self._volumes.get(metadata.uid, (-1, []))
        if generation != metadata.generation:
            whole = await self._client.get(_PROVIDERS, metadata.name)
            # Servers count the deletion as a change, and we are told the generation without it.
            now = whole["metadata"].get("generation", 0) - is_deleting(whole)
            if (uid_of(whole), now) != (metadata.uid, metadata.generation):
                raise TryAgain("the provider has just been changed")
            volumes = list(whole["spec"]["extraVolumes"])
            self._volumes[metadata.uid] = (metadata.generation, volumes)
        return volumes


def by_provider(pod: Object) -> list[str]:
    """The provider whose Pod it is, by name."""
    name = (pod["metadata"].get("annotations") or {}).get(PROVIDER_NAME_ANNOTATION)
    return [name] if name else []


def _is_owned_by(pod: Object, owner: Object) -> bool:
    return any(one.get("uid") == uid_of(owner) for one in pod["metadata"].get("ownerReferences") or ())

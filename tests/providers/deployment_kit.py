"""What the tests of the deployment share: a place with real Job, Deployment and ReplicaSet controllers, and Pods that
do what a test says.

There are no nodes here. A real kube-controller-manager turns Jobs and Deployments into Pods; *the kubelet is a
stand-in* (:class:`Kubelet`): it starts no containers, and writes into the status of Pods what a kubelet would write.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import dataclasses
import datetime
import signal
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.conditions import found
from mooring.api.providers import ClusterProvider
from mooring.controlplane.plane import ControlPlane
from mooring.kube import Changed, Client, MergePatch, Relisted, key_of, typed, untyped, watching
from mooring.kube.errors import Conflict, NotFound
from mooring.providers.deployment.controllers import add_deployment
from mooring.providers.deployment.grounds import Home
from mooring.providers.deployment.placing import (
    ACCOUNTS,
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    ROLES,
    SELECTOR,
)
from mooring.providers.deployment.pods import DEPLOYMENTS, JOBS, PODS, REPLICA_SETS, SERVICES, Pods
from mooring.runtime import Manager, SystemClock
from mooring.testing.builders import NAMESPACES, an_object, namespace_object, plain_resource_of
from mooring.testing.managers import at_work, doomed, until

PROVIDERS, PROFILES, CLUSTERS = (plain_resource_of(kind) for kind in (ClusterProvider, ClusterProfile, Cluster))
IMAGE = "registry.example/provider:v1"
REVIEWS = untyped(
    group="authorization.k8s.io", plural="subjectaccessreviews", kind="SubjectAccessReview", namespaced=False
)
EVERYTHING = (
    ACCOUNTS,
    CLUSTER_ROLES,
    CLUSTER_BINDINGS,
    ROLES,
    BINDINGS,
    JOBS,
    DEPLOYMENTS,
    REPLICA_SETS,
    SERVICES,
    PODS,
)
INIT, RUN = "init-job", "controller"

_CONTROLLERS = "job-controller,deployment-controller,replicaset-controller"
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@contextlib.contextmanager
def controllers_beside(plane: ControlPlane, directory: Path):
    """A kube-controller-manager with the controllers that a landscape does without; it ends with us, however we end."""
    kubeconfig = directory / "kubeconfig"
    kubeconfig.touch(mode=0o600)
    document = plane.admin_kubeconfig(name="beside", lifetime=datetime.timedelta(hours=12))
    kubeconfig.write_bytes(msgspec.json.encode(document))
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                plane.executables.controller_manager,
                f"--kubeconfig={kubeconfig}",
                f"--controllers={_CONTROLLERS}",
                "--leader-elect=false",
                "--secure-port=0",
            ],
            stdout=log,
            stderr=log,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL),
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()


# -- the kubelet's stand-in -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Succeeds:
    """All containers have ended well."""

    def status(self, pod):
        ended = {"exitCode": 0, "reason": "Completed", **_times()}
        return {"phase": "Succeeded", "containerStatuses": _containers(pod, {"terminated": ended})}


@dataclass(frozen=True)
class Fails:
    code: int = 3
    message: str = "something is wrong"

    def status(self, pod):
        ended = {"exitCode": self.code, "reason": "Error", "message": self.message, **_times()}
        return {"phase": "Failed", "containerStatuses": _containers(pod, {"terminated": ended})}


@dataclass(frozen=True)
class Waits:
    """The container cannot be started, or not again."""

    reason: str = "ImagePullBackOff"
    message: str = "Back-off pulling the image"
    last: Mapping[str, Any] = field(default_factory=dict)

    def status(self, pod):
        waiting = {"waiting": {"reason": self.reason, "message": self.message}}
        ended = {"lastState": {"terminated": {**self.last, **_times()}}} if self.last else {}
        return {
            "phase": "Pending",
            "conditions": [_ready("False")],
            "containerStatuses": _containers(pod, waiting, ended),
        }


@dataclass(frozen=True)
class Unschedulable:
    message: str = "0/3 nodes are available"

    def status(self, pod):
        unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": self.message}
        return {"phase": "Pending", "conditions": [unscheduled]}


@dataclass(frozen=True)
class Runs:
    def status(self, pod):
        running = {"running": {"startedAt": _times()["startedAt"]}}
        return {
            "phase": "Running",
            "conditions": [_ready("True")],
            "containerStatuses": _containers(pod, running, {"ready": True, "started": True}),
        }


IDLE = None  # nobody looks after the Pod


def _times():
    """Long ago, so that the Job controller need not wait before it makes another Pod."""
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    text = then.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"startedAt": text, "finishedAt": text}


def _ready(truth):
    return {"type": "Ready", "status": truth, "lastTransitionTime": _times()["startedAt"]}


def _containers(pod, state, more=()):
    usual = {"ready": False, "restartCount": 0, "imageID": "", "state": state}
    return [{"name": one["name"], "image": one["image"], **usual, **dict(more)} for one in pod["spec"]["containers"]]


class Kubelet:
    """Stands in for the kubelets of a cluster: each Pod is given the status that ``does`` has for its component."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.does: dict[str, Any] = {INIT: Succeeds(), RUN: Runs()}
        self.seen: dict[str, dict[str, Any]] = {}  # every Pod that there ever was, by uid
        self._client = client
        self._namespace = namespace

    async def run(self) -> None:
        events = watching(self._client, PODS, namespace=self._namespace)
        async with contextlib.aclosing(events):
            async for event in events:
                match event:
                    case Relisted():
                        for pod in event.items:
                            await self._look_after(pod)
                    case Changed():
                        await self._look_after(event.object)

    async def now(self, component: str, deed: Any) -> None:
        """From now on, the Pods of this component do so; also those that are there."""
        self.does[component] = deed
        for pod in (await self._client.list(PODS, namespace=self._namespace)).items:
            if pod["metadata"]["labels"]["app.kubernetes.io/component"] == component:
                await self._look_after(pod)

    async def _look_after(self, pod: dict[str, Any]) -> None:
        self.seen[pod["metadata"]["uid"]] = pod
        deed = self.does.get(pod["metadata"]["labels"].get("app.kubernetes.io/component", ""))
        status = pod.get("status") or {}
        over = status.get("phase") in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp")
        if deed is IDLE or over:
            return
        wanted = deed.status(pod)
        if _gist(wanted) == _gist(status):
            return
        with contextlib.suppress(NotFound, Conflict):
            await self._client.patch(
                PODS,
                pod["metadata"]["name"],
                MergePatch({"metadata": {"uid": pod["metadata"]["uid"]}, "status": wanted}),
                namespace=self._namespace,
                subresource="status",
            )


def _gist(status):
    """What a status says, but for times."""
    states = [next(iter(one["state"].values())) for one in status.get("containerStatuses") or ()]
    return (
        status.get("phase"),
        [(state.get("exitCode"), state.get("reason"), state.get("message")) for state in states],
        [(one["type"], one["status"]) for one in status.get("conditions") or ()],
    )


# -- the place --------------------------------------------------------------------------------------------------------


class Ahead(SystemClock):
    """The machine's clock, put forward by hand."""

    def __init__(self) -> None:
        self.by = datetime.timedelta()

    def now(self) -> datetime.datetime:
        return super().now() + self.by


@dataclass
class Site:
    """A home for providers, by short words."""

    kube: Client
    home: Home
    kubelet: Kubelet
    clock: Ahead = field(default_factory=Ahead)

    def manager(self, connection=None):
        manager = Manager(connection or self.kube.connection, identity=uuid.uuid4().hex, clock=self.clock)
        add_deployment(manager, Pods, home=self.home)
        return manager

    @contextlib.asynccontextmanager
    async def deploying(self, connection=None):
        async with self.manager(connection) as manager, at_work(manager):
            yield manager

    def doomed(self, connection):
        return doomed(self.manager(connection))

    def acting_as(self, whom):
        """The way to the server as somebody else."""
        return dataclasses.replace(self.kube.connection, impersonation=whom)

    async def provider(self, name, **spec):
        body = an_object(ClusterProvider, name, spec={"image": IMAGE, **spec})
        return await self.kube.create(PROVIDERS, body)

    async def change(self, name, **spec):
        return await self.patch(PROVIDERS, name, {"spec": spec})

    async def look(self, name):
        """Ask for a look at a provider, and wait until it was had."""
        word = "openmcp.cloud/operation"
        await self.patch(PROVIDERS, name, {"metadata": {"annotations": {word: "reconcile"}}})
        await self.there(PROVIDERS, name, lambda one: word not in (one["metadata"].get("annotations") or {}))

    async def get(self, resource, name):
        namespace = self.home.namespace if resource.namespaced else None
        try:
            return await self.kube.get(resource, name, namespace=namespace)
        except NotFound:
            return None

    async def there(self, resource, name, wanted=lambda _: True):
        async def asked():
            thing = await self.get(resource, name)
            return thing if thing is not None and wanted(thing) else None

        async def seen():
            return f"{resource.kind} {name} is as wanted; it is {await self.get(resource, name)}"

        return await until(asked, seen)

    async def gone(self, resource, name):
        async def asked():
            return await self.get(resource, name) is None

        await until(asked, f"{resource.kind} {name} is gone")

    async def patch(self, resource, name, body, subresource=None):
        namespace = self.home.namespace if resource.namespaced else None
        return await self.kube.patch(resource, name, MergePatch(body), namespace=namespace, subresource=subresource)

    async def delete(self, resource, name):
        await self.kube.delete(resource, name, namespace=self.home.namespace if resource.namespaced else None)

    async def seen(self, name):
        return await self.get(typed(ClusterProvider), name)

    async def becomes(self, name, wanted, what):
        """The provider, once its status speaks of its present generation and is as wanted."""

        async def asked():
            thing = await self.seen(name)
            current = (
                thing is not None
                and thing.status is not None
                and thing.status.observed_generation == thing.metadata.generation
            )
            return thing if current and wanted(thing) else None

        async def told():
            return f"{name} {what}; it is {await self.seen(name)}"

        return await until(asked, told)

    async def ready(self, name):
        return await self.becomes(name, lambda one: one.status.ready, "is ready")

    async def says(self, name, kind, reason, *words):
        """The provider, once this condition has this reason, and all these words in its message."""

        def wanted(provider):
            condition = found(provider.status.conditions, kind)
            return condition is not None and condition.reason == reason and all(w in condition.message for w in words)

        return await self.becomes(name, wanted, f"says {kind} {reason} {words}")

    async def everything(self, name=None):
        """All that was made for providers, or for one of them: kind and name to the object."""
        selector = SELECTOR if name is None else f"{SELECTOR},app.kubernetes.io/instance={name}"
        made = {}
        for resource in EVERYTHING:
            namespace = self.home.namespace if resource.namespaced else None
            for one in (await self.kube.list(resource, namespace=namespace, label_selector=selector)).items:
                made[resource.kind, key_of(one).name] = one
        return made

    async def may(self, account, verb, resource, *, group="", namespace=None, name=None):
        """Whether a ServiceAccount of the home may do this, asked of the server."""
        attributes = {"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name}
        user = f"system:serviceaccount:{self.home.namespace}:{account}"
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{self.home.namespace}", "system:authenticated"]
        spec = {
            "user": user,
            "groups": groups,
            "resourceAttributes": {key: text for key, text in attributes.items() if text is not None},
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": REVIEWS.kind, "spec": spec}
        return bool((await self.kube.create(REVIEWS, body))["status"].get("allowed"))

    async def may_settle(self, *what, wanted=True, **more):
        """The same, when the server's authorizer has heard of the change: it has a cache of its own."""

        async def asked():
            return await self.may(*what, **more) is wanted

        await until(asked, f"{what} {more} is allowed: {wanted}")
        return wanted

    async def clear(self):
        for kind in (ClusterProvider, Cluster, ClusterProfile):
            resource = plain_resource_of(kind)
            while left := (await self.kube.list(resource)).items:
                for one in left:
                    key = key_of(one)
                    with contextlib.suppress(NotFound):
                        if one["metadata"].get("finalizers"):
                            free = MergePatch({"metadata": {"finalizers": None}})
                            await self.kube.patch(resource, key.name, free, namespace=key.namespace or None)
                        await self.kube.delete(resource, key.name, namespace=key.namespace or None)
        for resource in (CLUSTER_ROLES, CLUSTER_BINDINGS):
            for one in (await self.kube.list(resource, label_selector=SELECTOR)).items:
                with contextlib.suppress(NotFound):
                    await self.kube.delete(resource, key_of(one).name)
        await self.kube.delete(NAMESPACES, self.home.namespace)


@contextlib.asynccontextmanager
async def new_site(client: Client):
    namespace = f"home-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, namespace_object(namespace))
    kubelet = Kubelet(client, namespace)
    task = asyncio.create_task(kubelet.run())
    site = Site(client, Home(environment="test", namespace=namespace), kubelet)
    try:
        yield site
        if task.done():
            task.result()  # raises what ended it
    finally:
        task.cancel()
        await asyncio.wait([task])
        await site.clear()

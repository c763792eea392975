"""What a landscape begins with: purposes, and local clusters to be had. From then on it is the owner's.

Definitions, rights and the platform's own objects are put in order at every start. The other objects are created once:
what somebody edits or deletes later stays so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mooring.api.crds import definition_of
from mooring.api.kyma import KubeconfigRequest
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose
from mooring.api.traits import WORKERLESS
from mooring.app.installing import EMBEDDED, NAMESPACE, install_everything, reading, rights_for
from mooring.kube import Client, MergePatch, Object, Resource, untyped
from mooring.kube.definitions import install, put
from mooring.kube.errors import AlreadyExists, NotFound
from mooring.kyma.controllers import RIGHTS as KYMA_RIGHTS
from mooring.providers.deployment.controllers import RIGHTS
from mooring.providers.deployment.processes import HOME_RIGHTS
from mooring.providers.local import PLATFORM, LocalConfig, LocalProvider
from mooring.providers.local.first import POLICY, default_config, kept, platform_cluster, platform_config
from mooring.providers.sdk import rights_of

LOCAL = "local"
# Who the local provider is on the platform: its certificate shows this group.
LOCAL_GROUP = "mooring:provider-local"
# And the one who runs the programs of other providers.
DEPLOYMENT_GROUP = "mooring:deployment"
KYMA_GROUP = "mooring:kyma"

_NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
_MARK = "mooring.dev/furnished"  # on our namespace: the objects were there once


async def furnish(client: Client, *, environment: str) -> None:
    """Bring a landscape to where its first request can be answered. Stopped in the middle, the next start goes on."""
    await install_everything(client, EMBEDDED)
    await install(client, [definition_of(LocalConfig)])
    rights = [
        *rights_for("mooring-local", LOCAL_GROUP, rights_of(LocalProvider)),
        *rights_for("mooring-processes", DEPLOYMENT_GROUP, RIGHTS, HOME_RIGHTS),
        *rights_for("mooring-kyma", KYMA_GROUP, [*reading([KubeconfigRequest]), *KYMA_RIGHTS]),
    ]
    for document in rights:
        await put(client, document)
    await _create(client, local_provider())
    await have_platform(client, environment=environment)
    namespace = await client.get(_NAMESPACES, NAMESPACE)
    if _MARK in (namespace["metadata"].get("annotations") or {}):
        return
    for document in (*first_purposes(), default_config(LOCAL)):
        await _create(client, document)
    await client.patch(_NAMESPACES, NAMESPACE, MergePatch({"metadata": {"annotations": {_MARK: "true"}}}))


async def have_platform(client: Client, *, environment: str) -> None:
    """The platform as a Cluster that requests can get, that has a profile of its own, and that nobody deletes."""
    await _create(client, platform_config(LOCAL))
    wanted = platform_cluster(environment, LOCAL)
    await _create(client, wanted)
    clusters = await client.resource(wanted["apiVersion"], wanted["kind"])
    there = await client.get(clusters, PLATFORM.name, namespace=PLATFORM.namespace)
    if there["spec"]["profile"] != wanted["spec"]["profile"]:
        await _made_anew(client, clusters, there, wanted)
    for document in kept(LOCAL):
        await put(client, document)


async def _made_anew(client: Client, clusters: Resource[Object], there: Object, wanted: Object) -> None:
    """A landscape from before the platform had a profile of its own, and a profile cannot be exchanged.

    What others have noted on the object stays, their claims above all. While the policy still keeps it, and when
    somebody else was quicker, this fails, and the next try comes.
    """
    _, binding = kept(LOCAL)
    with contextlib.suppress(NotFound):
        await client.delete(await client.resource(binding["apiVersion"], binding["kind"]), POLICY)
    await client.delete(clusters, PLATFORM.name, namespace=PLATFORM.namespace)
    with contextlib.suppress(NotFound):
        free = MergePatch({"metadata": {"finalizers": None}})
        await client.patch(clusters, PLATFORM.name, free, namespace=PLATFORM.namespace)
    noted = {one: there["metadata"].get(one) for one in ("labels", "annotations", "finalizers")}
    await client.create(clusters, {**wanted, "metadata": {**wanted["metadata"], **noted}})


async def _create(client: Client, document: Object) -> None:
    with contextlib.suppress(AlreadyExists):  # the owner's own, or of a start that was interrupted
        await client.create(await client.resource(document["apiVersion"], document["kind"]), document)


def local_provider() -> Object:
    """The provider that every landscape has: it needs no program of its own, and is declared like the others."""
    return {
        "apiVersion": ClusterProvider.API.api_version,
        "kind": ClusterProvider.API.kind,
        "metadata": {"name": LOCAL},
        "spec": {"image": f"mooring/{LOCAL}"},
    }


def first_purposes() -> Iterator[Object]:
    """The four kinds of clusters that a landscape has: three to be shared, and one for each customer."""
    shared: Object = {"dedicated": False}
    alone = {"dedicated": True, "traits": [{"trait": WORKERLESS, "optional": True}]}
    for name, spec in {"platform": shared, "onboarding": shared, "workload": shared, "mcp": alone}.items():
        yield {
            "apiVersion": Purpose.API.api_version,
            "kind": Purpose.API.kind,
            "metadata": {"name": name},
            "spec": spec,
        }

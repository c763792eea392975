"""What a landscape begins with: purposes, and local clusters to be had. From then on it is the owner's.

Definitions and rights are put in order at every start. The objects are created once: what somebody edits or deletes
later stays so.
"""

from __future__ import annotations

from collections.abc import Iterator

from mooring.api.crds import definition_of
from mooring.api.kyma import KubeconfigRequest
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose
from mooring.api.traits import WORKERLESS
from mooring.app.installing import EMBEDDED, NAMESPACE, install_everything, reading, rights_for
from mooring.kube import Client, MergePatch, Object, untyped
from mooring.kube.definitions import install, put
from mooring.kube.errors import AlreadyExists
from mooring.kyma.controllers import RIGHTS as KYMA_RIGHTS
from mooring.providers.deployment.controllers import RIGHTS
from mooring.providers.deployment.processes import HOME_RIGHTS
from mooring.providers.local import LocalConfig, LocalProvider, first_objects
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
    namespace = await client.get(_NAMESPACES, NAMESPACE)
    if _MARK in (namespace["metadata"].get("annotations") or {}):
        return
    first = (*first_purposes(), local_provider(), *first_objects(environment=environment, provider=LOCAL))
    for document in first:
        resource = await client.resource(document["apiVersion"], document["kind"])
        try:
            await client.create(resource, document)
        except AlreadyExists:
            continue  # the owner's own, or of a start that was interrupted
    await client.patch(_NAMESPACES, NAMESPACE, MergePatch({"metadata": {"annotations": {_MARK: "true"}}}))


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

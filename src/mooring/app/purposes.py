"""The purposes that a landscape begins with. They are the owner's from then on: what is edited or deleted stays so."""

from __future__ import annotations

from mooring.api.purposes import Purpose
from mooring.api.traits import WORKERLESS
from mooring.app.installing import NAMESPACE
from mooring.kube import Client, MergePatch, Object, typed, untyped
from mooring.kube.errors import AlreadyExists

_NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
# On our namespace: the purposes were there once, and need not be put there again.
_MARK = "mooring.dev/first-purposes"


async def install_first_purposes(client: Client) -> None:
    """Create them, unless that was done before. Stopped in the middle, the next start goes on."""
    namespace = await client.get(_NAMESPACES, NAMESPACE)
    if _MARK in (namespace["metadata"].get("annotations") or {}):
        return
    for document in first_purposes():
        try:
            await client.create(typed(Purpose), document)
        except AlreadyExists:
            continue  # the owner's own
    await client.patch(_NAMESPACES, NAMESPACE, MergePatch({"metadata": {"annotations": {_MARK: "installed"}}}))


def first_purposes() -> list[Object]:
    """The four kinds of clusters that a landscape has: three to be shared, and one for each customer."""
    alone = {"dedicated": True, "traits": [{"trait": WORKERLESS, "optional": True}]}
    specs = {"platform": _shared(), "onboarding": _shared(), "workload": _shared(), "mcp": alone}
    return [
        {"apiVersion": Purpose.API.api_version, "kind": Purpose.API.kind, "metadata": {"name": name}, "spec": spec}
        for name, spec in specs.items()
    ]


def _shared() -> Object:
    return {"dedicated": False}

"""Putting objects that are ours as a whole into a cluster; CustomResourceDefinitions above all.

All of it can be repeated, by several at once, and what is in place already is not written again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from mooring.kube.client import Client
from mooring.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from mooring.kube.resources import Object, Resource, untyped

FIELD_MANAGER = "mooring"

DEFINITIONS = untyped(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
_RBAC = "rbac.authorization.k8s.io"
# What every server serves need not be looked up: a start has no time to lose.
_KNOWN: Mapping[str, Resource[Any]] = {
    one.kind: one
    for one in (
        DEFINITIONS,
        untyped(plural="namespaces", kind="Namespace", namespaced=False),
        untyped(plural="serviceaccounts", kind="ServiceAccount"),
        untyped(group=_RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False),
        untyped(group=_RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False),
        untyped(group=_RBAC, plural="roles", kind="Role"),
        untyped(group=_RBAC, plural="rolebindings", kind="RoleBinding"),
        untyped(group="flowcontrol.apiserver.k8s.io", plural="flowschemas", kind="FlowSchema", namespaced=False),
    )
}
_SERVED_WITHIN, _ASK_AGAIN = 60.0, 0.05  # seconds


class NotServed(KubeError):
    """A definition was applied, and the server does not serve it."""


async def install(client: Client, documents: Sequence[Object]) -> None:
    """Apply definitions, and return once the server serves all of them."""
    await asyncio.gather(*(put(client, document) for document in documents))
    waiting = {document["metadata"]["name"] for document in documents}
    try:
        async with asyncio.timeout(_SERVED_WITHIN):
            # One is asked for again and again; when it is there, the others are, or will be in a moment.
            for some in (documents[-1:], documents[:-1]):
                await asyncio.gather(*(_until_served(client, document, waiting) for document in some))
    except TimeoutError:
        names = ", ".join(sorted(waiting))
        raise NotServed(f"The server has not begun to serve {names}; 'kubectl describe crd' tells why.") from None


def is_established(definition: Object) -> bool:
    """Whether the server says of a definition that it serves it. It may take a moment longer until it does."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


async def put(client: Client, document: Object) -> None:
    """Create the object, or replace it if it is there and not as we say.

    Looking first is worth it: most starts find everything in place. These objects are ours as a whole, so they are
    created or replaced; a server-side apply of a large schema takes the server twice as long.
    """
    resource = _KNOWN.get(document["kind"]) or await client.resource(document["apiVersion"], document["kind"])
    metadata = document["metadata"]
    while True:
        # Somebody else may be installing, too: whoever comes second looks again.
        with contextlib.suppress(AlreadyExists, Conflict):
            try:
                stored = await client.get(resource, metadata["name"], namespace=metadata.get("namespace"))
            except NotFound:
                await client.create(resource, document, field_manager=FIELD_MANAGER)
                return
            if not _is_in_place(stored, document):
                await client.replace(resource, _replaced(stored, document), field_manager=FIELD_MANAGER)
            return
        await asyncio.sleep(_ASK_AGAIN)


def _is_in_place(stored: Object, document: Object) -> bool:
    """Whether each field is as we say. Servers add fields beside ours (in a spec, say), but nothing inside of them."""
    wanted = {**document, "metadata": _noted(stored, document)}
    for name, value in wanted.items():
        there = stored.get(name)
        if there != ({**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value):
            return False
    return True


def _replaced(stored: Object, document: Object) -> Object:
    """The object as we say it, with the identity of the one that is there."""
    return {**stored, **document, "metadata": {**stored["metadata"], **_noted(stored, document)}}


def _noted(stored: Object, document: Object) -> Object:
    """Our labels and annotations beside those of others."""
    there, ours = stored["metadata"], document["metadata"]
    return {name: {**there.get(name, {}), **ours[name]} for name in ("labels", "annotations") if name in ours}


async def _until_served(client: Client, document: Object, waiting: set[str]) -> None:
    """A condition tells what the server means to do: an answer is what it does."""
    spec = document["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    while True:
        try:
            await client.raw("GET", path, parameters={"limit": 1})
        except NotFound:
            await asyncio.sleep(_ASK_AGAIN)
        else:
            waiting.discard(document["metadata"]["name"])
            return

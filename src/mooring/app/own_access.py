"""Access for oneself: the requests that ``mooring kubeconfig`` makes for a person, and the context that comes of them.

Each time another request is made. What the same person had for the same thing before ends when the new one is there; a
label tells whose it is and what for, so that nobody's is ended who is only called alike.
"""

from __future__ import annotations

import contextlib
import re
from typing import Final

from mooring.api.clusters import Cluster
from mooring.api.kinds import Document
from mooring.api.names import name_hash, shortened
from mooring.app.accesses import PLAIN, Wish, create
from mooring.app.settings import SettingError
from mooring.kube import Client, ObjectKey, key_of, typed
from mooring.kube.errors import Conflict, Forbidden, NotFound

_OWNER_LABEL: Final = "mooring.dev/kubeconfig-for"
# With the end that the server adds, and ".kubeconfig" behind it, the name of its Secret is not shortened.
_LONGEST: Final = 46
_UNSAID: Final = "default"  # the namespace that contexts leave out


async def cluster_named(client: Client, text: str, namespace: str | None) -> ObjectKey:
    """The Cluster that is meant: NAMESPACE/NAME, or a name that only one of them has."""
    where, slash, name = text.rpartition("/")
    if slash:
        return ObjectKey(where, name)
    if namespace is not None:
        return ObjectKey(namespace, name)
    found = (await client.list(typed(Cluster), field_selector=f"metadata.name={name}")).items
    if len(found) == 1:
        return key_of(found[0])
    if not found:
        raise SettingError(f"There is no cluster {name!r}; 'mooring cluster list -A' shows those there are.")
    keys = ", ".join(sorted(str(key_of(one)) for one in found))
    raise SettingError(f"Several clusters are called {name!r}: {keys}. Say which, as NAMESPACE/NAME.")


async def ask_for_oneself(client: Client, wish: Wish, namespace: str, *, user: str, machine: str) -> Document:
    """A new access request of one person; what they had before stays as it is."""
    what = wish.cluster or wish.request
    owner = name_hash(user, machine, "cluster" if wish.cluster else "request", namespace, what)
    harmless = re.sub(r"[^a-z0-9-]+", "-", user.lower()).strip("-") or "somebody"
    prefix = shortened(f"kubeconfig-{harmless}-{what.rpartition('/')[2]}", _LONGEST)
    document = wish.document(namespace, None)
    document["metadata"] |= {"generateName": f"{prefix}-", "labels": {_OWNER_LABEL: owner}}
    return await create(client, document)


async def end_earlier(client: Client, metadata: Document) -> None:
    """Delete what the same person had for the same thing before this request; of two who ask at once, the later stays.

    Who may not do that leaves them: they end by themselves, with their ttl.
    """
    namespace, selector = metadata["namespace"], f"{_OWNER_LABEL}={metadata['labels'][_OWNER_LABEL]}"
    with contextlib.suppress(Forbidden):
        for one in (await client.list(PLAIN, namespace=namespace, label_selector=selector)).items:
            other = one["metadata"]
            if _age(other) < _age(metadata):
                with contextlib.suppress(NotFound, Conflict):  # somebody was faster
                    await client.delete(PLAIN, other["name"], namespace=namespace, uid=other["uid"])


def _age(metadata: Document) -> tuple[str, str]:
    return metadata["creationTimestamp"], metadata["uid"]


def context_for(place: ObjectKey) -> str:
    """What the context is called that leads into the cluster of a request, or into a Cluster."""
    return f"mooring-{place.name}" if place.namespace == _UNSAID else f"mooring-{place.namespace}/{place.name}"


def renamed(document: Document, name: str) -> Document:
    """A kubeconfig whose one cluster, user and context have a name that others do not have."""
    cluster, user = document["clusters"][0], document["users"][0]
    return {
        **document,
        "clusters": [{**cluster, "name": name}],
        "users": [{**user, "name": name}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }

"""Keeping objects as they should be: made where they are missing, mended where somebody changed them, removed at last.

What is there is read from stores that watch everything with our labels, so a look costs nothing and whoever lays a hand
on an object is heard. Only fields that we set are compared: servers fill in others, and so may people.

An object of the same name that is not of this provider is never touched: :class:`~.contract.Unfit` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from mooring.api.marks import PROVIDER_GENERATION_ANNOTATION
from mooring.api.providers import ClusterProvider
from mooring.kube import Change, Object, ObjectKey, Resource, key_of, uid_of, untyped
from mooring.kube.errors import AlreadyExists, NotFound
from mooring.providers.deployment.contract import MANAGED_BY, MANAGER, NAME, Unfit, labels_of
from mooring.providers.deployment.grounds import Home
from mooring.providers.deployment.objects import Document
from mooring.runtime import Manager, Store, TryAgain, Writer
from mooring.runtime.predicates import is_deleting

_RBAC = "rbac.authorization.k8s.io"

ACCOUNTS = untyped(plural="serviceaccounts", kind="ServiceAccount")
CLUSTER_ROLES = untyped(group=_RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False)
CLUSTER_BINDINGS = untyped(group=_RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False)
ROLES = untyped(group=_RBAC, plural="roles", kind="Role")
BINDINGS = untyped(group=_RBAC, plural="rolebindings", kind="RoleBinding")

# Everything that is made for a ClusterProvider, and nothing else.
SELECTOR = f"{MANAGED_BY}={MANAGER},{NAME}={ClusterProvider.API.kind}"


class Placing:
    """The objects of some kinds that are made for the providers of one installation."""

    def __init__(self, manager: Manager, home: Home, resources: Sequence[Resource[Object]]) -> None:
        self._client = manager.client
        self._namespace = home.namespace
        self.resources = {one.kind: one for one in resources}
        self.stores: dict[str, Store[Object]] = {one.kind: self._store(manager, one) for one in resources}
        self._said: dict[str, tuple[Document, Any]] = {}  # by uid: what we last wrote, and how the server put it
        self._writers = {one.kind: Writer(manager.client, one, self.stores[one.kind]) for one in resources}

    def _store(self, manager: Manager, resource: Resource[Object]) -> Store[Object]:
        namespace = self._namespace if resource.namespaced else None
        return manager.store(resource, namespace=namespace, label_selector=SELECTOR, indexes={"owner": by_owner})

    def heard(self, wake: Callable[[ObjectKey], None]) -> None:
        """Have ``wake`` called with the key of the ClusterProvider whose object was changed, by whomever."""

        def listen(change: Change[Object]) -> None:
            for name in {name for one in (change.before, change.after) if one is not None for name in by_owner(one)}:
                wake(ObjectKey("", name))

        for store in self.stores.values():
            store.subscribe(listen)

    def there(self, document: Document) -> Object | None:
        """What is there in place of the document, as far as we have heard."""
        return self.stores[document["kind"]].get(key_of(document))

    async def place(self, document: Document, provider: ClusterProvider) -> Object:
        """Have the object as the document says, and give it as it is then."""
        there = self.there(document)
        if there is None:
            try:
                return await self._writers[document["kind"]].create(_without_nothing(document))
            except AlreadyExists:
                there = await self._look(document)
        if not is_of(there, provider):
            raise taken(document, there)
        if is_deleting(there):
            return there  # whoever hears that it is gone makes it again
        try:
            return await self._mend(there, document)
        except (AlreadyExists, NotFound):
            raise TryAgain(f"{document['kind']} {key_of(document)} has just been changed by somebody else") from None

    async def _mend(self, there: Object, document: Document) -> Object:
        writer = self._writers[document["kind"]]
        if _is_another(there, document):
            await self.remove(document["kind"], there)
            return await writer.create(_without_nothing(document))
        wanted = overlaid(there, document, whole=_generation_of(there) != _generation_of(document))
        if wanted == there or self._is_said_otherwise(there, document):
            return there
        written = await writer.save(there, wanted)
        self._said[uid_of(written)] = (document, written.get("spec"))
        return written

    def _is_said_otherwise(self, there: Object, document: Document) -> bool:
        """Whether this is what a server made of the very same words before: it writes 1024Mi as 1Gi, say."""
        said = self._said.get(uid_of(there))
        return said == (document, there.get("spec")) and says(there["metadata"], document["metadata"])

    async def _look(self, document: Document) -> Object:
        """An object that has lost its labels is not in our store."""
        key = key_of(document)
        try:
            return await self._client.get(self.resources[document["kind"]], key.name, namespace=key.namespace or None)
        except NotFound:
            raise TryAgain(f"{document['kind']} {key} has just been removed") from None

    async def remove(self, kind: str, thing: Object) -> None:
        """Delete this very object, and let what it owns follow."""
        self._said.pop(uid_of(thing), None)
        try:
            await self._writers[kind].delete(thing, guarded=False, propagation="Background")
        except NotFound:
            self.stores[kind].deleted(thing)

    async def remove_but(
        self,
        provider: ClusterProvider,
        keep: Iterable[Document] = (),
        *,
        kinds: Iterable[str],
        names: Collection[str] | None = None,
    ) -> None:
        """Delete the provider's objects of these kinds (and names), in this order, but for some."""
        kept = {(one["kind"], key_of(one)) for one in keep}
        for kind in kinds:
            for thing in self.of(provider, kind):
                meant = names is None or key_of(thing).name in names
                if meant and (kind, key_of(thing)) not in kept and not is_deleting(thing):
                    await self.remove(kind, thing)

    def of(self, provider: ClusterProvider, kind: str) -> list[Object]:
        """The provider's objects of a kind, as far as we have heard."""
        return [one for one in self.stores[kind].by("owner", provider.metadata.name) if is_of(one, provider)]

    async def left(self, provider: ClusterProvider, *more: Resource[Object]) -> list[tuple[str, Object]]:
        """What carries the provider's labels, asked of the server: a store may not have heard of the latest."""
        labels = ",".join(f"{name}={value}" for name, value in labels_of(provider).items())
        found = []
        for resource in (*self.resources.values(), *more):
            namespace = self._namespace if resource.namespaced else None
            listing = await self._client.list(resource, namespace=namespace, label_selector=labels)
            found += [(resource.kind, one) for one in listing.items if _may_be_of(one, provider)]
        return found


def by_owner(thing: Object) -> Iterable[str]:
    """The ClusterProviders that own it, by name."""
    return [one["name"] for one in _owners(thing) if one.get("kind") == ClusterProvider.API.kind]


def is_of(thing: Object, provider: ClusterProvider) -> bool:
    """Whether it was made for this very provider; one whose owner somebody struck out still has our labels."""
    owners = _owners(thing)
    if owners:
        return any(one.get("uid") == provider.metadata.uid for one in owners)
    labels = thing["metadata"].get("labels") or {}
    return all(labels.get(name) == value for name, value in labels_of(provider).items())


def _may_be_of(thing: Object, provider: ClusterProvider) -> bool:
    """Not if it is made for another provider: two long names may have one label."""
    return is_of(thing, provider) or not list(by_owner(thing))


def taken(document: Document, there: Object) -> Unfit:
    owners = ", ".join(f"{one.get('kind')} {one.get('name')}" for one in _owners(there)) or "nobody that we know"
    what = f"{document['kind']} {key_of(document)}"
    return Unfit(
        f"There is a {what} already, which belongs to {owners} and is left alone; "
        f"remove it, or give this provider another name.",
        reason="NameTaken",
    )


def overlaid(there: Any, wanted: Any, *, whole: bool) -> Any:
    """What is there with what is wanted over it; the very same where that changes nothing.

    ``whole``: lists of ours are written as they are. Otherwise, a list whose elements say what ours say is left.
    """
    if isinstance(wanted, dict):
        over = dict(there) if isinstance(there, dict) else {}
        for name, value in wanted.items():
            result = None if value is None else overlaid(over.get(name), value, whole=whole)
            if result is not None:
                over[name] = result
            elif over.get(name):
                del over[name]
        return over
    if not wanted and not there:
        return there  # an empty list and none are the same
    if isinstance(wanted, list):
        return there if not whole and says(there, wanted) else _without_nothing(wanted)
    return wanted


def says(there: Any, wanted: Any) -> bool:
    """Whether each field that is wanted is there as it should be."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(says(there.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(there, list):
        return len(there) == len(wanted) and all(map(says, there, wanted))
    return bool(there == wanted or (not there and not wanted))


def _without_nothing(wanted: Any) -> Any:
    if isinstance(wanted, dict):
        return {name: _without_nothing(value) for name, value in wanted.items() if value is not None}
    return [_without_nothing(one) for one in wanted] if isinstance(wanted, list) else wanted


def _is_another(there: Object, document: Document) -> bool:
    """Whether a field differs that a server lets nobody change: then it takes another object."""
    if "roleRef" in document:
        return not says(there.get("roleRef"), document["roleRef"])
    selector = (document.get("spec") or {}).get("selector")
    return document["kind"] == "Deployment" and (there.get("spec") or {}).get("selector") != selector


def _generation_of(thing: Object) -> str:
    return str((thing["metadata"].get("annotations") or {}).get(PROVIDER_GENERATION_ANNOTATION, ""))


def _owners(thing: Object) -> list[dict[str, Any]]:
    return list(thing["metadata"].get("ownerReferences") or ())

"""The verbs: any object of any kind, read and written at one API server.

`Client` turns a verb into a call and the answer into an object. Neighbours: `transport` sends (and decides
what is sent again), `lists` pages, `discovery` finds kinds, `watch` builds a watch that survives faults on
`watch_stream`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from mooring import __version__
from mooring.kube.calls import Call, query
from mooring.kube.connection import Connection
from mooring.kube.decoding import decoders_for
from mooring.kube.discovery import Discovery
from mooring.kube.errors import BadAnswer, InvalidName
from mooring.kube.events import Undecodable
from mooring.kube.lists import PAGE, Known, Listing, collect
from mooring.kube.objects import key_of
from mooring.kube.patch import Apply, Patch
from mooring.kube.resources import Object, Resource
from mooring.kube.streams import Blocks
from mooring.kube.timeouts import Timeouts
from mooring.kube.transport import Guard, Heard, Transport, Warned

T = TypeVar("T")

_JSON = "application/json"
_encode = msgspec.json.Encoder().encode


class Client:
    """A client of one API server. Open it with `async with`; it may be used by many tasks at once.

    Where `namespace` is not given for an object that carries its own, the object's counts. An answer for a
    subresource other than `status` is of another kind than the resource: name one whose `decode_as` is that
    kind's.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
        user_agent: str = f"mooring/{__version__}",
        guard: Guard | None = None,
        heard: Heard | None = None,
        warned: Warned | None = None,
    ) -> None:
        self.connection = connection
        self.timeouts = timeouts
        self._transport = Transport(
            connection, timeouts=timeouts, user_agent=user_agent, guard=guard, heard=heard, warned=warned
        )
        self._discovery = Discovery(lambda path: self._transport.send(Call("GET", path)))

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def resource(self, api_version: str, kind: str) -> Resource[Object]:
        """How the server serves this kind: `await client.resource("v1", "ConfigMap")`."""
        return await self._discovery.resource(api_version, kind)

    async def version(self) -> str:
        """The server's version, such as `v1.36.4`."""
        body = await self._transport.send(Call("GET", "/version"))
        return str(msgspec.json.decode(body)["gitVersion"])

    async def get(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> T:
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        return await self._object(resource, Call("GET", path, accept=_accepted(resource)))

    async def list(
        self,
        resource: Resource[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        page: int = PAGE,
        whole: bool = True,
        known: Known[T] | None = None,
    ) -> Listing[T]:
        """All of them, read consistently, page by page. Without a namespace: of all namespaces.

        An object that does not read as `decode_as` is an error; with `whole` False it is left out and told in
        the listing's `undecodable`. What `known` has under an object's key stands for it where it is equal.
        """
        path = resource.path(namespace=namespace)

        async def fetch(limit: int | None, token: str | None) -> bytes:
            asked = {
                "labelSelector": label_selector,
                "fieldSelector": field_selector,
                "limit": limit,
                "continue": token,
            }
            return await self._transport.send(Call("GET", path, query(asked), accept=_accepted(resource, "List")))

        listing = await collect(fetch, resource, path=path, page=page, known=known)
        if whole and listing.undecodable:
            raise BadAnswer(_misfits(resource, listing.undecodable), verb="GET", path=path)
        return listing

    async def create(
        self,
        resource: Resource[T],
        body: object,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> T:
        """Create an object; with `name` and `subresource`, something of an object (a token, say)."""
        if (name is None) != (subresource is None):
            raise InvalidName("name and subresource come together; an object's own name is in its metadata")
        where = _namespace(resource, namespace, body)
        call = Call(
            "POST",
            resource.path(namespace=where, name=name, subresource=subresource),
            _write_query(dry_run, field_manager),
            _encode(body),
            _JSON,
        )
        return await self._object(resource, call)

    async def replace(
        self,
        resource: Resource[T],
        body: object,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> T:
        """Put the object in place of what is there; its resourceVersion, if it has one, must be true."""
        where = _namespace(resource, namespace, body)
        path = resource.path(namespace=where, name=key_of(body).name, subresource=subresource)
        call = Call("PUT", path, _write_query(dry_run, field_manager), _encode(body), _JSON)
        return await self._object(resource, call)

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Patch,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
    ) -> T:
        """Change a part of the object; the patch knows in which way."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        force = patch.force if isinstance(patch, Apply) else False
        asked = _write_query(dry_run, field_manager, force=force)
        return await self._object(resource, Call("PATCH", path, asked, _encode(patch.body), patch.content_type))

    async def apply(
        self,
        resource: Resource[T],
        body: object,
        *,
        field_manager: str,
        force: bool = False,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> T:
        """Server-side apply: these fields, in this manager's name. Conflict if another owns one of them."""
        return await self.patch(
            resource,
            key_of(body).name,
            Apply(body, force=force),
            namespace=_namespace(resource, namespace, body),
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
        )

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> T | None:
        """Delete the object, if it is still the one with this uid and resourceVersion (else Conflict).

        It may stay for a while, held by finalizers: then it is returned as it is now. `propagation` is
        Background, Foreground or Orphan.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {key: value for key, value in preconditions.items() if value is not None} or None,
            "propagationPolicy": propagation,
            "gracePeriodSeconds": grace_period,
            "dryRun": ["All"] if dry_run else None,
        }
        body = _encode({key: value for key, value in options.items() if value is not None})
        path = resource.path(namespace=namespace, name=name)
        call = Call("DELETE", path, "", body, _JSON)
        answer = await self._transport.send(call)
        return _decoded(resource, call, answer) if _is_left(answer) else None

    async def raw(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str | int | bool | None] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        accept: str = "*/*",
        patiently: bool = True,
    ) -> bytes:
        """A path outside the API of objects, such as /readyz, taken as it is: ours, never a stranger's.

        `patiently` False gives up at the first fault, for callers that ask again by themselves.
        """
        call = Call(method, path, query(parameters or {}), body, content_type, accept)
        return await self._transport.send(call, patiently=patiently)

    @asynccontextmanager
    async def watch_stream(
        self,
        resource: Resource[Any],
        *,
        resource_version: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        seconds: int | None = None,
    ) -> AsyncIterator[Blocks]:
        """One watch connection, as blocks of whole lines, until it ends or breaks; `watching` mends it."""
        path = resource.path(namespace=namespace)
        asked: dict[str, str | int | bool | None] = {
            "watch": True,
            "allowWatchBookmarks": True,
            "resourceVersion": resource_version,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "timeoutSeconds": seconds,
        }
        async with self._transport.stream(Call("GET", path, query(asked), accept=_accepted(resource))) as reader:
            yield Blocks(reader, path=path)

    async def _object(self, resource: Resource[T], call: Call) -> T:
        return _decoded(resource, call, await self._transport.send(call))


class _LeftMeta(msgspec.Struct, rename="camel"):
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int = 0
    finalizers: list[str] = []


class _LeftSpec(msgspec.Struct):
    finalizers: list[str] = []  # a namespace has them here


class _Left(msgspec.Struct):
    metadata: _LeftMeta = msgspec.field(default_factory=_LeftMeta)
    spec: _LeftSpec = msgspec.field(default_factory=_LeftSpec)


def _is_left(answer: bytes) -> bool:
    """Whether the answer to a deletion is the object, still there. Servers also answer with a Status, or with the
    object as it was."""
    try:
        left = msgspec.json.decode(answer, type=_Left)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    metadata = left.metadata
    waits = metadata.finalizers or left.spec.finalizers or metadata.deletion_grace_period_seconds
    return bool(metadata.deletion_timestamp and waits)


def _decoded(resource: Resource[T], call: Call, body: bytes) -> T:
    try:
        return decoders_for(resource).object.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadAnswer(f"not a {resource.kind}: {error}", verb=call.verb, path=call.path) from error


def _accepted(resource: Resource[Any], form: str = "") -> str | None:
    """What to ask the server for, if it is not the whole object."""
    if not resource.metadata_only:
        return None
    return f"application/json;as=PartialObjectMetadata{form};g=meta.k8s.io;v=v1"


def _namespace(resource: Resource[Any], given: str | None, body: object) -> str | None:
    if not resource.namespaced:
        return given
    where = given if given is not None else key_of(body).namespace
    if not where:
        raise InvalidName(f"{resource.kind} is in a namespace, and none was given")
    return where


def _misfits(resource: Resource[Any], undecodable: Sequence[Undecodable]) -> str:
    first = undecodable[0]
    return f"{len(undecodable)} cannot be read as {resource.kind}, first {first.key or '(unnamed)'}: {first.error}"


def _write_query(dry_run: bool, field_manager: str | None, *, force: bool = False) -> str:
    if not (dry_run or field_manager or force):
        return ""
    return query(
        {
            "dryRun": "All" if dry_run else None,
            "fieldManager": field_manager,
            "force": True if force else None,
        }
    )

"""Which kinds a server serves, and under which plural: asked once per group and version, and remembered.

A kind that is not in what is remembered may have been installed since, so a miss asks the server once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from mooring.kube.errors import BadAnswer, InvalidName, NotFound, UnknownKind
from mooring.kube.resources import Object, Resource, segment, untyped

Fetch = Callable[[str], Awaitable[bytes]]


class _Entry(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool


class _Entries(msgspec.Struct, frozen=True):
    resources: list[_Entry]


class Discovery:
    """What one server said about itself."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[str, dict[str, Resource[Object]]] = {}
        self._asking = asyncio.Lock()

    async def resource(self, api_version: str, kind: str) -> Resource[Object]:
        """The resource that is called `kind` in `api_version`."""
        seen = self._known.get(api_version)
        if seen is not None and kind in seen:
            return seen[kind]
        async with self._asking:
            # Whoever waited for the lock may find that another asked meanwhile.
            if self._known.get(api_version) is seen:
                self._known[api_version] = await self._ask(api_version)
        found = self._known[api_version].get(kind)
        if found is None:
            raise UnknownKind(api_version=api_version, kind=kind)
        return found

    async def _ask(self, api_version: str) -> dict[str, Resource[Object]]:
        group, version, path = _place(api_version)
        try:
            body = await self._fetch(path)
        except NotFound:
            return {}
        try:
            entries = msgspec.json.decode(body, type=_Entries).resources
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"not a list of resources: {error}", verb="GET", path=path) from error
        return {
            entry.kind: untyped(
                group=group,
                version=version,
                plural=entry.name,
                kind=entry.kind,
                namespaced=entry.namespaced,
            )
            for entry in entries
            if "/" not in entry.name  # those are subresources
        }


def _place(api_version: str) -> tuple[str, str, str]:
    group, slash, version = api_version.rpartition("/")
    if slash and not group:
        raise InvalidName(f"{api_version!r} is not an apiVersion")
    start = f"/apis/{segment(group)}" if group else "/api"
    return group, version, f"{start}/{segment(version)}"

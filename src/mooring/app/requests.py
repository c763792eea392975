"""What people do with requests: create, extend and delete them. ``waiting`` waits for what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mooring.api.durations import seconds_of
from mooring.api.kinds import Document, Kind
from mooring.api.requests import ClusterRequest
from mooring.app.configuration_texts import BadText, Text, documents_of
from mooring.app.explaining import REQUESTS, not_installed, plainly, request_named, seen
from mooring.app.settings import SettingError
from mooring.kube import Client, MergePatch, ObjectKey
from mooring.kube.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration
from mooring.scheduling.story import Story, story

API: Final = ClusterRequest.API
# Read as plain data where it is printed: nothing that the server has is lost.
PLAIN_REQUESTS: Final = plainly(ClusterRequest)
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be asked for, as it was said on the command line."""

    purposes: Sequence[str]
    traits: Sequence[str] = ()
    version: str = ""
    dedicated: bool | None = None
    prefix: str = ""
    ttl: str = ""
    labels: Sequence[str] = ()
    annotations: Sequence[str] = ()

    def document(self, namespace: str, name: str | None) -> Document:
        """The request, ready to be created; the server judges the rest."""
        metadata: Document = {"namespace": namespace}
        metadata |= {"name": name} if name else {"generateName": f"{self.purposes[0]}-"}
        for field, given in (("labels", self.labels), ("annotations", self.annotations)):
            if given:
                metadata[field] = dict(_pair(one, f"--{field.removesuffix('s')}") for one in given)
        return {"apiVersion": API.api_version, "kind": API.kind, "metadata": metadata, "spec": self._spec()}

    def _spec(self) -> Document:
        one = len(self.purposes) == 1
        spec: Document = {"purpose": self.purposes[0]} if one else {"purposes": list(self.purposes)}
        said: Mapping[str, Any] = {
            "kubernetes": {"version": self.version} if self.version else None,
            "dedicated": self.dedicated,
            "traits": [trait_wish(text) for text in self.traits] or None,
            "prefix": self.prefix or None,
            "ttl": self.ttl or None,
        }
        return spec | {field: value for field, value in said.items() if value is not None}


def trait_wish(text: str) -> Document:
    """``T``, ``T?`` if it is optional, ``!T`` if it is not wanted; or an entry of ``spec.traits`` as YAML."""
    if text.lstrip().startswith("{"):
        try:
            (document,) = documents_of(Text(f"--trait {text!r}", text.encode()))
        except BadText as error:
            raise SettingError(f"{error}.") from None
        except ValueError:
            raise SettingError(
                f"--trait {text!r} says nothing; write a trait, or an entry such as {{or: […]}}."
            ) from None
        return dict(document)
    name = text.strip()
    negated, optional = name.startswith("!"), name.endswith("?")
    name = name.removeprefix("!").removesuffix("?")
    if not name:
        raise SettingError(
            f"--trait {text!r} names no trait; write T, T? if it is optional, or !T if it is not wanted."
        )
    wish: Document = {"trait": name}
    return wish | ({"optional": True} if optional else {}) | ({"negated": True} if negated else {})


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SettingError(f"{option} {text!r} is not KEY=VALUE.")
    return key, value


async def create(client: Client, document: Document) -> Document:
    """Create it; as the server has it now."""
    try:
        return await client.create(PLAIN_REQUESTS, document)
    except (AlreadyExists, Invalid, NotFound) as error:
        raise refused(client, ClusterRequest, document, error) from None


async def foretold(client: Client, document: Document, configuration: Configuration = DEFAULT_CONFIGURATION) -> Story:
    """What would be decided, against the live state. The server checks the request and keeps nothing of it."""
    try:
        checked = await client.create(REQUESTS, document, dry_run=True)
    except (AlreadyExists, Invalid, NotFound) as error:
        raise refused(client, ClusterRequest, document, error) from None
    stock = await seen(client, configuration)
    return story(checked, stock.catalogue, stock.fleet, on_paper=True)


def refused(client: Client, kind: type[Kind], document: Document, error: ApiError) -> SettingError:
    """What the server does not want of an object that somebody creates, and what to do about it."""
    metadata, word = document["metadata"], kind.API.kind.lower()
    if isinstance(error, AlreadyExists):
        a = "an" if word[0] in "aeiou" else "a"
        return SettingError(
            f"There is already {a} {word} {metadata['name']!r} in the namespace {metadata['namespace']!r}. Choose "
            f"another name, or leave it out and get one."
        )
    if isinstance(error, Invalid):
        problems = list(dict.fromkeys(map(str, error.causes))) or [error.message]
        return SettingError("\n  ".join(["The server refused the request:", *problems]))
    if "namespaces" in error.message:
        name = metadata["namespace"]
        return SettingError(f"There is no namespace {name!r}. Create it, or choose another with --namespace.")
    return not_installed(client, kind)


async def delete(client: Client, key: ObjectKey) -> str:
    """Delete a request; its uid if it stays for a while, nothing if it is gone."""
    request = await request_named(client, key)
    try:
        left = await client.delete(REQUESTS, key.name, namespace=key.namespace, uid=request.metadata.uid)
    except (NotFound, Conflict):  # somebody else was faster
        return ""
    return "" if left is None else left.metadata.uid


# -- lifetimes ------------------------------------------------------------------------------------------------------


async def extend(client: Client, key: ObjectKey, *, ttl: str = "", by: str = "", now: float) -> tuple[str, float]:
    """Move the end of a request; the new ttl, and how many seconds are left. ``now`` is in seconds since 1970."""
    for attempt in range(_ATTEMPTS):
        request = await request_named(client, key)
        new = _new_ttl(request, ttl=ttl, by=by, now=now)
        guard = {"resourceVersion": request.metadata.resource_version}
        try:
            patched = await client.patch(
                REQUESTS, key.name, MergePatch({"metadata": guard, "spec": {"ttl": new}}), namespace=key.namespace
            )
        except Conflict:
            if attempt + 1 == _ATTEMPTS:
                raise
            continue
        left = seconds_left(patched, now)
        return new, 0.0 if left is None else left
    raise AssertionError("unreachable")  # pragma: no cover


def _new_ttl(request: ClusterRequest, *, ttl: str, by: str, now: float) -> str:
    name, old = request.metadata.name, request.spec.ttl
    if request.metadata.deleting:
        raise SettingError(f"The clusterrequest {name!r} is already being deleted; create a new one.")
    if by and not old:
        raise SettingError(f"The clusterrequest {name!r} has no end that could be moved; give it one with --ttl.")
    new = ttl or duration_text(seconds_of(old) + seconds_of(by))
    age = now - moment(request.metadata.creation_timestamp)
    if seconds_of(new) <= age:
        raise SettingError(
            f"The clusterrequest {name!r} is {duration_text(age)} old, so that {new} would end it at once: ttl counts "
            f"from its creation. Give more, or use 'mooring request delete {name}'."
        )
    return new


def checked_duration(text: str, option: str) -> str:
    """The text, if it is a length of time that can be asked for."""
    try:
        if seconds_of(text) > 0:
            return text
    except ValueError as error:
        raise SettingError(f"{option}: {error}.") from None
    raise SettingError(f"{option}: {text!r} must be longer than nothing, such as 72h.")


def seconds_left(request: ClusterRequest, now: float) -> float | None:
    """How long until its ttl is over; None if it has none."""
    if not request.spec.ttl:
        return None
    try:
        return moment(request.metadata.creation_timestamp) + seconds_of(request.spec.ttl) - now
    except ValueError:
        return None


def moment(timestamp: str) -> float:
    """A time of the server in seconds since 1970."""
    from datetime import datetime

    return datetime.fromisoformat(timestamp).timestamp()


def duration_text(seconds: float) -> str:
    """A length of time as Go writes it, to the second: ``96h``, ``1h30m``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{count}{unit}" for count, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if count]
    return "".join(parts) or "0s"

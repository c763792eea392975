"""The live state as scheduling would see it, and the story of a request in it: ``mooring why``."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Document, Kind
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.app.configurations import UnusableConfiguration, read_files
from mooring.app.settings import SettingError
from mooring.kube import Client, Object, ObjectKey, Resource, key_of, typed, untyped
from mooring.kube.errors import Forbidden, NotFound
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import (
    DEFAULT_CONFIGURATION,
    BadConfiguration,
    Configuration,
    configuration_of,
)
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.story import Story, story

K = TypeVar("K", bound=Kind)

REQUESTS = typed(ClusterRequest)
GRANTS = typed(ClusterRequestGrant)


@dataclass(frozen=True, slots=True)
class Stock:
    """What can be had, and what there is."""

    catalogue: Catalogue
    fleet: Fleet


def configured(paths: Sequence[Path]) -> Configuration:
    """The configuration of these files, as ``mooring run --config`` takes it; the usual one without any."""
    if not paths:
        return DEFAULT_CONFIGURATION
    try:
        return configuration_of(read_files(paths))
    except BadConfiguration as error:
        raise UnusableConfiguration(", ".join(map(str, paths)), error.problems) from None


async def seen(client: Client, configuration: Configuration = DEFAULT_CONFIGURATION) -> Stock:
    """Everything that a decision depends on, in one list per kind."""
    purposes, profiles, equivalences, providers, clusters = await asyncio.gather(
        listed(client, Purpose),
        listed(client, ClusterProfile),
        listed(client, TraitEquivalence),
        listed(client, ClusterProvider),
        listed(client, Cluster),
    )
    catalogue = Catalogue(
        purposes=purposes,
        profiles=profiles,
        equivalences=equivalences,
        providers=providers,
        configuration=configuration,
    )
    return Stock(catalogue, Fleet.of(clusters, labels=catalogue.labels, by_namespace=catalogue.by_namespace))


async def listed(client: Client, kind: type[K], *, namespace: str | None = None) -> list[K]:
    """All objects of a kind that can be read; where the kind is not known, what to do about it."""
    try:
        listing = await client.list(typed(kind), namespace=namespace, whole=False)
    except NotFound as error:
        raise not_installed(client, kind) from error
    return list(listing.items)


async def listed_plainly(client: Client, kind: type[Kind], namespace: str | None = None) -> list[Document]:
    """All objects of a kind by name, with every field that the server has; of one namespace, or of all."""
    try:
        listing = await client.list(plainly(kind), namespace=namespace)
    except NotFound:
        raise not_installed(client, kind) from None
    return sorted(listing.items, key=key_of)


def plainly(kind: type[Kind]) -> Resource[Object]:
    """The kind read as plain data, for where it is printed: nothing that the server has is lost."""
    api = kind.API
    return untyped(group=api.group, version=api.version, plural=api.plural, kind=api.kind, namespaced=api.namespaced)


def not_installed(client: Client, kind: type[Kind]) -> SettingError:
    """The server has never heard of this kind."""
    return SettingError(
        f"The cluster at {client.connection.server} does not know {kind.API.definition_name}. Install Mooring's "
        f"definitions there with 'mooring install'."
    )


async def told(client: Client, key: ObjectKey, configuration: Configuration = DEFAULT_CONFIGURATION) -> Story:
    """The story of a request that exists."""
    stock, request, grant = await asyncio.gather(
        seen(client, configuration), request_named(client, key), grant_of(client, key)
    )
    if grant is not None and not _is_of(grant, request):
        grant = None  # of an earlier request of the same name, and about to go
    return story(request, stock.catalogue, stock.fleet, grant=grant)


async def grant_of(client: Client, key: ObjectKey) -> ClusterRequestGrant | None:
    try:
        return await client.get(GRANTS, key.name, namespace=key.namespace)
    except NotFound:
        return None


def _is_of(grant: ClusterRequestGrant, request: ClusterRequest) -> bool:
    owners = {one.uid for one in grant.metadata.owner_references}
    return not owners or request.metadata.uid in owners


async def request_named(client: Client, key: ObjectKey) -> ClusterRequest:
    """The request, or an error that says where something like it is."""
    return await named(client, ClusterRequest, key, word="request")


async def named(client: Client, kind: type[K], key: ObjectKey, *, word: str) -> K:
    """The object, or an error that says where something like it is; ``mooring <word> list`` shows the others."""
    try:
        return await client.get(typed(kind), key.name, namespace=key.namespace)
    except NotFound:
        raise SettingError(await _nearby(client, kind, key, word)) from None


async def _nearby(client: Client, kind: type[K], key: ObjectKey, word: str) -> str:
    text = f"There is no {kind.API.kind.lower()} {key.name!r} in the namespace {key.namespace!r}."
    try:
        there = await listed(client, kind)
    except Forbidden:  # whoever asks may look here, and not everywhere
        return text
    elsewhere = sorted(one.metadata.namespace for one in there if one.metadata.name == key.name)
    if elsewhere:
        return f"{text} There is one in the namespace {elsewhere[0]}: add '-n {elsewhere[0]}'."
    names = sorted(one.metadata.name for one in there if one.metadata.namespace == key.namespace)
    near = difflib.get_close_matches(key.name, names, n=3)
    if near:
        return f"{text} Did you mean {' or '.join(near)}?"
    return f"{text} 'mooring {word} list -A' shows all there are."

"""The configuration of the provider that is checked: objects from files, made to fit each of its instances.

An object that names its provider (``spec.providerRef.name``, or ``${PROVIDER_NAME}`` anywhere) is there once for each
instance, under a name of its own. Others are there once, as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import yaml

from mooring.kube import Client, MergePatch, Object, Resource, key_of
from mooring.kube.errors import AlreadyExists, NotFound

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnusableConfig(Exception):
    """A file that holds no objects; the message names it, and says what is wrong."""


def read_configs(paths: Sequence[Path]) -> list[Object]:
    """All objects of the files, in their order."""
    return [document for path in paths for document in _documents(path)]


def _documents(path: Path) -> Iterator[Object]:
    try:
        found = list(yaml.load_all(path.read_text(encoding="utf-8"), _Loader))
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableConfig(f"{path} cannot be read: {error}.") from error
    except yaml.YAMLError as error:
        raise UnusableConfig(f"{path} is not YAML: {' '.join(str(error).split())}.") from error
    for number, document in enumerate(found, start=1):
        if document is None:
            continue
        if not (isinstance(document, dict) and {"apiVersion", "kind", "metadata"} <= document.keys()):
            raise UnusableConfig(f"{path}, document {number}: this is no object with apiVersion, kind and metadata.")
        yield _plain(document)


def config_for(document: Mapping[str, Any], *, provider: str, environment: str) -> Object:
    """The object for one instance."""
    words = {"PROVIDER_NAME": provider, "ENVIRONMENT": environment}
    mine: Object = _filled(document, words)
    reference = mine["spec"].get("providerRef") if isinstance(mine.get("spec"), dict) else None
    if isinstance(reference, dict):
        reference["name"] = provider
    if mine != document:
        mine["metadata"]["name"] = f"{mine['metadata']['name']}-{provider}"[:63].rstrip("-.")
    return mine


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(inner, words) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, words) for inner in value]
    return Template(value).safe_substitute(words) if isinstance(value, str) else copy.deepcopy(value)


def _plain(value: Any) -> Any:
    """YAML reads dates as such; in JSON they are text."""
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


class Configurations:
    """The objects on the server: put there for an instance, and taken away at the end."""

    def __init__(self, client: Client, documents: Sequence[Object], environment: str) -> None:
        self._client = client
        self._documents = documents
        self._environment = environment
        self._made: list[tuple[Resource[Object], Object]] = []

    async def apply(self, provider: str) -> None:
        for document in self._documents:
            body = config_for(document, provider=provider, environment=self._environment)
            resource = await self._client.resource(body["apiVersion"], body["kind"])
            with contextlib.suppress(AlreadyExists):  # for all instances, or not ours at all
                self._made.append((resource, await self._client.create(resource, body)))

    async def delete(self) -> None:
        """Ask for their end; what the providers hold stays until they let go."""
        await asyncio.gather(*(self._delete(resource, body) for resource, body in self._made))

    async def force(self) -> None:
        """Their end, whoever holds them."""
        for resource, body in self._made:
            key = key_of(body)
            free = MergePatch({"metadata": {"finalizers": None}})
            with contextlib.suppress(NotFound):
                await self._client.patch(resource, key.name, free, namespace=key.namespace or None)
                await self._delete(resource, body)

    async def _delete(self, resource: Resource[Object], body: Object) -> None:
        key = key_of(body)
        with contextlib.suppress(NotFound):
            await self._client.delete(resource, key.name, namespace=key.namespace or None)

"""Which providers there are: those of installed packages, found by their entry point. Ours come through the same door.

A package says in its ``pyproject.toml``::

    [project.entry-points."mooring.providers"]
    toy = "toy_provider:ToyProvider"
"""

from __future__ import annotations

import inspect
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from mooring.providers.sdk.provider import Provider

GROUP: Final = "mooring.providers"


class NoSuchProvider(Exception):
    """No installed package has a provider of this name; the message lists those there are."""


class BrokenProvider(Exception):
    """The provider is there, and cannot be used; the message says which package it is from, and why."""


def known_providers() -> list[str]:
    """Their names. Nothing is imported for that."""
    return sorted(_found())


def provider_class(name: str) -> type[Provider[Any]]:
    """The class of a provider."""
    found = _found()
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise NoSuchProvider(f"There is no provider {name!r}; known are: {known}. Is its package installed?")
    point = found[name]
    try:
        loaded = point.load()
    except Exception as error:  # it is somebody else's code that runs here
        raise BrokenProvider(f"The provider {_origin(point)} cannot be imported: {error!r}.") from error
    if not (inspect.isclass(loaded) and issubclass(loaded, Provider)):
        raise BrokenProvider(f"The provider {_origin(point)} is no subclass of mooring.providers.sdk.Provider.")
    if inspect.isabstract(loaded):
        missing = ", ".join(sorted(loaded.__abstractmethods__))
        raise BrokenProvider(f"The provider {_origin(point)} is not complete: it lacks {missing}.")
    if getattr(loaded, "config", None) is None:
        raise BrokenProvider(f"The provider {_origin(point)} does not say what its configuration is: set 'config'.")
    return loaded


def _found() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _origin(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unknown package"
    return f"{point.name!r} ({point.value}, from the package {package})"

"""A provider by what a person calls it: its name in an installed package, or ``module:Class`` while it is made."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from mooring.providers.registry import BrokenProvider, NoSuchProvider, provider_class
from mooring.providers.sdk.provider import Provider


def found_provider(named: str) -> type[Provider[Any]]:
    """The class; NoSuchProvider or BrokenProvider, in one sentence, if it cannot be had."""
    if ":" not in named:
        return provider_class(named)
    module, _, attribute = named.partition(":")
    try:
        loaded = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        raise NoSuchProvider(f"There is no module {error.name!r} to take {named!r} from.") from error
    except Exception as error:  # it is somebody else's code that runs here
        raise BrokenProvider(f"The provider {named!r} cannot be imported: {error!r}.") from error
    if loaded is None:
        raise NoSuchProvider(f"The module {module!r} has no {attribute!r}.")
    if not (inspect.isclass(loaded) and issubclass(loaded, Provider)):
        raise BrokenProvider(f"{named!r} is no subclass of mooring.providers.sdk.Provider.")
    if inspect.isabstract(loaded):
        raise BrokenProvider(f"{named!r} is not complete: it lacks {', '.join(sorted(loaded.__abstractmethods__))}.")
    if getattr(loaded, "config", None) is None:
        raise BrokenProvider(f"{named!r} does not say what its configuration is: set 'config'.")
    return loaded


def needs_arguments(provider: type[Provider[Any]]) -> bool:
    """Whether its class cannot be called just so; then it is a program of its own that knows what to call it with."""
    try:
        inspect.signature(provider).bind()
    except TypeError:
        return True
    return False

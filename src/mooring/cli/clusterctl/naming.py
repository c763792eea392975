"""Naming providers on the command line: one flag for each type, as ``delete`` and ``upgrade apply`` have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mooring.cli.clusterctl.tree import Flag, Form, Given

if TYPE_CHECKING:
    from mooring.clusterctl.providers import ProviderType

# In the order in which types build on one another: flag, letter, and what help calls them.
_TYPES: Final = (
    ("core", "", "The core provider"),
    ("bootstrap", "b", "Bootstrap providers"),
    ("control-plane", "c", "Control plane providers"),
    ("infrastructure", "i", "Infrastructure providers"),
    ("ipam", "", "IPAM providers"),
    ("runtime-extension", "", "Runtime extension providers"),
    ("addon", "", "Add-on providers"),
)
FLAGS_IN_WORDS: Final = "--core, --bootstrap, --control-plane, --infrastructure, --ipam, --runtime-extension, --addon"


def provider_flags(purpose: str) -> tuple[Flag, ...]:
    """A flag for each type; only the core can be there but once."""
    return tuple(
        Flag(name, f"{what} {purpose}", Form.TEXT if name == "core" else Form.LIST, letter)
        for name, letter, what in _TYPES
    )


def named(given: Given) -> list[tuple[ProviderType, str]]:
    """The providers that were named, as they were written: a comma too many in a list is a name that is empty."""
    from mooring.clusterctl.providers import ProviderType

    found: list[tuple[ProviderType, str]] = []
    for (name, _, _), type_ in zip(_TYPES, ProviderType, strict=True):
        value = given[name]
        texts = ([value] if value else []) if isinstance(value, str) else value
        found += [(type_, text) for text in texts]
    return found

"""The ClusterProvider of a provider whose code is here: what its owner applies, with the rights that it declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.api.kinds import Document
from mooring.api.providers import ClusterProvider, ProviderRights
from mooring.api.rbac import PolicyRule
from mooring.providers.sdk.controllers import init_rights_of, rights_of
from mooring.providers.sdk.provider import Provider


def declaration(provider: type[Provider[Any]], *, name: str, image: str) -> Document:
    """The object that has this provider deployed from an image, as ``name``."""
    rights = {"init": init_rights_of(provider), "run": rights_of(provider)}
    return {
        "apiVersion": ClusterProvider.API.api_version,
        "kind": ClusterProvider.API.kind,
        "metadata": {"name": name},
        "spec": {"image": image, "rights": rights},
    }


def declared_rights(provider: type[Provider[Any]]) -> ProviderRights:
    """What the provider says that it needs."""
    return ProviderRights(init=_rules(init_rights_of(provider)), run=_rules(rights_of(provider)))


def _rules(rights: Iterable[object]) -> tuple[PolicyRule, ...]:
    return tuple(msgspec.convert(rule, PolicyRule) for rule in rights)

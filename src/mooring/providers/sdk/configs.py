"""Configuration objects: what the SDK asks of their kinds, and how they are read.

They are kept as the server has them and are read when they are needed: one that somebody has spoiled is told so in its
own status, and hides nothing.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from mooring.api.conditions import Conditions
from mooring.api.kinds import Kind, Part
from mooring.api.policies import AccessRules
from mooring.api.references import LocalReference
from mooring.api.schema import About, Rule, about
from mooring.kube import Object, Resource, untyped
from mooring.providers.sdk.provider import Refused

K = TypeVar("K", bound=Kind)

INVALID = "ConfigInvalid"


class ConfigSpec(Part, frozen=True, kw_only=True):
    """What a provider's configuration begins with. Providers add their own fields."""

    ABOUT: ClassVar[About] = about(
        rules=(Rule("self.providerRef == oldSelf.providerRef", "providerRef is immutable", ".providerRef"),)
    )

    provider_ref: Annotated[
        LocalReference, about("The ClusterProvider that this is meant for; others leave it alone. Immutable.")
    ]
    access: Annotated[
        AccessRules | None, about("Who may enter clusters of this configuration. Absent: requests in their namespaces.")
    ] = None


class ConfigStatus(Part, frozen=True, kw_only=True):
    """What the provider makes of its configuration."""

    observed_generation: Annotated[
        int, about("The metadata.generation that this status speaks of.", format="int64", required=False)
    ] = 0
    conditions: Conditions = ()


def plain_resource(kind: type[Kind]) -> Resource[Object]:
    """Objects of a kind as the server has them."""
    api = kind.API
    return untyped(group=api.group, version=api.version, plural=api.plural, kind=api.kind, namespaced=api.namespaced)


def provider_named_by(config: Object) -> str:
    """The provider that a configuration is meant for; empty if it names none."""
    spec = config.get("spec")
    reference = spec.get("providerRef") if isinstance(spec, dict) else None
    name: Any = reference.get("name") if isinstance(reference, dict) else None
    return name if isinstance(name, str) else ""


def access_rules_in(config: Object) -> AccessRules | None:
    """Who may enter, as a configuration says."""
    spec = config.get("spec")
    rules = spec.get("access") if isinstance(spec, dict) else None
    try:
        return None if rules is None else msgspec.convert(rules, AccessRules)
    except msgspec.MsgspecError as error:
        raise Refused(f"spec.access: {_in_words(error)}.", reason=INVALID) from error


def read_as(kind: type[K], thing: Object) -> K:
    """The object as its type; Refused, with the field that is wrong, if it does not fit."""
    try:
        return msgspec.convert(thing, kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        name = thing.get("metadata", {}).get("name", "")
        raise Refused(f"The {kind.API.kind} {name} cannot be read: {_in_words(error)}.", reason=INVALID) from error


def _in_words(error: Exception) -> str:
    """msgspec points at fields as ``$.spec.size``."""
    text = str(error).rstrip(".")
    where = re.fullmatch(r"(?P<what>.*) - at `\$\.(?P<field>.*)`", text, re.DOTALL)
    return f"{where['field']}: {where['what']}" if where is not None else text

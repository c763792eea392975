"""Traits: the free-form properties that profiles offer and requests ask for.

A trait is any string; what it means is agreed on elsewhere. Lists of wished traits are conjunctions; ``or``, ``and``
and ``xor`` build larger wishes out of smaller ones. What a wish amounts to is decided in scheduling.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from mooring.api.kinds import Part, share
from mooring.api.schema import About, Rule, about

TraitName = Annotated[str, about(min_length=1, max_length=253)]

_KEYS = ("trait", "name", "or", "and", "xor")
_ONE_WISH = Rule(
    f"[{', '.join(f'has(self.{key})' for key in _KEYS)}].filter(given, given).size() == 1",
    "each entry of traits must have exactly one of trait (or name, which means the same), or, and, xor",
)
# Further down, the rules for the largest tree that fits would cost more than the server grants a definition.
_RULES_DOWN_TO = 3

# A cluster that has an API and no nodes. All known traits: docs/reference/traits.md.
WORKERLESS = "cluster.openmcp.cloud/workerless"

WISHES_AT_MOST = 64
ALTERNATIVES_AT_MOST = 16


class SupportedTrait(Part, frozen=True, kw_only=True):
    """A trait that clusters of a profile have."""

    ABOUT: ClassVar[About] = about(
        rules=(
            Rule("has(self.trait) != has(self.name)", "exactly one of trait and name (which mean the same) is needed"),
        )
    )

    trait: Annotated[TraitName, about("The trait, such as infrastructure/vendor/aws.")] = ""
    name: Annotated[TraitName, about("Another spelling of trait.")] = ""

    @property
    def key(self) -> str:
        """The trait, under whichever spelling it was given."""
        return self.trait or self.name


class TraitWish(Part, frozen=True, kw_only=True):
    """A trait that is asked for, or several of them under an operator. Operators nest up to four deep."""

    DEPTH: ClassVar[int] = 4

    trait: Annotated[TraitName, about("The trait that is asked for, such as infrastructure/vendor/aws.")] = ""
    name: Annotated[TraitName, about("Another spelling of trait.")] = ""
    optional: Annotated[
        bool,
        about("""If true, this is a preference: clusters that satisfy it are preferred, and others are accepted. On an
        entry of an operator it only counts for that preference; the operator itself needs its entries as they are."""),
    ] = False
    negated: Annotated[bool, about("If true, the opposite is asked for: a cluster that does not satisfy this.")] = False
    any_of: Annotated[
        tuple[TraitWish, ...],
        about("Satisfied if at least one of these is.", min_items=1, max_items=ALTERNATIVES_AT_MOST),
    ] = msgspec.field(default=(), name="or")
    all_of: Annotated[
        tuple[TraitWish, ...],
        about("Satisfied if each of these is.", min_items=1, max_items=ALTERNATIVES_AT_MOST),
    ] = msgspec.field(default=(), name="and")
    one_of: Annotated[
        tuple[TraitWish, ...],
        about("Satisfied if exactly one of these is.", min_items=1, max_items=ALTERNATIVES_AT_MOST),
    ] = msgspec.field(default=(), name="xor")

    def __post_init__(self) -> None:
        share(self, "trait", "name")

    @classmethod
    def about_at(cls, depth: int) -> About:
        """Words of our own where the server can afford them; its terse ones for what is nested deeply."""
        if depth < _RULES_DOWN_TO:
            return about(rules=(_ONE_WISH,))
        return about(one_of_required=_KEYS if depth < cls.DEPTH else _KEYS[:2])

    @property
    def key(self) -> str:
        """The trait, under whichever spelling it was given; empty for an operator."""
        return self.trait or self.name


Wishes = Annotated[tuple[TraitWish, ...], about(max_items=WISHES_AT_MOST)]

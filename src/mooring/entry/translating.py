"""Rules that speak of kinds, put into RBAC's words: groups without a version, and resources by their plurals.

People (and Kyma's KubeconfigRequests) write ``apiGroups: [apps/v1]`` and ``resources: [Deployment]``, which RBAC takes
without a word and which then allows nothing. What a kind's resource is called only the cluster itself can tell. Pure,
but for the question to the cluster (``serving``).

Guarantees
    A word that is a resource to the letter stays as it is, and so does a rule that has only such words.
    What a kind is translated to is allowed in just those groups, of the ones that were named, which have this kind:
    ``*`` becomes a list of them. So a translation never allows more than what was written.
    A word in small letters that the cluster does not know is left alone: it may be a resource that comes later. A kind
    that it does not know is named in ``unknown``, and nobody should guess what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from mooring.api.access import TokenAccess
from mooring.api.rbac import Permission, PolicyRule
from mooring.entry.serving import Served

# On an access request: its rules may speak of kinds.
TRANSLATE_ANNOTATION: Final = "mooring.dev/translate-rules"
# On its status: what became of them.
TRANSLATED: Final = "RulesTranslated"

_EVERYTHING: Final = "*"
_CORE_VERSION: Final = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """Rules as RBAC wants them, what was changed for that (in words), and what could not be."""

    rules: tuple[PolicyRule, ...]
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedAccess:
    """The same for all that is asked for by token."""

    wish: TokenAccess
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What was translated, for the condition ``RulesTranslated``; empty if there was nothing to translate."""
        return "; ".join(self.notes)

    @property
    def trouble(self) -> str:
        """Why the request cannot be granted; empty if it can."""
        if not self.unknown:
            return ""
        return f"The cluster does not serve {', nor '.join(self.unknown)}. Correct the rules, or install that first."


def translated_access(wish: TokenAccess, served: Served) -> TranslatedAccess:
    """What is asked for, in the words of RBAC."""
    done = [translated(one.rules, served) for one in wish.permissions]
    permissions = tuple(
        _with_rules(permission, one.rules) for permission, one in zip(wish.permissions, done, strict=True)
    )
    return TranslatedAccess(
        wish=wish if permissions == wish.permissions else msgspec.structs.replace(wish, permissions=permissions),
        notes=_once(note for one in done for note in one.notes),
        unknown=_once(word for one in done for word in one.unknown),
    )


def translated(rules: Sequence[PolicyRule], served: Served) -> Translation:
    """The rules, in the words of RBAC. Where there is nothing to translate they come back as they are."""
    done = [_translated(rule, served) for rule in rules]
    return Translation(
        rules=tuple(rule for one in done for rule in one.rules),
        notes=_once(note for one in done for note in one.notes),
        unknown=_once(word for one in done for word in one.unknown),
    )


def _translated(rule: PolicyRule, served: Served) -> Translation:
    groups = _once(_group(one) for one in rule.api_groups)
    notes = [f"{old} -> {new or 'the core group'}" for old in rule.api_groups if (new := _group(old)) != old]
    where = None if _EVERYTHING in groups else groups
    kept: list[str] = []
    found: dict[str, list[str]] = {}  # by group: the resources that kinds stand for there
    unknown: list[str] = []
    for word in rule.resources:
        name, slash, rest = word.partition("/")
        is_plain = name == _EVERYTHING or served.is_resource(name, where)
        plurals = {} if is_plain else served.plurals_of(name, where)
        if plurals:
            notes.append(f"{word} -> {' and '.join(_once(f'{one}{slash}{rest}' for one in plurals.values()))}")
            for group, plural in plurals.items():
                found.setdefault(group, []).append(f"{plural}{slash}{rest}")
        elif is_plain or name == name.lower():
            kept.append(word)
        else:
            unknown.append(_not_served(name, where))
    if not found:
        same = rule if groups == rule.api_groups else msgspec.structs.replace(rule, api_groups=groups)
        return Translation(rules=(same,), notes=tuple(notes), unknown=tuple(unknown))
    # What was written as a resource is allowed where it was written for.
    plain = [msgspec.structs.replace(rule, api_groups=groups, resources=tuple(kept))] if kept else []
    return Translation(rules=(*plain, *_by_group(rule, found)), notes=tuple(notes), unknown=tuple(unknown))


def _by_group(rule: PolicyRule, found: dict[str, list[str]]) -> list[PolicyRule]:
    """One rule for all groups that have the same resources."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for group, resources in sorted(found.items()):
        alike.setdefault(_once(resources), []).append(group)
    return [
        msgspec.structs.replace(rule, api_groups=tuple(groups), resources=resources)
        for resources, groups in alike.items()
    ]


def _group(written: str) -> str:
    """A group without its version; ``v1`` alone is a version of the core group."""
    if _CORE_VERSION.fullmatch(written):
        return ""
    group, slash, _ = written.rpartition("/")
    return group if slash else written


def _not_served(name: str, groups: Sequence[str] | None) -> str:
    if groups is None:
        return f"the kind {name!r}"
    return f"the kind {name!r} in {' or '.join(one or 'the core group' for one in groups) or 'no group at all'}"


def _with_rules(permission: Permission, rules: tuple[PolicyRule, ...]) -> Permission:
    return permission if rules == permission.rules else msgspec.structs.replace(permission, rules=rules)


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))

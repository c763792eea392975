"""Selectors and cluster templates out of a configuration document, checked as the API server would check them.

What is wrong is told here, when the file is read, and not weeks later, when the first cluster is to be made by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mooring.api.clusters import KubernetesConfig, Tenancy
from mooring.api.purposes import ClusterTemplate, TemplateMetadata, TemplateSpec
from mooring.api.references import LocalReference
from mooring.api.selectors import LabelRequirement, LabelSelector, matches
from mooring.scheduling.configuration_fields import Field, FixedMap

_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 55  # a hash of eight characters follows
_LONGEST_REFERENCE: Final = 253

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_WORD: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_VERSION: Final = re.compile(r"v?[0-9]+(\.[0-9]+){0,2}([-+][0-9A-Za-z.+-]+)?")
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True)
class Selecting:
    """A selector and the path of its field. None: there is none, or it is faulty and was complained about."""

    path: str
    selector: LabelSelector | None


def selecting(place: Field) -> Selecting:
    """The selector in this field."""
    if place.value is None:
        return Selecting(place.path, None)
    before = len(place.problems)
    parts = place.parts("matchLabels", "matchExpressions")
    selector = LabelSelector(
        match_labels=_labels(parts["matchLabels"]),
        match_expressions=tuple(map(_requirement, parts["matchExpressions"].items())),
    )
    return Selecting(place.path, selector if len(place.problems) == before else None)


def _requirement(place: Field) -> LabelRequirement:
    parts = place.parts("key", "operator", "values")
    key, operator = parts["key"].text(), parts["operator"].text()
    values = tuple(map(_label_value, parts["values"].items()))
    if not _is_label_key(key):
        parts["key"].refuse("name a label here, such as team or example.org/team")
    if operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        parts["operator"].refuse("use In, NotIn, Exists or DoesNotExist")
    elif operator in _WITH_VALUES and not values:
        parts["values"].refuse(f"{operator} needs at least one value")
    elif operator in _WITHOUT_VALUES and values:
        parts["values"].refuse(f"{operator} takes no values")
    return LabelRequirement(key=key, operator=operator, values=values)


def template_of(place: Field, *, purpose: str, seats: int, found_by: Sequence[Selecting]) -> ClusterTemplate:
    """The template of a purpose's clusters, whose labels must be such that these selectors find them again."""
    parts = place.parts("metadata", "spec")
    spec = _spec(parts["spec"])
    shares_one = spec.tenancy is not Tenancy.EXCLUSIVE and not seats
    metadata = _metadata(parts["metadata"], purpose=purpose, shares_one=shares_one, found_by=found_by)
    return ClusterTemplate(metadata=metadata, spec=spec)


def _metadata(place: Field, *, purpose: str, shares_one: bool, found_by: Sequence[Selecting]) -> TemplateMetadata:
    # Go writes a null creationTimestamp into every metadata that it prints.
    parts = place.parts("name", "generateName", "namespace", "labels", "annotations", "creationTimestamp")
    metadata = TemplateMetadata(
        name=_name(parts["name"]),
        generate_name=_beginning(parts["generateName"]),
        namespace=_name(parts["namespace"], dots=False),
        labels=_labels(parts["labels"]),
        annotations=_annotations(parts["annotations"]),
    )
    for one in found_by:
        _check_found(parts["labels"], metadata.labels, one)
    named = parts["generateName"].value or (shares_one and parts["name"].value)
    if purpose and not named:
        _check_name_of_purpose(parts["generateName"], purpose, whole=shares_one)
    return metadata


def _spec(place: Field) -> TemplateSpec:
    parts = place.parts("profile", "tenancy", "purposes", "kubernetes", "clusterConfigs")
    profile, tenancy = parts["profile"], parts["tenancy"]
    if profile.value in (None, ""):
        profile.refuse("name the ClusterProfile of new clusters")
    if tenancy.value in (None, ""):
        tenancy.refuse("say Exclusive or Shared")
    return TemplateSpec(
        profile=_name(profile, longest=_LONGEST_REFERENCE),
        tenancy=tenancy.one_of(Tenancy),
        purposes=tuple(map(_purpose_name, parts["purposes"].items())),
        kubernetes=KubernetesConfig(version=_version(parts["kubernetes"].parts("version")["version"])),
        cluster_configs=tuple(map(_reference, parts["clusterConfigs"].items())),
    )


def _reference(place: Field) -> LocalReference:
    name = place.parts("name")["name"]
    if name.value in (None, ""):
        name.refuse("name an object in the namespace of the new clusters")
    return LocalReference(name=_name(name, longest=_LONGEST_REFERENCE))


def _purpose_name(place: Field) -> str:
    return _checked(
        place,
        lambda text: 0 < len(text) <= _LONGEST_REFERENCE,
        f"name a purpose, in at most {_LONGEST_REFERENCE} characters",
        needed=True,
    )


def _version(place: Field) -> str:
    return _checked(place, _VERSION.fullmatch, "write a version like 1.33.3, 1.33 or 1")


def _name(place: Field, *, longest: int = _LONGEST_NAME, dots: bool = True) -> str:
    signs = "hyphens and dots" if dots else "hyphens"
    return _checked(
        place,
        lambda text: len(text) <= longest and _SUBDOMAIN.fullmatch(text) and (dots or "." not in text),
        f"use at most {longest} lower-case letters, digits and inner {signs}",
    )


def _beginning(place: Field) -> str:
    return _checked(
        place,
        # Whatever follows begins with a letter or a digit.
        lambda text: len(text) <= _LONGEST_PREFIX and _SUBDOMAIN.fullmatch(f"{text}x"),
        f"use at most {_LONGEST_PREFIX} lower-case letters, digits, hyphens and dots, beginning with a letter or digit",
    )


def _check_name_of_purpose(place: Field, purpose: str, *, whole: bool) -> None:
    """Without a name in the template, clusters are called like their purpose: can they be?"""
    longest = _LONGEST_NAME if whole else _LONGEST_PREFIX - 1
    if len(purpose) > longest or not _SUBDOMAIN.fullmatch(purpose):
        place.refuse(f"set it, because clusters cannot be named after a purpose that is called {purpose!r}")


def _labels(place: Field) -> Mapping[str, str]:
    return FixedMap({_label_key(key, one): _label_value(one) for key, one in place.entries().items()})


def _annotations(place: Field) -> Mapping[str, str]:
    return FixedMap({_label_key(key, one): one.text() for key, one in place.entries().items()})


def _label_key(key: str, place: Field) -> str:
    if not _is_label_key(key):
        place.refuse("its key must be a word of at most 63 letters and digits, or a DNS name, a slash and such a word")
    return key


def _label_value(place: Field) -> str:
    if place.value is None:
        place.refuse('write "" if an empty value is meant')
    return _checked(place, _WORD.fullmatch, "use at most 63 letters, digits and inner hyphens, dots and underscores")


def _is_label_key(key: str) -> bool:
    prefix, slash, word = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_REFERENCE or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return _WORD.fullmatch(word) is not None


def _checked(place: Field, allowed: Callable[[str], object], remedy: str, *, needed: bool = False) -> str:
    """The text of a field if it is allowed; an empty one is, unless it is needed."""
    before = len(place.problems)
    text = place.text()
    if (text or needed) and len(place.problems) == before and not allowed(text):
        place.refuse(remedy)
    return text


def _check_found(place: Field, labels: Mapping[str, str], by: Selecting) -> None:
    """A new cluster that the selector does not find is made once per request, and forgotten each time."""
    missing = ", ".join(_unmet(by.selector, labels)) if by.selector is not None else ""
    if missing:
        place.refuse(f"{by.path} would not find new clusters again; make the labels fit {missing}")


def _unmet(selector: LabelSelector, labels: Mapping[str, str]) -> Iterator[str]:
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            yield f"{key}={value}"
    for one in selector.match_expressions:
        if not matches(LabelSelector(match_expressions=(one,)), labels):
            yield f"{one.key} {one.operator}" + (f" ({', '.join(one.values)})" if one.values else "")

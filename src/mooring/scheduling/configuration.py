"""The configuration of scheduling, in upstream's form: read, defaulted, validated and completed.

Upstream's operator is told in a file what the ``Purpose`` kind says here. Each of its purpose mappings becomes a
`PurposeSpec`, so the rest of scheduling knows one form only. `merging` makes one document of several; where documents
come from is not known here.

What is handed out cannot be changed by whoever gets it: one request's labels never show on the cluster of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from mooring.api.clusters import Tenancy
from mooring.api.purposes import PurposeSpec, Strategy
from mooring.api.selectors import LabelSelector
from mooring.scheduling.configuration_fields import Field, FixedMap
from mooring.scheduling.configuration_parts import Selecting, selecting, template_of


class Scope(StrEnum):
    """Where clusters are looked for that a request may share."""

    CLUSTER = "Cluster"  # in all namespaces
    NAMESPACED = "Namespaced"  # in the template's namespace, or else in the request's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What scheduling is told beyond the objects it sees. A selector that is None leaves nothing out."""

    scope: Scope = Scope.CLUSTER
    strategy: Strategy = Strategy.BALANCED
    clusters: LabelSelector | None = None
    requests: LabelSelector | None = None
    purposes: Mapping[str, PurposeSpec] = field(default_factory=FixedMap)

    def __post_init__(self) -> None:
        object.__setattr__(self, "purposes", FixedMap(self.purposes))


DEFAULT_CONFIGURATION: Final = Configuration()


class BadConfiguration(ValueError):
    """A configuration that cannot be used; every problem names the field, its value and what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def configuration_of(document: Mapping[str, Any]) -> Configuration:
    """What the document says to scheduling. What it says to others is not looked at."""
    problems: list[str] = []
    found = _scheduler(Field("scheduler", document.get("scheduler"), problems))
    if problems:
        raise BadConfiguration(problems)
    return found


def _scheduler(place: Field) -> Configuration:
    parts = place.parts("scope", "strategy", "selectors", "purposeMappings")
    selectors = parts["selectors"].parts("clusters", "requests")
    clusters = selecting(selectors["clusters"])
    return Configuration(
        scope=parts["scope"].one_of(Scope) or Scope.CLUSTER,
        strategy=parts["strategy"].one_of(Strategy) or Strategy.BALANCED,
        clusters=clusters.selector,
        requests=selecting(selectors["requests"]).selector,
        purposes={
            name: _purpose(name, mapping, clusters) for name, mapping in parts["purposeMappings"].entries().items()
        },
    )


def _purpose(name: str, mapping: Field, everywhere: Selecting) -> PurposeSpec:
    if not name:
        mapping.refuse("a purpose needs a name")
    if mapping.value is None:
        mapping.refuse("say what the purpose means, or remove it")
        return PurposeSpec()
    parts = mapping.parts("tenancyCount", "selector", "template")
    local = selecting(parts["selector"])
    seats = parts["tenancyCount"].integer()
    template = template_of(parts["template"], purpose=name, seats=seats, found_by=(everywhere, local))
    dedicated = template.spec.tenancy is Tenancy.EXCLUSIVE
    if dedicated and seats:
        parts["tenancyCount"].refuse("use 0, or make template.spec.tenancy Shared: an Exclusive cluster has one seat")
    return PurposeSpec(
        dedicated=dedicated,
        tenancy_count=seats,
        selector=both(local.selector, everywhere.selector),
        template=template,
    )


def both(local: LabelSelector | None, everywhere: LabelSelector | None) -> LabelSelector | None:
    """A purpose's own selector and the global one as one. Of two values for a label the global one counts."""
    if local is None or everywhere is None:
        return local or everywhere
    return LabelSelector(
        match_labels=FixedMap({**local.match_labels, **everywhere.match_labels}),
        match_expressions=(*local.match_expressions, *everywhere.match_expressions),
    )

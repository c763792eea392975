"""What a request asks for, once its purposes have had their say.

A request names purposes, and each brings traits, a template, seats, a selector, a strategy. Combined they are one
:class:`Ask`: what the rest of scheduling reads. A request's own word counts over its purposes', and the first purpose's
over the others'; required beats optional, the smallest number of seats counts, and all selectors must match. The
asks of equal requests are one object (see ``catalogue``), so what was found out about an ask is remembered with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mooring.api.clusters import Tenancy
from mooring.api.purposes import ClusterTemplate, PurposeSpec, Strategy
from mooring.api.requests import ClusterRequestSpec
from mooring.api.selectors import LabelSelector, matches
from mooring.api.traits import TraitWish
from mooring.api.versions import Version
from mooring.scheduling.reasons import Reason
from mooring.scheduling.traits import REQUEST, Equivalences, Source, Wanted, malformed, purpose_source, united

if TYPE_CHECKING:
    from mooring.scheduling.fleet import Sort

_LONGEST_MESSAGE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """Why nothing can be planned: Denied if ``final``, else Pending until something changes."""

    reason: Reason
    message: str
    final: bool = False

    def __post_init__(self) -> None:
        """What a request spells out may be longer than a status takes; what to do about it stands at the end."""
        if len(self.message) > _LONGEST_MESSAGE:
            half = _LONGEST_MESSAGE // 2
            object.__setattr__(self, "message", f"{self.message[: half - 1]} … {self.message[-half + 2 :]}")


@dataclass(frozen=True, slots=True)
class Fit:
    """How clusters of one sort suit an ask: not at all, with the reason, or with a score and so many seats."""

    misfit: str = ""
    score: int = 0
    seats: int = 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ask:
    """What is asked for. Compared by identity: the catalogue keeps one for all requests that ask the same."""

    purposes: tuple[str, ...]
    dedicated: bool
    dedicated_by: str  # who said so: for the story
    wanted: tuple[Wanted, ...]
    version: str  # of the request; empty for any
    seats: int  # how many requests may share a cluster; 0 for any number
    selectors: tuple[LabelSelector, ...]
    strategy: Strategy
    template: ClusterTemplate
    template_of: str  # the purpose that the template came from; empty without one

    # What was found out so far; valid as long as the catalogue that made this ask.
    fits: dict[Sort, Fit] = field(default_factory=dict, repr=False)
    remembered: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def tenancy(self) -> Tenancy:
        return Tenancy.EXCLUSIVE if self.dedicated else Tenancy.SHARED

    @property
    def new_version(self) -> str:
        """What a new cluster shall run: the request's word, else the template's."""
        return self.version or self.template.spec.kubernetes.version


@dataclass(frozen=True, slots=True)
class _Named:
    """A purpose and what it says."""

    name: str
    spec: PurposeSpec

    @property
    def template(self) -> ClusterTemplate:
        return self.spec.template or ClusterTemplate()

    @property
    def dedicated(self) -> bool:
        """Its own word, else its template's; without any, clusters are shared."""
        if self.spec.dedicated is not None:
            return self.spec.dedicated
        return self.template.spec.tenancy is Tenancy.EXCLUSIVE


def asked(
    spec: ClusterRequestSpec,
    purposes: Mapping[str, PurposeSpec],
    equivalences: Equivalences,
    *,
    strategy: Strategy = Strategy.BALANCED,
    clusters: LabelSelector | None = None,
) -> Ask | Unanswerable:
    """What the request amounts to. ``strategy`` counts if no purpose names one; ``clusters`` must always match."""
    names = tuple(dict.fromkeys(spec.all_purposes))
    wrong = _misspelled(spec, names)
    if wrong is not None:
        return wrong
    unknown = [name for name in names if name not in purposes]
    if unknown:
        return _unknown(unknown, known=sorted(purposes))
    said = [_Named(name, purposes[name]) for name in names]
    wrong = _malformed(said) or _clash(said)
    if wrong is not None:
        return wrong
    dedicated, dedicated_by = _dedicated(spec, said)
    first = next((one for one in said if one.spec.template is not None), None)
    return Ask(
        purposes=names,
        dedicated=dedicated,
        dedicated_by=dedicated_by,
        wanted=united(_wishes(spec.traits, said), equivalences),
        version=spec.kubernetes.version,
        seats=1 if dedicated else smallest(one.spec.tenancy_count for one in said),
        selectors=tuple(one for one in (clusters, *(each.spec.selector for each in said)) if one is not None),
        strategy=next((one.spec.strategy for one in said if one.spec.strategy is not None), strategy),
        template=ClusterTemplate() if first is None else _joined(first, said),
        template_of="" if first is None else first.name,
    )


def smallest(counts: Iterable[int]) -> int:
    """The strictest of several limits, where 0 is none."""
    return min((count for count in counts if count > 0), default=0)


def _wishes(own: Sequence[TraitWish], said: Sequence[_Named]) -> list[tuple[Source, Sequence[TraitWish]]]:
    return [(REQUEST, own), *((purpose_source(one.name), one.spec.traits) for one in said)]


def _dedicated(spec: ClusterRequestSpec, said: Sequence[_Named]) -> tuple[bool, str]:
    if spec.dedicated is not None:
        return spec.dedicated, REQUEST
    strict = next((one for one in said if one.dedicated), None)
    return (False, "its purposes") if strict is None else (True, purpose_source(strict.name))


def _joined(first: _Named, said: Sequence[_Named]) -> ClusterTemplate:
    """The first template, with the name, namespace and profile that only a later one gives: they do not clash."""
    metadata, spec = first.template.metadata, first.template.spec
    for one in said:
        other = one.template
        metadata = msgspec.structs.replace(
            metadata,
            name=metadata.name or other.metadata.name,
            namespace=metadata.namespace or other.metadata.namespace,
        )
        spec = msgspec.structs.replace(spec, profile=spec.profile or other.spec.profile)
    return ClusterTemplate(metadata=metadata, spec=spec)


def _misspelled(spec: ClusterRequestSpec, names: tuple[str, ...]) -> Unanswerable | None:
    """What the server's own rules refuse; a request may have come past them, or from a file."""
    if spec.purpose and spec.purposes:
        return _invalid("spec.purpose and spec.purposes are both set; keep the one that you mean.")
    if not names:
        return _invalid("spec.purpose is missing: say what the cluster is for.")
    wrong = malformed(spec.traits, "spec.traits")
    if wrong is not None:
        return _invalid(wrong)
    if spec.kubernetes.version:
        try:
            Version.parse(spec.kubernetes.version)
        except ValueError as error:
            return _invalid(f"spec.kubernetes.version: {error}")
    return None


def _malformed(said: Sequence[_Named]) -> Unanswerable | None:
    for one in said:
        wrong = malformed(one.spec.traits, "spec.traits")
        version = one.template.spec.kubernetes.version
        if wrong is None and version:
            try:
                Version.parse(version)
            except ValueError as error:
                wrong = f"spec.template.spec.kubernetes.version: {error}"
        wrong = wrong or _misselected(one.spec.selector)
        if wrong is not None:
            return Unanswerable(Reason.INVALID_PURPOSE, f"The purpose {one.name} cannot be used: {wrong}", final=True)
    return None


def _misselected(selector: LabelSelector | None) -> str | None:
    """What is wrong with a selector that no server has checked."""
    for place, one in enumerate(() if selector is None else selector.match_expressions):
        try:
            matches(LabelSelector(match_expressions=(one,)), {})
        except ValueError as error:
            return f"spec.selector.matchExpressions[{place}].operator: {error}"
    return None


_MUST_AGREE: tuple[tuple[str, Callable[[ClusterTemplate], str]], ...] = (
    ("metadata.name", lambda template: template.metadata.name),
    ("metadata.namespace", lambda template: template.metadata.namespace),
    ("spec.profile", lambda template: template.spec.profile),
)


def _clash(said: Sequence[_Named]) -> Unanswerable | None:
    """Two templates that want one cluster to be two things."""
    for field_name, read in _MUST_AGREE:
        given = [(one.name, read(one.template)) for one in said if read(one.template)]
        for name, value in given[1:]:
            first, wanted = given[0]
            if value != wanted:
                return Unanswerable(
                    Reason.PURPOSES_CLASH,
                    f"The purposes {first} and {name} cannot be had together: spec.template.{field_name} is {wanted!r} "
                    f"in the one and {value!r} in the other. Ask for them in two requests, or let the owner of the "
                    f"platform make them agree.",
                    final=True,
                )
    return None


def _unknown(unknown: Sequence[str], *, known: Sequence[str]) -> Unanswerable:
    there = ", ".join(known[:20]) + (", …" if len(known) > 20 else "") if known else "none"
    what = f"purpose {unknown[0]} does" if len(unknown) == 1 else f"purposes {', '.join(unknown)} do"
    return Unanswerable(
        Reason.PURPOSE_NOT_FOUND,
        f"The {what} not exist (there are: {there}). The request is planned again as soon as somebody creates "
        f"{'it' if len(unknown) == 1 else 'them'}.",
    )


def _invalid(message: str) -> Unanswerable:
    return Unanswerable(Reason.INVALID_REQUEST, message, final=True)

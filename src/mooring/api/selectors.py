"""Label selectors: the form in objects, and whether they match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Final

from mooring.api.kinds import EMPTY, Part
from mooring.api.schema import About, Rule, about

LabelKey = Annotated[str, about(max_length=317)]
LabelValue = Annotated[str, about(max_length=63)]


class LabelRequirement(Part, frozen=True, kw_only=True):
    """A condition on one label."""

    key: Annotated[LabelKey, about("The label that this is about.")]
    operator: Annotated[
        str,
        about("How the label must relate to the values: In, NotIn, Exists or DoesNotExist.", max_length=64),
    ]
    values: Annotated[
        tuple[LabelValue, ...],
        about(
            "The values for In and NotIn, at least one. Exists and DoesNotExist take none.",
            list_type="atomic",
            max_items=256,
        ),
    ] = ()


class LabelSelector(Part, frozen=True, kw_only=True):
    """Chooses objects by their labels. All conditions must hold; a selector without any chooses everything."""

    ABOUT: ClassVar[About] = about(map_type="atomic")

    match_labels: Annotated[
        Mapping[str, LabelValue], about("Labels that must be there with just these values.", max_properties=256)
    ] = EMPTY
    match_expressions: Annotated[
        tuple[LabelRequirement, ...], about("Further conditions on labels.", list_type="atomic", max_items=64)
    ] = ()


# For selectors that the server shall refuse if nothing can ever match them by mistake.
SELECTOR_RULES: Final = (
    Rule(
        "!has(self.matchExpressions) || self.matchExpressions.all(one, "
        "one.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",
        "the operators of matchExpressions must be In, NotIn, Exists or DoesNotExist",
    ),
    Rule(
        "!has(self.matchExpressions) || self.matchExpressions.all(one, "
        "(one.operator in ['In', 'NotIn']) == (has(one.values) && one.values.size() > 0))",
        "the values of matchExpressions are needed for In and NotIn, and not allowed for Exists and DoesNotExist",
    ),
)


def matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether an object with these labels is chosen; raises ValueError for an operator that does not exist."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _holds(one, labels) for one in selector.match_expressions
    )


def _holds(one: LabelRequirement, labels: Mapping[str, str]) -> bool:
    judge = _OPERATORS.get(one.operator)
    if judge is None:
        raise ValueError(f"{one.operator!r} is not an operator of label selectors; use {', '.join(_OPERATORS)}")
    return judge(labels.get(one.key), one.values)


# A label that is not there is not in any list of values: NotIn holds for it, as in Kubernetes.
_OPERATORS: Final[dict[str, Callable[[str | None, tuple[str, ...]], bool]]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
}

from __future__ import annotations

import pytest

from mooring.api.selectors import LabelRequirement, LabelSelector, matches

LABELS = {"tier": "gold", "zone": "a"}


def needs(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (LabelSelector(), True),
        (LabelSelector(match_labels={"tier": "gold"}), True),
        (LabelSelector(match_labels={"tier": "gold", "zone": "b"}), False),
        (LabelSelector(match_labels={"other": ""}), False),
        (needs("tier", "In", "silver", "gold"), True),
        (needs("tier", "In", "silver"), False),
        (needs("other", "In", "silver"), False),
        (needs("tier", "NotIn", "silver"), True),
        (needs("tier", "NotIn", "gold"), False),
        (needs("other", "NotIn", "gold"), True),
        (needs("tier", "Exists"), True),
        (needs("other", "Exists"), False),
        (needs("tier", "DoesNotExist"), False),
        (needs("other", "DoesNotExist"), True),
        (
            LabelSelector(
                match_labels={"zone": "a"},
                match_expressions=(
                    LabelRequirement(key="tier", operator="Exists"),
                    LabelRequirement(key="zone", operator="NotIn", values=("a",)),
                ),
            ),
            False,
        ),
    ],
)
def test_a_selector_matches_as_in_kubernetes(selector: LabelSelector, expected: bool) -> None:
    assert matches(selector, LABELS) is expected


def test_an_operator_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="'Like' is not an operator"):
        matches(needs("tier", "Like", "gold"), LABELS)

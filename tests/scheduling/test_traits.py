"""Traits: equivalences, the union of what several sources ask for, and what an offer lacks."""

from __future__ import annotations

import random
from itertools import product

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.api.traits import TraitWish
from mooring.scheduling.traits import (
    NO_EQUIVALENCES,
    REQUEST,
    Equivalences,
    Leaf,
    Operator,
    OperatorKind,
    Source,
    Wanted,
    judged,
    malformed,
    offered_by,
    purpose_source,
    told,
    united,
)

WORKERLESS = "cluster.openmcp.cloud/workerless"
NODELESS = "foo.bar.baz/nodeless"
AWS = "infrastructure/vendor/aws"
GCP = "infrastructure/vendor/gcp"
SAME = Equivalences.of([[WORKERLESS, NODELESS]])
MCP = purpose_source("mcp")
PLATFORM = purpose_source("platform")

some = settings(deadline=None, derandomize=True, max_examples=200, suppress_health_check=[HealthCheck.too_slow])

TRAITS = st.sampled_from("abcdef")
GROUPS = st.lists(st.lists(TRAITS, max_size=3), max_size=4)
LEAVES = st.builds(TraitWish, trait=TRAITS, optional=st.booleans(), negated=st.booleans())


def operators(entries: st.SearchStrategy[TraitWish]) -> st.SearchStrategy[TraitWish]:
    several = st.lists(entries, min_size=1, max_size=3).map(tuple)
    flags = {"optional": st.booleans(), "negated": st.booleans()}
    return st.one_of(*(st.builds(TraitWish, **{field: several}, **flags) for field in ("any_of", "all_of", "one_of")))


WISHES = st.recursive(LEAVES, operators, max_leaves=6)
ASKED = st.lists(st.lists(WISHES, max_size=4), max_size=3).map(
    lambda lists: [(Source(f"source {place}"), wishes) for place, wishes in enumerate(lists)]
)


def wish(trait: str = "", **fields: object) -> TraitWish:
    return TraitWish(trait=trait, **fields)


def wishes_of(text: str) -> list[TraitWish]:
    return msgspec.yaml.decode(text, type=list[TraitWish])


def asked_of(*wishes: TraitWish) -> tuple[Wanted, ...]:
    return united([(REQUEST, wishes)], NO_EQUIVALENCES)


def leaf(trait: str, *, optional: bool = False, negated: bool = False, source: Source = REQUEST) -> Leaf:
    return Leaf(trait, (trait,), optional, negated, (source,))


# Equivalences


def test_groups_that_share_a_trait_are_one_class() -> None:
    found = Equivalences.of([["d", "c"], ["x", "y"], ["b", "c"], ["a", "b"], ["alone"]])
    assert found.classes == (("a", "b", "c", "d"), ("x", "y"))
    assert found.canonical("d") == "a"
    assert found.members("c") == ("a", "b", "c", "d")
    assert found.canonical("alone") == "alone"
    assert found.members("never heard of") == ("never heard of",)


def test_equivalences_are_equal_by_what_they_say() -> None:
    assert Equivalences.of([["a", "b"], ["b", "c"]]) == Equivalences.of([["c", "a", "b"], ["d"], []])
    assert hash(Equivalences.of([["a", "b"]])) == hash(Equivalences.of([["b", "a", "a"]]))
    assert Equivalences.of([["a", "b"]]) != Equivalences.of([["a", "c"]])
    assert Equivalences.of([["a"]]) == NO_EQUIVALENCES


def reachable(groups: list[list[str]], start: str) -> set[str]:
    """All that can be reached from a trait by going from group to group."""
    found: set[str] = set()
    grown = {start}
    while grown != found:
        found = grown
        grown = found.union(*(group for group in groups if found.intersection(group)))
    return found


@some
@given(GROUPS)
def test_a_class_is_what_can_be_reached(groups: list[list[str]]) -> None:
    found = Equivalences.of(groups)
    for trait in "abcdef":
        assert found.members(trait) == tuple(sorted(reachable(groups, trait)))
        assert found.canonical(trait) == min(reachable(groups, trait))


@some
@given(GROUPS, st.randoms(use_true_random=False))
def test_the_order_of_equivalences_does_not_matter(groups: list[list[str]], chance: random.Random) -> None:
    shuffled = [chance.sample(group, len(group)) for group in chance.sample(groups, len(groups))]
    assert Equivalences.of(shuffled) == Equivalences.of(groups)


def test_a_long_chain_of_equivalences_is_one_class() -> None:
    found = Equivalences.of([f"{number:05}", f"{number + 1:05}"] for number in reversed(range(20_000)))
    assert found.canonical("20000") == "00000"
    assert len(found.members("00700")) == 20_001


# What several sources ask for together


@pytest.mark.parametrize(
    ("earlier", "later", "optional", "negated"),
    [
        ({}, {}, False, False),
        ({"optional": True}, {}, False, False),
        ({}, {"optional": True}, False, False),
        ({"optional": True}, {"optional": True}, True, False),
        ({"negated": True}, {}, False, True),
        ({}, {"negated": True}, False, False),
        ({"optional": True, "negated": True}, {}, False, True),
        ({"optional": True}, {"optional": True, "negated": True}, True, False),
    ],
)
@pytest.mark.parametrize("sources", [(REQUEST, MCP), (PLATFORM, MCP), (REQUEST, REQUEST)])
def test_the_same_trait_twice_is_one_wish(
    sources: tuple[Source, Source], earlier: dict[str, bool], later: dict[str, bool], optional: bool, negated: bool
) -> None:
    asked = [(sources[0], [wish("a", **earlier)]), (sources[1], [wish("b"), wish("a", **later)])]
    first, second = united(asked, NO_EQUIVALENCES)
    assert first == Leaf("a", ("a",), optional, negated, tuple(dict.fromkeys(sources)))
    assert second == leaf("b", source=sources[1])


def test_purposes_are_read_under_either_key() -> None:
    mcp = wishes_of(f"[{{name: {WORKERLESS}, optional: true, negated: false}}]")
    (found,) = united([(REQUEST, [wish(WORKERLESS)]), (MCP, mcp)], NO_EQUIVALENCES)
    assert found == Leaf(WORKERLESS, (WORKERLESS,), False, False, (REQUEST, MCP))


def test_traits_that_mean_the_same_are_one_wish() -> None:
    asked = wishes_of(f"[{{trait: {WORKERLESS}, optional: true}}, {{trait: {NODELESS}, optional: true}}]")
    found = united([(REQUEST, asked)], SAME)
    assert found == (Leaf(WORKERLESS, (WORKERLESS, NODELESS), True, False, (REQUEST,)),)
    assert judged(found, offered_by([NODELESS, WORKERLESS], SAME)).score == 1  # not 2


def test_operators_are_not_merged_with_anything() -> None:
    either = wish(any_of=(wish(NODELESS), wish(AWS)))
    found = united([(REQUEST, [either, wish(AWS, optional=True)]), (MCP, [wish(WORKERLESS)])], SAME)
    inside = (Leaf(WORKERLESS, (NODELESS,), False, False, (REQUEST,)), leaf(AWS))
    assert found == (
        Operator(OperatorKind.OR, inside, False, False, REQUEST),
        leaf(AWS, optional=True),
        leaf(WORKERLESS, source=MCP),
    )


def test_the_same_operator_twice_is_one_wish() -> None:
    asked = [
        (REQUEST, [wish(any_of=(wish(NODELESS), wish(AWS)), optional=True)]),
        (MCP, [wish(any_of=(wish(WORKERLESS), wish(AWS)), optional=True), wish(any_of=(wish(AWS),), optional=True)]),
    ]
    found = united(asked, SAME)
    assert [one.source for one in found if isinstance(one, Operator)] == [REQUEST, MCP]
    assert judged(found, frozenset([AWS])).score == 2


@some
@given(ASKED, GROUPS, st.randoms(use_true_random=False))
def test_the_union_is_the_same_each_time(asked: list, groups: list[list[str]], chance: random.Random) -> None:
    shuffled = [chance.sample(group, len(group)) for group in chance.sample(groups, len(groups))]
    found = united(asked, Equivalences.of(groups))
    assert found == united(asked, Equivalences.of(shuffled))
    hash(found)  # others remember verdicts by it


@some
@given(ASKED, GROUPS)
def test_each_class_of_traits_is_in_the_union_once_as_the_rules_say(asked: list, groups: list[list[str]]) -> None:
    same = Equivalences.of(groups)
    leaves = [one for one in united(asked, same) if isinstance(one, Leaf)]
    given_leaves = [(source, one) for source, wishes in asked for one in wishes if one.key]
    assert [one.trait for one in leaves] == list(dict.fromkeys(same.canonical(one.key) for _, one in given_leaves))
    for one in leaves:
        of_class = [(source, given) for source, given in given_leaves if same.canonical(given.key) == one.trait]
        assert one.optional == all(given.optional for _, given in of_class)
        assert one.negated == of_class[0][1].negated
        assert one.spelled == tuple(dict.fromkeys(given.key for _, given in of_class))
        assert one.sources == tuple(dict.fromkeys(source for source, _ in of_class))


# What an offer lacks


@pytest.mark.parametrize(
    ("asked", "offered", "holds", "score"),
    [
        ("[{trait: foo/bar/baz, optional: true, negated: false}]", [], True, 0),
        ("[{trait: foo/bar/baz, optional: true, negated: false}]", ["foo/bar/baz"], True, 1),
        ("[{trait: a}]", ["a"], True, 0),
        ("[{trait: a}]", [], False, 0),
        ("[{trait: a, negated: true}]", [], True, 0),
        ("[{trait: a, negated: true}]", ["a"], False, 0),
        ("[{trait: a, negated: true, optional: true}]", ["a"], True, 0),
        ("[{trait: a, negated: true, optional: true}]", [], True, 1),
        ("[{or: [{trait: a}, {trait: b}]}]", ["b"], True, 0),
        ("[{or: [{trait: a}, {trait: b}]}]", [], False, 0),
        ("[{and: [{trait: a}, {trait: b}]}]", ["b"], False, 0),
        ("[{and: [{trait: a}, {trait: b}]}]", ["a", "b"], True, 0),
        ("[{xor: [{trait: a}, {trait: b}, {trait: c}]}]", ["b"], True, 0),
        ("[{xor: [{trait: a}, {trait: b}, {trait: c}]}]", ["a", "b", "c"], False, 0),  # not parity: exactly one
        ("[{xor: [{trait: a}, {trait: b}]}]", [], False, 0),
        ("[{xor: [{trait: a, negated: true}, {trait: b}]}]", [], True, 0),
        ("[{or: [{trait: a}, {trait: b}], negated: true}]", ["a"], False, 0),
        ("[{or: [{trait: a}, {trait: b}], negated: true}]", [], True, 0),
        ("[{or: [{trait: a}, {trait: b}], optional: true}]", [], True, 0),
        ("[{or: [{trait: a}, {trait: b}], optional: true}]", ["a", "b"], True, 1),
        # An entry of an operator that is a preference is needed all the same, and counts.
        ("[{or: [{trait: a, optional: true}, {trait: b}]}]", ["a"], True, 1),
        ("[{or: [{trait: a, optional: true}, {trait: b}]}]", ["b"], True, 0),
        ("[{and: [{trait: a, optional: true}, {trait: b}]}]", ["b"], False, 0),
        ("[{or: [{and: [{trait: a}, {trait: b}], optional: true}, {trait: c}]}]", ["a", "b"], True, 1),
        ("[{or: [{and: [{trait: a}, {trait: b}]}, {xor: [{trait: c}, {trait: d}]}]}]", ["a", "d"], True, 0),
    ],
)
def test_verdicts(asked: str, offered: list[str], holds: bool, score: int) -> None:
    wanted = asked_of(*wishes_of(asked))
    verdict = judged(wanted, offered_by(offered, NO_EQUIVALENCES))
    assert verdict.unmet == (() if holds else wanted)
    assert verdict.score == score


def test_the_seeds_choice_of_two_preferences_is_refused_where_neither_exists() -> None:
    either = f"[{{or: [{{trait: {WORKERLESS}, optional: true}}, {{trait: {NODELESS}, optional: true}}]}}]"
    wanted = asked_of(*wishes_of(either))
    assert judged(wanted, frozenset([AWS])).unmet == wanted
    assert judged(wanted, frozenset([NODELESS])).unmet == ()


def test_no_trait_means_none_of_its_class() -> None:
    wanted = united([(REQUEST, [wish(WORKERLESS, negated=True)])], SAME)
    assert judged(wanted, offered_by([NODELESS], SAME)).unmet == wanted
    assert judged(wanted, offered_by([AWS], SAME)).unmet == ()


def truth(one: TraitWish, offered: set[str], same: Equivalences) -> bool:
    """The same question, answered from the wish as it was written, by all members of each class."""
    if one.key:
        return any(member in offered for member in same.members(one.key)) != one.negated
    entries = [truth(entry, offered, same) for entry in one.any_of or one.all_of or one.one_of]
    found = True in entries if one.any_of else False not in entries if one.all_of else entries.count(True) == 1
    return found != one.negated


def preferences(one: TraitWish) -> list[TraitWish]:
    entries = one.any_of + one.all_of + one.one_of
    return ([one] if one.optional else []) + [inner for entry in entries for inner in preferences(entry)]


@some
@given(WISHES, GROUPS)
def test_verdicts_are_those_of_logic(one: TraitWish, groups: list[list[str]]) -> None:
    same = Equivalences.of(groups)
    wanted = united([(REQUEST, [one])], same)
    for chosen in product([False, True], repeat=6):
        offered = {trait for trait, taken in zip("abcdef", chosen, strict=True) if taken}
        verdict = judged(wanted, offered_by(offered, same))
        assert verdict.unmet == (() if one.optional or truth(one, offered, same) else wanted)
        assert verdict.score == sum(truth(inner, offered, same) for inner in preferences(one))


@some
@given(ASKED, GROUPS, st.sets(TRAITS))
def test_a_list_is_judged_entry_by_entry(asked: list, groups: list[list[str]], offered: set[str]) -> None:
    same = Equivalences.of(groups)
    wanted = united(asked, same)
    named = offered_by(offered, same)
    alone = [judged([one], named) for one in wanted]
    whole = judged(wanted, named)
    assert whole.unmet == tuple(one for verdict in alone for one in verdict.unmet)
    assert whole.score == sum(verdict.score for verdict in alone)


# In words


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (wish(AWS), AWS),
        (wish("x", negated=True), "not x"),
        (wish("x", optional=True), "x, if possible"),
        (wish("x", negated=True, optional=True), "not x, if possible"),
        (wish(any_of=(wish("a"), wish("b"))), "(a or b)"),
        (wish(all_of=(wish("a"), wish("b", negated=True))), "(a and not b)"),
        (wish(one_of=(wish("a"), wish("b"))), "exactly one of (a, b)"),
        (wish(one_of=(wish("a"), wish("b")), negated=True), "not exactly one of (a, b)"),
        (wish(any_of=(wish("a", optional=True), wish("b")), optional=True), "(a or b), if possible"),
        (wish(any_of=(wish(all_of=(wish("a"), wish("b"))), wish("c")), negated=True), "not ((a and b) or c)"),
    ],
)
def test_wishes_in_words(asked: TraitWish, words: str) -> None:
    assert [told(one) for one in asked_of(asked)] == [words]


def test_a_wish_is_told_as_it_was_spelled() -> None:
    found = united([(REQUEST, [wish(NODELESS)]), (MCP, [wish(WORKERLESS), wish(NODELESS)])], SAME)
    assert [told(one) for one in found] == [f"{NODELESS} (also called {WORKERLESS})"]
    (only,) = united([(REQUEST, [wish(NODELESS)])], SAME)
    assert told(only) == NODELESS


def test_sources_in_words() -> None:
    assert (REQUEST, MCP) == ("the request", "purpose mcp")


# What no server has checked


def nested(depth: int) -> TraitWish:
    """A trait below that many operators."""
    found = wish("a")
    for _ in range(depth):
        found = wish(any_of=(found,))
    return found


@pytest.mark.parametrize(
    ("wishes", "where", "what"),
    [
        ([wish()], "spec.traits[0]", "has nothing"),
        ([wish("a"), wish(negated=True)], "spec.traits[1]", "has nothing"),
        ([TraitWish(trait="a", name="b")], "spec.traits[0]", "has trait, name at once"),
        ([wish("a", any_of=(wish("b"),))], "spec.traits[0]", "has trait, or at once"),
        ([wish(any_of=(wish("b"),), one_of=(wish("c"),))], "spec.traits[0]", "has or, xor at once"),
        ([wish("a"), wish("b"), wish(any_of=(wish(),))], "spec.traits[2].or[0]", "has nothing"),
        ([wish(all_of=(wish("a"), wish(one_of=(wish("b"), wish()))))], "spec.traits[0].and[1].xor[1]", "has nothing"),
        ([wish(any_of=(wish("a"), wish(), wish())), wish()], "spec.traits[0].or[1]", "has nothing"),  # the first
        ([nested(5)], "spec.traits[0].or[0].or[0].or[0].or[0]", "is an operator below 4 others"),
        ([nested(50)], "spec.traits[0].or[0].or[0].or[0].or[0]", "is an operator below 4 others"),
    ],
)
def test_what_is_malformed_is_named(wishes: list[TraitWish], where: str, what: str) -> None:
    sentence = malformed(wishes, "spec.traits")
    assert sentence is not None
    assert sentence.startswith(f"{where} {what}")
    assert "; it must have exactly one of trait" in sentence or "; say it with less nesting" in sentence


@pytest.mark.parametrize("wishes", [[], [wish("a"), TraitWish(name="b", optional=True)], [nested(4), nested(1)]])
def test_what_is_well_formed(wishes: list[TraitWish]) -> None:
    assert malformed(wishes, "spec.traits") is None


def test_nesting_without_end_is_refused_like_any_other() -> None:
    sentence = malformed([nested(10_000)], "purposes.mcp.traits")
    assert sentence is not None
    assert sentence.startswith("purposes.mcp.traits[0].or[0].or[0].or[0].or[0] is an operator")


@some
@given(st.lists(WISHES, max_size=4))
def test_only_deep_nesting_is_wrong_with_wishes_that_each_have_one_key(wishes: list[TraitWish]) -> None:
    def depth(one: TraitWish) -> int:
        entries = one.any_of + one.all_of + one.one_of
        return 1 + max(map(depth, entries)) if entries else 0

    too_deep = any(depth(one) > TraitWish.DEPTH for one in wishes)
    assert (malformed(wishes, "traits") is not None) == too_deep

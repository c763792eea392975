"""What a request amounts to once its purposes have had their say."""

from __future__ import annotations

import msgspec
import pytest
from plan_kit import a_catalogue, a_purpose, a_request, a_selector, a_template, an_equivalence, ask_of, wish, wishes

from mooring.api.clusters import Tenancy
from mooring.api.purposes import Purpose, PurposeSpec, Strategy
from mooring.api.requests import ClusterRequest, ClusterRequestSpec, RequestedKubernetes
from mooring.api.selectors import LabelRequirement, LabelSelector
from mooring.api.traits import TraitWish
from mooring.scheduling.asking import Unanswerable, smallest
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import Configuration
from mooring.scheduling.reasons import Reason
from mooring.scheduling.traits import Leaf, Operator

SHARED = a_purpose("workload", dedicated=False)
OWN = a_purpose("mcp", dedicated=True)


def answer(catalogue: Catalogue, request: ClusterRequest) -> Unanswerable:
    found = catalogue.ask(request.spec)
    assert isinstance(found, Unanswerable), found
    return found


# -- dedicated (D5) -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("purposes", "own", "dedicated", "by"),
    [
        (("workload",), None, False, "its purposes"),
        (("mcp",), None, True, "purpose mcp"),
        (("workload", "mcp"), None, True, "purpose mcp"),
        (("mcp", "workload"), None, True, "purpose mcp"),
        (("workload",), True, True, "the request"),
        (("mcp",), False, False, "the request"),
        (("workload", "mcp"), False, False, "the request"),
        (("silent",), None, False, "its purposes"),
        (("by-template",), None, True, "purpose by-template"),
        (("against-template",), None, False, "its purposes"),
    ],
)
def test_who_says_that_a_cluster_is_dedicated(
    purposes: tuple[str, ...], own: bool | None, dedicated: bool, by: str
) -> None:
    exclusive = a_template(tenancy=Tenancy.EXCLUSIVE)
    catalogue = a_catalogue(
        SHARED,
        OWN,
        a_purpose("silent"),
        a_purpose("by-template", template=exclusive),
        a_purpose("against-template", dedicated=False, template=exclusive),
    )
    ask = ask_of(catalogue, a_request(*purposes, dedicated=own))
    assert (ask.dedicated, ask.dedicated_by) == (dedicated, by)
    assert ask.tenancy is (Tenancy.EXCLUSIVE if dedicated else Tenancy.SHARED)


# -- traits (D6, D7) ------------------------------------------------------------------------------------------


def test_traits_of_all_sources_are_united_and_required_wins() -> None:
    catalogue = a_catalogue(a_purpose("a", traits=wishes("?x", "y")), a_purpose("b", traits=wishes("x", "?z")))
    ask = ask_of(catalogue, a_request("a", "b", traits=wishes("?y")))
    found = {one.trait: (one.optional, one.sources) for one in ask.wanted if isinstance(one, Leaf)}
    assert found == {
        "y": (False, ("the request", "purpose a")),
        "x": (False, ("purpose a", "purpose b")),
        "z": (True, ("purpose b",)),
    }


def test_the_earlier_source_says_what_is_negated() -> None:
    catalogue = a_catalogue(a_purpose("a", traits=wishes("x", "!y")), a_purpose("b", traits=wishes("y", "x")))
    ask = ask_of(catalogue, a_request("a", "b", traits=wishes("!x")))
    assert {one.trait: one.negated for one in ask.wanted} == {"x": True, "y": True}


def test_equivalent_traits_are_one_before_they_are_united() -> None:
    catalogue = a_catalogue(a_purpose("a", traits=wishes("nodeless")), an_equivalence("workerless", "nodeless"))
    (one,) = ask_of(catalogue, a_request("a", traits=wishes("?workerless"))).wanted
    assert isinstance(one, Leaf)
    assert (one.trait, one.spelled, one.optional) == ("nodeless", ("workerless", "nodeless"), False)


def test_operators_of_several_sources_stay_beside_each_other() -> None:
    catalogue = a_catalogue(a_purpose("a", traits=(wish(any_of=wishes("x", "y")),)))
    ask = ask_of(catalogue, a_request("a", traits=(wish(one_of=wishes("x", "y")),)))
    assert [one.kind for one in ask.wanted if isinstance(one, Operator)] == ["xor", "or"]


# -- seats, selectors, strategy, template (D18) ---------------------------------------------------------------


@pytest.mark.parametrize(("counts", "seats"), [((), 0), ((0,), 0), ((3,), 3), ((0, 5, 2), 2), ((-1, 4), 4)])
def test_the_strictest_limit(counts: tuple[int, ...], seats: int) -> None:
    assert smallest(counts) == seats


@pytest.mark.parametrize(
    ("first", "second", "dedicated", "seats"),
    [(0, 0, None, 0), (0, 5, None, 5), (7, 0, None, 7), (7, 5, None, 5), (7, 5, True, 1)],
)
def test_the_smallest_number_of_seats_counts(first: int, second: int, dedicated: bool | None, seats: int) -> None:
    catalogue = a_catalogue(a_purpose("a", tenancy_count=first), a_purpose("b", tenancy_count=second))
    assert ask_of(catalogue, a_request("a", "b", dedicated=dedicated)).seats == seats


def test_all_selectors_count_and_so_does_the_configuration() -> None:
    everywhere = a_selector(zone="here")
    catalogue = a_catalogue(
        a_purpose("a", selector=a_selector(tier="gold")),
        a_purpose("b"),
        a_purpose("c", selector=a_selector(size="big")),
        configuration=Configuration(clusters=everywhere),
    )
    ask = ask_of(catalogue, a_request("a", "b", "c"))
    assert ask.selectors == (everywhere, a_selector(tier="gold"), a_selector(size="big"))
    assert catalogue.labels == {"zone", "tier", "size"}


@pytest.mark.parametrize(
    ("purposes", "strategy"),
    [(("quiet",), Strategy.SIMPLE), (("quiet", "full", "any"), Strategy.PACKED), (("any", "full"), Strategy.RANDOM)],
)
def test_the_first_strategy_counts_else_the_configured(purposes: tuple[str, ...], strategy: Strategy) -> None:
    catalogue = a_catalogue(
        a_purpose("quiet"),
        a_purpose("full", strategy=Strategy.PACKED),
        a_purpose("any", strategy=Strategy.RANDOM),
        configuration=Configuration(strategy=Strategy.SIMPLE),
    )
    assert ask_of(catalogue, a_request(*purposes)).strategy is strategy


def test_balanced_is_the_strategy_if_nobody_says() -> None:
    assert ask_of(a_catalogue(SHARED), a_request("workload")).strategy is Strategy.BALANCED


def test_the_first_template_counts_and_takes_what_only_a_later_one_says() -> None:
    catalogue = a_catalogue(
        a_purpose("bare"),
        a_purpose("a", template=a_template(version="1.33", labels={"from": "a"}, generate_name="a-")),
        a_purpose(
            "b", template=a_template(profile="big", version="1.32", labels={"from": "b"}, namespace="there", name="one")
        ),
    )
    ask = ask_of(catalogue, a_request("bare", "a", "b"))
    assert ask.template_of == "a"
    assert ask.template == a_template(
        version="1.33", labels={"from": "a"}, generate_name="a-", profile="big", namespace="there", name="one"
    )
    assert ask.new_version == "1.33"
    assert ask_of(catalogue, a_request("a", version="1.31.2")).new_version == "1.31.2"


def test_without_a_template_there_is_an_empty_one() -> None:
    ask = ask_of(a_catalogue(SHARED), a_request("workload"))
    assert (ask.template, ask.template_of, ask.new_version) == (a_template(), "", "")


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("metadata.name", {"name": "a"}, {"name": "b"}),
        ("metadata.namespace", {"namespace": "a"}, {"namespace": "b"}),
        ("spec.profile", {"profile": "a"}, {"profile": "b"}),
    ],
)
def test_purposes_that_clash_are_both_named(field: str, one: dict[str, str], other: dict[str, str]) -> None:
    catalogue = a_catalogue(
        a_purpose("first", template=a_template(**one)),
        a_purpose("between"),
        a_purpose("last", template=a_template(**other)),
    )
    found = answer(catalogue, a_request("first", "between", "last"))
    assert (found.reason, found.final) == (Reason.PURPOSES_CLASH, True)
    assert "first and last" in found.message
    assert f"spec.template.{field} is 'a'" in found.message
    ask_of(catalogue, a_request("first"))
    ask_of(catalogue, a_request("last", "between"))


def test_purposes_that_say_the_same_do_not_clash() -> None:
    same = a_template(name="one", namespace="there", profile="big")
    catalogue = a_catalogue(a_purpose("a", template=same), a_purpose("b", template=same))
    assert ask_of(catalogue, a_request("a", "b")).template == same


# -- where purposes come from ---------------------------------------------------------------------------------


def test_a_purpose_object_counts_over_the_configuration() -> None:
    configuration = Configuration(
        purposes={"workload": PurposeSpec(dedicated=True), "old": PurposeSpec(tenancy_count=4)}
    )
    catalogue = a_catalogue(SHARED, configuration=configuration)
    assert not ask_of(catalogue, a_request("workload")).dedicated
    assert ask_of(catalogue, a_request("old")).seats == 4


def test_a_purpose_that_is_named_twice_counts_once() -> None:
    assert ask_of(a_catalogue(SHARED), a_request("workload", "workload")).purposes == ("workload",)


def test_equal_requests_ask_for_the_same_object() -> None:
    catalogue = a_catalogue(SHARED)
    one = ask_of(catalogue, a_request("workload", name="a", traits=wishes("x")))
    assert ask_of(catalogue, a_request("workload", name="b", traits=wishes("x"))) is one
    assert ask_of(catalogue, a_request("workload", name="b", traits=wishes("?x"))) is not one


# -- what cannot be answered ----------------------------------------------------------------------------------


def test_an_unknown_purpose_is_waited_for() -> None:
    found = answer(a_catalogue(SHARED, OWN), a_request("workload", "typo"))
    assert (found.reason, found.final) == (Reason.PURPOSE_NOT_FOUND, False)
    assert "typo" in found.message
    assert "mcp, workload" in found.message


@pytest.mark.parametrize("known", [[], [a_purpose(f"p-{place:03}") for place in range(100)]], ids=["none", "many"])
def test_all_unknown_purposes_are_told_in_a_short_message(known: list[Purpose]) -> None:
    found = answer(a_catalogue(*known), a_request("x", "y"))
    assert "purposes x, y do not exist" in found.message
    assert len(found.message) < 500


def nested(depth: int) -> TraitWish:
    inner = wish("x")
    for _ in range(depth):
        inner = wish(any_of=(inner,))
    return inner


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (ClusterRequestSpec(), "spec.purpose"),
        (ClusterRequestSpec(purpose="workload", purposes=("mcp",)), "spec.purpose and spec.purposes"),
        (ClusterRequestSpec(purpose="workload", kubernetes=RequestedKubernetes(version="1.x")), "kubernetes.version"),
        (ClusterRequestSpec(purpose="workload", kubernetes=RequestedKubernetes(version="1." * 999)), "version"),
        (ClusterRequestSpec(purpose="workload", traits=(wish(),)), "spec.traits[0]"),
        (ClusterRequestSpec(purpose="workload", traits=(wish("x", name="y"),)), "spec.traits[0]"),
        (ClusterRequestSpec(purpose="workload", traits=(wish("x"), nested(5))), "spec.traits[1].or[0]"),
        (ClusterRequestSpec(purpose="workload", traits=(nested(50),)), "spec.traits[0].or[0]"),
    ],
)
def test_a_request_that_came_past_the_server_is_denied_with_the_field(spec: ClusterRequestSpec, field: str) -> None:
    found = a_catalogue(SHARED, OWN).ask(spec)
    assert isinstance(found, Unanswerable)
    assert (found.reason, found.final) == (Reason.INVALID_REQUEST, True)
    assert field in found.message
    assert len(found.message) < 1000


@pytest.mark.parametrize(
    ("purpose", "field"),
    [
        (a_purpose("bad", traits=(wish(),)), "spec.traits[0]"),
        (a_purpose("bad", traits=(nested(9),)), "spec.traits[0]"),
        (a_purpose("bad", template=a_template(version="latest")), "spec.template.spec.kubernetes.version"),
        (
            a_purpose(
                "bad",
                selector=LabelSelector(
                    match_labels={"no": "match"}, match_expressions=(LabelRequirement(key="a", operator="Like"),)
                ),
            ),
            "spec.selector.matchExpressions[0].operator",
        ),
    ],
)
def test_a_purpose_that_came_past_the_server_is_named_with_the_field(purpose: Purpose, field: str) -> None:
    found = answer(a_catalogue(SHARED, purpose), a_request("workload", "bad"))
    assert (found.reason, found.final) == (Reason.INVALID_PURPOSE, True)
    assert "purpose bad" in found.message
    assert field in found.message


def test_traits_as_deep_as_a_file_can_hold_them_are_refused_each_time() -> None:
    text = '{"or":[' * 200 + '{"trait":"x"}' + "]}" * 200
    catalogue = a_catalogue(SHARED)
    for name in ("one", "another"):
        deep = msgspec.json.decode(text, type=TraitWish)
        assert answer(catalogue, a_request("workload", name=name, traits=[deep])).reason is Reason.INVALID_REQUEST

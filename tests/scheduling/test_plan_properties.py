"""What holds for every decision: it is the one that a search through everything finds, and it overbooks nobody."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plan_kit import (
    a_catalogue,
    a_cluster,
    a_fleet,
    a_profile,
    a_provider,
    a_purpose,
    a_request,
    a_selector,
    a_template,
    an_equivalence,
)

from mooring.api.claims import Claim, claimants, with_claims, without_claims
from mooring.api.clusters import Cluster, ClusterProfile, Tenancy
from mooring.api.conditions import Truth
from mooring.api.marks import KUBERNETES_VERSION_LABEL, RANDOMIZE_NAME_LABEL, WARM_LABEL
from mooring.api.names import name_hash
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, PurposeSpec, Strategy, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestSpec, RequestedKubernetes
from mooring.api.selectors import LabelRequirement, LabelSelector
from mooring.api.traits import TraitWish
from mooring.kube import ObjectKey, key_of
from mooring.scheduling.asking import Unanswerable
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import Configuration, Scope
from mooring.scheduling.fleet import Fleet, is_healthy
from mooring.scheduling.plan import Decision, Make, Take, plan
from mooring.scheduling.reasons import Reason

some = settings(
    deadline=None,
    derandomize=True,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


# -- small worlds ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Everything that a decision may look at."""

    purposes: list[Purpose]
    profiles: list[ClusterProfile]
    equivalences: list[TraitEquivalence]
    providers: list[ClusterProvider]
    clusters: list[Cluster]
    configuration: Configuration = field(default_factory=Configuration)

    def catalogue(self) -> Catalogue:
        objects = (*self.purposes, *self.profiles, *self.equivalences, *self.providers)
        return a_catalogue(*objects, configuration=self.configuration)

    def fleet(self, catalogue: Catalogue) -> Fleet:
        return a_fleet(catalogue, *self.clusters)

    def shuffled(self, by: random.Random) -> World:
        lists = (self.purposes, self.profiles, self.equivalences, self.providers, self.clusters)
        return World(*(by.sample(one, len(one)) for one in lists), configuration=self.configuration)


NAMES = st.sampled_from(["p", "q", "r"])
TRAITS = st.sampled_from("abcde")
FULL = ["1.32.1", "1.32.2", "1.33.0", "1.33.10", "1.33.9"]
LEAVES = st.builds(TraitWish, trait=TRAITS, optional=st.booleans(), negated=st.booleans())
PAIRS = st.lists(LEAVES, min_size=1, max_size=3).map(tuple)
FLAGS: dict[str, st.SearchStrategy[Any]] = {"optional": st.booleans(), "negated": st.booleans()}
WISHES = st.one_of(
    LEAVES,
    LEAVES,
    st.builds(TraitWish, any_of=PAIRS, **FLAGS),
    st.builds(TraitWish, one_of=PAIRS, **FLAGS),
    st.builds(TraitWish, all_of=PAIRS, **FLAGS),
)
FEW_WISHES = st.lists(WISHES, max_size=2).map(tuple)
LABELS = st.sampled_from([{}, {}, {"zone": "x"}, {"zone": "y"}])
TEMPLATES = st.builds(
    a_template,
    profile=st.sampled_from(["", "", "", "f"]),
    version=st.sampled_from(["", "", "1.32", "1.33.0"]),
    tenancy=st.sampled_from([None, *Tenancy]),
    generate_name=st.sampled_from(["", "g-"]),
    namespace=st.sampled_from(["", "", "pool"]),
    labels=LABELS,
)
PURPOSES = st.lists(
    st.builds(
        a_purpose,
        NAMES,
        dedicated=st.sampled_from([None, False, False, True]),
        traits=st.one_of(st.just(()), FEW_WISHES),
        tenancy_count=st.sampled_from([0, 1, 2, 3]),
        selector=st.sampled_from([None, None, a_selector(zone="x")]),
        template=st.one_of(st.none(), TEMPLATES),
        strategy=st.sampled_from([None, *Strategy]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one.metadata.name,
)
PROFILES = st.lists(
    st.builds(
        lambda name, versions, traits, most: a_profile(name, *versions, traits=traits, max_clusters=most),
        st.sampled_from("fgh"),
        st.lists(st.sampled_from([*FULL, *(f"{one}~" for one in FULL)]), max_size=3, unique_by=lambda one: one[:7]),
        st.lists(TRAITS, max_size=4, unique=True),
        st.sampled_from([0, 0, 0, 2]),
    ),
    max_size=3,
    unique_by=lambda one: one.metadata.name,
)


def clusters(names: str = "uvwxyz", *, most: int = 6) -> st.SearchStrategy[list[Cluster]]:
    return st.lists(
        st.builds(
            lambda name, purposes, **rest: a_cluster(name, *purposes, **rest),
            st.sampled_from(names),
            st.sampled_from([("p",), ("p",), ("p", "q"), ("q",), ("r", "p", "q")]),
            namespace=st.sampled_from(["team", "team", "pool"]),
            profile=st.sampled_from("fgh"),
            tenancy=st.sampled_from([Tenancy.SHARED, Tenancy.SHARED, Tenancy.EXCLUSIVE]),
            claims=st.integers(0, 3),
            version=st.sampled_from(["", *FULL]),
            running=st.sampled_from(["", "", *FULL]),
            ready=st.sampled_from([None, Truth.TRUE, Truth.FALSE]),
            warm=st.sampled_from(["", "", "p"]),
            labels=LABELS,
            deleting=st.sampled_from([False, False, False, True]),
        ),
        max_size=most,
        unique_by=key_of,
    )


WORLDS = st.builds(
    World,
    PURPOSES,
    PROFILES,
    st.sampled_from([[], [], [an_equivalence("a", "b")], [an_equivalence("b", "c"), an_equivalence("d", "b")]]),
    st.sampled_from([[], [a_provider("local")], [a_provider("silent")]]),
    clusters(),
    st.builds(
        Configuration,
        scope=st.sampled_from([Scope.CLUSTER, Scope.CLUSTER, Scope.NAMESPACED]),
        strategy=st.sampled_from(Strategy),
        clusters=st.sampled_from([None, None, None, a_selector(zone="x")]),
    ),
)
REQUESTS = st.builds(
    lambda purposes, **rest: a_request(*purposes, **rest),
    st.sampled_from([("p",), ("p",), ("q",), ("p", "q"), ("q", "r", "p")]),
    name=st.sampled_from(["mine", "yours", "theirs"]),
    version=st.sampled_from(["", "", "", "1.32", "1.33", "1.33.10", "1"]),
    dedicated=st.sampled_from([None, None, None, True, False]),
    traits=st.one_of(st.just(()), FEW_WISHES),
    labels=st.sampled_from([{}, {RANDOMIZE_NAME_LABEL: "true"}]),
)


# -- the same decision by brute force -------------------------------------------------------------------------
# Written from what the design says, without a look at indexes, sorts or racks: it goes through everything.


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def is_version(wanted: str, actual: str) -> bool:
    return not wanted or (bool(actual) and numbers(actual)[: len(numbers(wanted))] == numbers(wanted))


def classes(world: World) -> dict[str, frozenset[str]]:
    """Grown until nothing changes."""
    found = {trait: frozenset(trait) for trait in "abcde"}
    for _ in found:
        for one in world.equivalences:
            union = frozenset[str]().union(*(found[trait] for trait in one.spec.traits))
            found.update(dict.fromkeys(union, union))
    return found


def truth(one: TraitWish, has: frozenset[str]) -> tuple[bool, int]:
    """Whether it holds, and its points; ``has`` is closed under equivalence."""
    parts = [truth(each, has) for each in (*one.any_of, *one.all_of, *one.one_of)]
    held = [each for each, _ in parts]
    if one.any_of:
        holds = True in held
    elif one.all_of:
        holds = False not in held
    elif one.one_of:
        holds = held.count(True) == 1
    else:
        holds = one.trait in has
    holds ^= one.negated
    return holds, sum(points for _, points in parts) + (1 if holds and one.optional else 0)


def all_wishes(
    request: ClusterRequest, said: Sequence[PurposeSpec], same: Mapping[str, frozenset[str]]
) -> list[TraitWish]:
    leaves: dict[frozenset[str], TraitWish] = {}
    operators: dict[Any, TraitWish] = {}
    for one in (*request.spec.traits, *(each for spec in said for each in spec.traits)):
        if one.trait:
            known = leaves.setdefault(same[one.trait], one)
            if known.optional and not one.optional:
                leaves[same[one.trait]] = msgspec.structs.replace(known, optional=False)
        else:
            operators.setdefault(meaning(one, same), one)
    return [*leaves.values(), *operators.values()]


def meaning(one: TraitWish, same: Mapping[str, frozenset[str]]) -> Any:
    """Operators that say the same are one, so that what they prefer is not counted twice."""
    inner = [tuple(meaning(each, same) for each in parts) for parts in (one.any_of, one.all_of, one.one_of)]
    return one.trait and same[one.trait], one.optional, one.negated, *inner


def judge(wishes: Iterable[TraitWish], has: frozenset[str]) -> int | None:
    """Points; None if something required is missing."""
    points = 0
    for one in wishes:
        holds, more = truth(one, has)
        if not holds and not one.optional:
            return None
        points += more
    return points


def brute_force(world: World, request: ClusterRequest) -> tuple[str, Any]:
    """``("take", keys of which one is taken)``, ``("make", (key, profile, version))`` or ``("no", reason)``."""
    specs = {one.metadata.name: one.spec for one in world.purposes}
    names = request.spec.all_purposes
    if any(name not in specs for name in names):
        return "no", Reason.PURPOSE_NOT_FOUND
    said = [specs[name] for name in names]
    templates = [one.template for one in said if one.template is not None]
    profile_names = {one.spec.profile for one in templates} - {""}
    namespaces = {one.metadata.namespace for one in templates} - {""}
    same = classes(world)
    wishes = all_wishes(request, said, same)
    has = {
        one.metadata.name: frozenset[str]().union(*(same[each.trait] for each in one.spec.supported_traits))
        for one in world.profiles
    }

    def strict(one: PurposeSpec) -> bool:
        if one.dedicated is not None:
            return one.dedicated
        return one.template is not None and one.template.spec.tenancy is Tenancy.EXCLUSIVE

    dedicated = any(map(strict, said)) if request.spec.dedicated is None else request.spec.dedicated
    tenancy = Tenancy.EXCLUSIVE if dedicated else Tenancy.SHARED
    limits = [one.tenancy_count for one in said if one.tenancy_count]
    namespace = next(iter(namespaces), request.metadata.namespace)
    strategy = next((one.strategy for one in said if one.strategy), world.configuration.strategy)
    selectors = [one for one in (world.configuration.clusters, *(each.selector for each in said)) if one is not None]

    def running(one: Cluster) -> str:
        return one.metadata.labels.get(KUBERNETES_VERSION_LABEL) or one.spec.kubernetes.version

    fitting: list[tuple[tuple[bool, bool, int], int, ObjectKey]] = []
    for one in world.clusters:
        count = len(claimants(one.metadata))
        warm = bool(one.metadata.labels.get(WARM_LABEL)) and not count
        seats = [specs[name].tenancy_count for name in one.spec.purposes if name in specs]
        most = 1 if dedicated else min([each for each in seats if each], default=0)
        points = judge(wishes, has.get(one.spec.profile, frozenset()))
        if (
            one.metadata.deletion_timestamp
            or one.spec.tenancy is not tenancy
            or (dedicated and not warm)
            or not set(names) <= set(one.spec.purposes)
            or any(one.metadata.labels.get(k) != v for each in selectors for k, v in each.match_labels.items())
            or (world.configuration.scope is Scope.NAMESPACED and one.metadata.namespace != namespace)
            or points is None
            or not is_version(request.spec.kubernetes.version, running(one))
            or (most and count >= most)
        ):
            continue
        order = {Strategy.BALANCED: count, Strategy.PACKED: -count}.get(strategy, 0)
        fitting.append(((warm, not is_healthy(one), -points), order, key_of(one)))
    if fitting:
        best = min(rank for rank, *_ in fitting)
        keys = [key for _, key in sorted((order, key) for rank, order, key in fitting if rank == best)]
        return "take", set(keys) if strategy is Strategy.RANDOM and not best[0] else {keys[0]}

    if len(profile_names) > 1 or len(namespaces) > 1:
        return "no", Reason.PURPOSES_CLASH
    template = templates[0] if templates else a_template()
    beginning = template.metadata.generate_name
    if dedicated or limits or beginning:
        random_name = request.metadata.labels.get(RANDOMIZE_NAME_LABEL) == "true"
        own = [request.metadata.uid] if random_name else [request.metadata.namespace, request.metadata.name]
        place = ObjectKey(namespace, (beginning or f"{names[0]}-") + name_hash(*own))
    else:
        place = ObjectKey(namespace, names[0])
    wanted = request.spec.kubernetes.version or template.spec.kubernetes.version
    offers: list[tuple[Any, ...]] = []
    for profile in world.profiles:
        points = judge(wishes, has[profile.metadata.name])
        full = len(numbers(wanted)) == 3 if wanted else False
        there = profile.spec.supported_versions
        possible = [one.version for one in there if is_version(wanted, one.version) and (full or not one.deprecated)]
        if points is None or not {profile.metadata.name} >= profile_names or (there and not possible):
            continue
        version = max(possible, key=numbers) if there else wanted if full else ""
        newness = [-number for number in numbers(version)] if version else [1]
        offers.append((-points, newness, profile.metadata.name, version, profile.spec.max_clusters))
    made = [one.spec.profile for one in world.clusters]
    for _, _, name, version, most in sorted(offers):
        if not most or made.count(name) < most:
            return "make", (place, name, version if wanted else "")
    if offers:
        return "no", Reason.NO_CAPACITY
    if profile_names - set(has):
        return "no", Reason.PROFILE_NOT_FOUND
    silent = {one.metadata.name for one in world.providers} - {one.spec.provider_ref.name for one in world.profiles}
    return "no", Reason.NO_PROFILES_YET if silent or not has else Reason.NO_FITTING_PROFILE


@settings(some, max_examples=600)
@given(WORLDS, REQUESTS)
def test_the_decision_is_what_a_search_through_everything_finds(world: World, request: ClusterRequest) -> None:
    catalogue = world.catalogue()
    decision = plan(request, catalogue, world.fleet(catalogue))
    what, expected = brute_force(world, request)
    match decision:
        case Take(key):
            assert what == "take"
            assert key in expected
        case Make(cluster):
            found = (key_of(cluster), cluster.spec.profile, cluster.spec.kubernetes.version)
            assert (what, expected) == ("make", found)
        case Unanswerable(reason, _, final):
            # Purposes that clash are refused before anything is looked at.
            clash = reason is Reason.PURPOSES_CLASH
            assert clash or (what, expected) == ("no", reason)
            assert final == (reason in {Reason.PURPOSES_CLASH, Reason.NO_FITTING_PROFILE})


# -- sequences of decisions -----------------------------------------------------------------------------------


def seats_of(cluster: Cluster, world: World) -> int:
    """How many may hold it, by its own purposes; 0 for any number."""
    if cluster.spec.tenancy is Tenancy.EXCLUSIVE:
        return 1
    counts = [one.spec.tenancy_count for one in world.purposes if one.metadata.name in cluster.spec.purposes]
    return min([one for one in counts if one], default=0)


def claimed(cluster: Cluster, uid: str) -> Cluster:
    return msgspec.structs.replace(cluster, metadata=with_claims(cluster.metadata, [Claim(uid=uid)]))


SEQUENCES = st.lists(st.tuples(REQUESTS, st.sampled_from(["at once", "later", "never", "released"])), max_size=12)


@some
@given(WORLDS, SEQUENCES)
def test_nothing_is_overbooked_whenever_decisions_are_written(
    world: World, steps: list[tuple[ClusterRequest, str]]
) -> None:
    """Each decision is assumed; it is written at once, at the end, never, or written and given back again."""
    catalogue = world.catalogue()
    fleet = world.fleet(catalogue)
    there = {key_of(one): one for one in world.clusters}
    before = {key: len(claimants(one.metadata)) for key, one in there.items()}
    waiting: list[tuple[Cluster, str]] = []

    def written(cluster: Cluster, uid: str) -> None:
        key = key_of(cluster)
        there[key] = claimed(there.get(key, cluster), uid)
        fleet.put(there[key])
        fleet.settle(key, uid)

    for place, (given_request, when) in enumerate(steps):
        uid = f"step-{place}"
        metadata = msgspec.structs.replace(given_request.metadata, uid=uid, name=uid)
        request = msgspec.structs.replace(given_request, metadata=metadata)
        decision = plan(request, catalogue, fleet)
        if isinstance(decision, Unanswerable):
            continue
        if isinstance(decision, Make):
            cluster = decision.cluster
            assert fleet.get(key_of(cluster)) is None
            fleet.draft(cluster, uid)
        else:
            found = fleet.get(decision.cluster)
            assert found is not None
            assert not found.metadata.deleting
            cluster = found
            fleet.assume(decision.cluster, uid)
        key = key_of(cluster)
        most = seats_of(cluster, world)
        assert not most or fleet.taken(key) <= most
        if when == "later":
            waiting.append((cluster, uid))
        elif when == "never":
            fleet.settle(key, uid)
        else:
            written(cluster, uid)
        if when == "released":
            there[key] = msgspec.structs.replace(there[key], metadata=without_claims(there[key].metadata, [uid]))
            fleet.put(there[key])
    for cluster, uid in waiting:
        written(cluster, uid)
    for key, one in there.items():
        count, most = len(claimants(one.metadata)), seats_of(one, world)
        assert not most or count <= max(most, before.get(key, 0))
        assert fleet.taken(key) == count
    for profile in world.profiles:
        most = profile.spec.max_clusters
        made_before = sum(one.spec.profile == profile.metadata.name for one in world.clusters)
        assert not most or fleet.made_by(profile.metadata.name) <= max(most, made_before)


# -- the same input, the same plan ----------------------------------------------------------------------------


@some
@given(WORLDS, st.lists(REQUESTS, min_size=1, max_size=4), st.integers(0, 1_000_000))
def test_the_same_input_gives_the_same_plan_in_whatever_order_it_came(
    world: World, requests: list[ClusterRequest], seed: int
) -> None:
    """Random is left out: what it takes depends on what came and went before, and on the uid."""
    one, two = world.catalogue(), world.shuffled(random.Random(seed)).catalogue()
    first, second = world.fleet(one), world.shuffled(random.Random(seed)).fleet(two)
    for request in requests:
        decision = plan(request, one, first)
        assert plan(request, one, first) == decision
        ask = one.ask(request.spec)
        if isinstance(ask, Unanswerable) or ask.strategy is not Strategy.RANDOM:
            assert plan(request, two, second) == decision


@some
@given(WORLDS, st.lists(REQUESTS, max_size=6), REQUESTS)
def test_what_was_asked_before_changes_nothing(
    world: World, others: list[ClusterRequest], request: ClusterRequest
) -> None:
    """A decision writes nothing: what is remembered of other requests is only about them."""
    used, fresh = world.catalogue(), world.catalogue()
    fleet = world.fleet(used)
    for other in others:
        plan(other, used, fleet)
    assert plan(request, used, fleet) == plan(request, fresh, world.fleet(fresh))


@some
@given(WORLDS, REQUESTS, clusters("klmn", most=4))
def test_more_clusters_never_turn_a_grant_into_a_denial(
    world: World, request: ClusterRequest, more: list[Cluster]
) -> None:
    catalogue = world.catalogue()
    fleet = world.fleet(catalogue)
    before = plan(request, catalogue, fleet)
    for cluster in more:
        fleet.put(cluster)
    after = plan(request, catalogue, fleet)
    if isinstance(before, Take):
        assert isinstance(after, Take)
    elif isinstance(before, Make):
        # What may come in between is that all profiles are full now: then it waits.
        assert isinstance(after, Take | Make) or after.reason is Reason.NO_CAPACITY
    elif not before.final:
        assert not (isinstance(after, Unanswerable) and after.final)


# -- hostile input --------------------------------------------------------------------------------------------

ODD = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.sampled_from(
        ["", "p", "a" * 5_000, "-", "..", "1.33", "v1.33.3-x", "1.33.3+k3s1", "999999999999.1", "a\n", "/"]
    ),
)
ODD_LEAVES = st.builds(TraitWish, trait=ODD, name=st.sampled_from(["", "", "x"]), optional=st.booleans())


def odd_operators(entries: st.SearchStrategy[TraitWish]) -> st.SearchStrategy[TraitWish]:
    lists = st.lists(entries, max_size=3).map(tuple)
    return st.builds(TraitWish, any_of=lists, all_of=lists, one_of=lists, negated=st.booleans())


def chained(wish: TraitWish, depth: int) -> TraitWish:
    for _ in range(depth):
        wish = TraitWish(all_of=(wish,))
    return wish


ODD_WISHES = st.one_of(
    st.recursive(ODD_LEAVES, odd_operators, max_leaves=8),
    st.builds(chained, LEAVES, st.sampled_from([3, 4, 5, 50, 400])),
)
MANY = st.sampled_from([1, 1, 1, 1_000])
ODD_WISH_LISTS = st.builds(lambda wishes, times: tuple(wishes) * times, st.lists(ODD_WISHES, max_size=3), MANY)
ODD_REQUESTS = st.builds(
    lambda spec, labels: ClusterRequest(metadata=a_request("p", labels=labels).metadata, spec=spec),
    st.builds(
        ClusterRequestSpec,
        purpose=st.one_of(st.just(""), ODD),
        purposes=st.builds(
            lambda names, times: tuple(names) * times + tuple(f"n-{one}" for one in range(times - 1)),
            st.lists(ODD, max_size=3),
            MANY,
        ),
        dedicated=st.sampled_from([None, True, False]),
        kubernetes=st.builds(RequestedKubernetes, version=ODD),
        traits=ODD_WISH_LISTS,
    ),
    st.dictionaries(ODD, ODD, max_size=2),
)
ODD_SELECTORS = st.builds(
    LabelSelector,
    match_labels=st.dictionaries(ODD, ODD, max_size=1),
    match_expressions=st.lists(
        st.builds(LabelRequirement, key=ODD, operator=st.sampled_from(["In", "Exists", "exists", ""])), max_size=2
    ).map(tuple),
)
ODD_PURPOSES = st.builds(
    a_purpose,
    st.sampled_from(["p", "a" * 5_000, "", "/"]),
    dedicated=st.sampled_from([None, True, False]),
    traits=ODD_WISH_LISTS,
    tenancy_count=st.integers(-2, 2),
    selector=st.one_of(st.none(), ODD_SELECTORS),
    template=st.one_of(
        st.none(),
        st.builds(a_template, version=ODD, name=ODD, generate_name=ODD, namespace=ODD, profile=ODD),
    ),
)
ODD_CLUSTERS = st.builds(
    lambda name, purposes, **rest: a_cluster(name, *purposes, **rest),
    ODD,
    st.lists(ODD, max_size=3),
    profile=ODD,
    claims=st.lists(ODD, max_size=3),
    version=ODD,
    running=ODD,
    labels=st.dictionaries(ODD, ODD, max_size=2),
)


@some
@given(ODD_REQUESTS, st.lists(ODD_PURPOSES, max_size=3), st.lists(ODD_CLUSTERS, max_size=3), st.lists(ODD, max_size=3))
def test_no_hostile_request_breaks_a_decision(
    request: ClusterRequest, purposes: list[Purpose], there: list[Cluster], odd: list[str]
) -> None:
    profiles = [a_profile("f", *odd, traits=odd), a_profile("g", "1.33.3")]
    catalogue = a_catalogue(a_purpose("p"), *purposes, *profiles)
    fleet = a_fleet(catalogue, *there)
    known = msgspec.structs.replace(request, spec=msgspec.structs.replace(request.spec, purpose="p", purposes=()))
    for one in (request, known):
        decision: Decision = plan(one, catalogue, fleet)
        assert isinstance(decision, Take | Make | Unanswerable)
        if isinstance(decision, Unanswerable):
            assert 0 < len(decision.message) <= 2_000
        assert plan(one, catalogue, fleet) == decision

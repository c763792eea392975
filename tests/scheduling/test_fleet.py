"""The fleet: what is counted as taken, what is assumed, and that it always equals a look at every cluster."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from plan_kit import a_cluster

from mooring.api.claims import claimants
from mooring.api.clusters import Cluster, Tenancy
from mooring.api.conditions import Truth
from mooring.api.marks import KUBERNETES_VERSION_LABEL, WARM_LABEL
from mooring.kube import ObjectKey, key_of
from mooring.scheduling import fleet as fleets
from mooring.scheduling.fleet import Fleet, is_healthy

C = ObjectKey("team", "c")


def seats(fleet: Fleet, purpose: str = "work") -> dict[ObjectKey, int]:
    """What the racks of a purpose hold."""
    return {key: count for rack in fleet.racks(purpose).values() for count, row in rack.free(0) for key in row}


def test_seats_are_claims() -> None:
    fleet = Fleet.of([a_cluster("c", "work", "more", claims=2), a_cluster("d", "more")])
    assert seats(fleet) == {C: 2}
    assert seats(fleet, "more") == {C: 2, ObjectKey("team", "d"): 0}
    assert seats(fleet, "unheard-of") == {}
    assert (fleet.taken(C), fleet.taken(ObjectKey("team", "nobody"))) == (2, 0)
    assert len(fleet) == len(list(fleet)) == 2


def test_a_cluster_that_is_being_deleted_has_no_seats_and_keeps_its_name_and_its_place_in_the_profile() -> None:
    fleet = Fleet.of([a_cluster("c", "work", claims=1, deleting=True)])
    assert seats(fleet) == {}
    assert fleet.sort_of(C) is None
    assert fleet.get(C) is not None
    assert fleet.made_by("plain") == 1
    fleet.assume(C, "mine")
    fleet.settle(C, "mine")
    fleet.remove(C)
    assert (fleet.get(C), fleet.made_by("plain"), len(fleet)) == (None, 0, 0)


def test_what_is_assumed_counts_once_also_when_it_is_written() -> None:
    fleet = Fleet.of([a_cluster("c", "work", claims=["a"])])
    fleet.assume(C, "mine")
    fleet.assume(C, "mine")
    assert seats(fleet) == {C: 2}
    fleet.put(a_cluster("c", "work", claims=["a", "mine"]))
    assert seats(fleet) == {C: 2}
    fleet.settle(C, "mine")
    assert seats(fleet) == {C: 2}


def test_what_is_assumed_survives_a_change_by_others_and_ends_when_it_is_settled() -> None:
    fleet = Fleet.of([a_cluster("c", "work")])
    fleet.assume(C, "mine")
    fleet.put(a_cluster("c", "work", claims=["a"], running="1.33.3"))
    assert seats(fleet) == {C: 2}
    fleet.settle(C, "mine")
    fleet.settle(C, "mine")
    assert seats(fleet) == {C: 1}


def test_what_is_assumed_of_a_cluster_that_is_gone_is_forgotten() -> None:
    fleet = Fleet.of([a_cluster("c", "work")])
    fleet.assume(C, "mine")
    fleet.remove(C)
    fleet.remove(C)
    fleet.assume(C, "mine")
    fleet.settle(C, "mine")
    assert fleet.get(C) is None
    fleet.put(a_cluster("c", "work"))
    assert seats(fleet) == {C: 0}


def test_a_draft_is_there_until_it_is_made_or_given_up() -> None:
    fleet = Fleet()
    fleet.draft(a_cluster("c", "work"), "mine")
    fleet.draft(a_cluster("c", "work"), "yours")
    assert (seats(fleet), fleet.made_by("plain")) == ({C: 2}, 1)
    fleet.settle(C, "mine")
    assert seats(fleet) == {C: 1}
    fleet.settle(C, "yours")
    assert (seats(fleet), fleet.made_by("plain"), fleet.get(C)) == ({}, 0, None)


def test_a_draft_that_was_made_stays() -> None:
    fleet = Fleet()
    fleet.draft(a_cluster("c", "work"), "mine")
    fleet.put(a_cluster("c", "work", claims=["mine"]))
    fleet.settle(C, "mine")
    assert seats(fleet) == {C: 1}


def test_drafting_what_is_there_takes_a_seat_in_it() -> None:
    there = a_cluster("c", "work", claims=["a"])
    fleet = Fleet.of([there])
    fleet.draft(a_cluster("c", "work", profile="other"), "mine")
    assert (fleet.get(C), seats(fleet), fleet.made_by("other")) == (there, {C: 2}, 0)
    fleet.settle(C, "mine")
    assert seats(fleet) == {C: 1}


def test_equal_clusters_are_of_one_sort() -> None:
    fleet = Fleet.of([a_cluster("c", "b", "a", "a"), a_cluster("d", "a", "b", namespace="other", labels={"x": "y"})])
    assert fleet.sort_of(C) is fleet.sort_of(ObjectKey("other", "d")) is not None


@pytest.mark.parametrize(
    "other",
    [
        {"profile": "big"},
        {"running": "1.33.3"},
        {"version": "1.33.3"},
        {"tenancy": Tenancy.EXCLUSIVE},
        {"ready": Truth.FALSE},
        {"warm": "work"},
        {"labels": {"zone": "b"}},
        {"namespace": "there"},
    ],
)
def test_what_makes_another_sort(other: dict[str, object]) -> None:
    fleet = Fleet(labels={"zone"}, by_namespace=True)
    one, two = a_cluster("c", "work"), a_cluster("d", "work", **other)
    fleet.put(one)
    before = fleet.edition
    fleet.put(two)
    assert fleet.sort_of(C) is not fleet.sort_of(key_of(two))
    assert fleet.edition > before


def test_the_version_is_the_running_one_else_the_desired() -> None:
    fleet = Fleet.of(
        [a_cluster("c", "work", version="1.33.3"), a_cluster("d", "work", version="1.33", running="v1.32.1")]
    )
    found = {name: fleet.sort_of(ObjectKey("team", name)) for name in "cd"}
    assert {name: sort.version for name, sort in found.items() if sort} == {"c": "1.33.3", "d": "v1.32.1"}


def test_a_warm_cluster_that_is_claimed_is_none_any_more() -> None:
    fleet = Fleet.of([a_cluster("c", "work", warm="work")])
    sort = fleet.sort_of(C)
    assert sort is not None
    assert sort.warm == "work"
    fleet.put(a_cluster("c", "work", warm="work", claims=["mine"]))
    sort = fleet.sort_of(C)
    assert sort is not None
    assert sort.warm == ""


@pytest.mark.parametrize(
    ("ready", "healthy"), [(None, True), (Truth.TRUE, True), (Truth.UNKNOWN, True), (Truth.FALSE, False)]
)
def test_health(ready: Truth | None, healthy: bool) -> None:
    assert is_healthy(a_cluster("c", "work", ready=ready)) is healthy


def test_sorting_anew_when_selectors_look_at_other_labels() -> None:
    clusters = [a_cluster(name, "work", namespace=f"ns-{name}", labels={"zone": name}) for name in "abc"]
    fleet = Fleet.of(clusters)
    fleet.assume(ObjectKey("ns-a", "a"), "mine")
    before = seats(fleet)
    assert len(fleet.racks("work")) == 1
    edition = fleet.edition
    fleet.sort_by(labels=(), by_namespace=False)
    assert fleet.edition == edition
    fleet.sort_by(labels={"zone"}, by_namespace=False)
    assert len(fleet.racks("work")) == 3
    assert fleet.edition > edition
    fleet.sort_by(labels=(), by_namespace=True)
    assert {sort.namespace for sort in fleet.racks("work")} == {"ns-a", "ns-b", "ns-c"}
    assert seats(fleet) == before == {key_of(one): int(one.metadata.name == "a") for one in clusters}
    assert fleet.made_by("plain") == 3


def test_starting_over() -> None:
    fleet = Fleet.of([a_cluster("c", "work")])
    fleet.assume(C, "mine")
    fleet.clear()
    assert (len(fleet), seats(fleet), fleet.made_by("plain")) == (0, {}, 0)
    fleet.put(a_cluster("c", "work"))
    assert seats(fleet) == {C: 0}


def test_sorts_that_nothing_is_left_of_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "_SORTS_AT_LEAST", 8)
    fleet = Fleet.of([a_cluster("other", "work", claims=1)])
    for patch in range(200):
        for name in "cd":
            fleet.put(a_cluster(name, "work", running=f"1.33.{patch}"))
        # Both have the same version now, so they are of one sort: a sweep does not forget the one that just came.
        assert fleet.sort_of(C) is fleet.sort_of(ObjectKey("team", "d"))
        assert len(fleet.racks("work")) <= 17
    assert len(fleet._sorts) <= 17
    assert seats(fleet) == {C: 0, ObjectKey("team", "d"): 0, ObjectKey("team", "other"): 1}


# -- any sequence of events -----------------------------------------------------------------------------------

UIDS = st.sampled_from(["u1", "u2", "u3", "u4"])
CLUSTERS = st.builds(
    a_cluster,
    st.sampled_from(["c", "d", "e"]),
    st.sampled_from(["work", "more"]),
    namespace=st.sampled_from(["a", "b"]),
    profile=st.sampled_from(["plain", "big"]),
    tenancy=st.sampled_from(Tenancy),
    claims=st.sets(UIDS, max_size=3),
    running=st.sampled_from(["", "1.33.3", "1.33.4", "1.33.5"]),
    ready=st.sampled_from([None, Truth.TRUE, Truth.FALSE]),
    warm=st.sampled_from(["", "work"]),
    labels=st.sampled_from([{}, {"zone": "x"}, {"zone": "y"}, {"noise": "z"}]),
    deleting=st.booleans(),
)
KEYS = st.builds(ObjectKey, st.sampled_from(["a", "b"]), st.sampled_from(["c", "d", "e"]))


class FleetMachine(RuleBasedStateMachine):
    """The fleet beside the plainest model of it: clusters, what is assumed of them, and which are only drafts."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet(labels={"zone"})
        self.fleet._sweep_at = 3
        self.zones, self.by_namespace = {"zone"}, False
        self.there: dict[ObjectKey, Cluster] = {}
        self.assumed: dict[ObjectKey, set[str]] = {}
        self.drafts: set[ObjectKey] = set()

    @rule(cluster=CLUSTERS)
    def put(self, cluster: Cluster) -> None:
        self.fleet.put(cluster)
        self.fleet._sweep_at = min(self.fleet._sweep_at, 3)  # often, as it is never with 256
        self.there[key_of(cluster)] = cluster
        self.drafts.discard(key_of(cluster))

    @rule(key=KEYS)
    def remove(self, key: ObjectKey) -> None:
        self.fleet.remove(key)
        self.there.pop(key, None)
        self.assumed.pop(key, None)
        self.drafts.discard(key)

    @rule(key=KEYS, uid=UIDS)
    def assume(self, key: ObjectKey, uid: str) -> None:
        self.fleet.assume(key, uid)
        if key in self.there:
            self.assumed.setdefault(key, set()).add(uid)

    @rule(cluster=CLUSTERS, uid=UIDS)
    def draft(self, cluster: Cluster, uid: str) -> None:
        draft = msgspec.structs.replace(
            cluster, metadata=msgspec.structs.replace(cluster.metadata, deletion_timestamp="", finalizers=())
        )
        self.fleet.draft(draft, uid)
        key = key_of(draft)
        if key not in self.there:
            self.there[key] = draft
            self.drafts.add(key)
        self.assumed.setdefault(key, set()).add(uid)

    @rule(key=KEYS, uid=UIDS)
    def settle(self, key: ObjectKey, uid: str) -> None:
        self.fleet.settle(key, uid)
        self.assumed.get(key, set()).discard(uid)
        if key in self.drafts and not self.assumed.get(key):
            self.remove(key)

    @rule(zones=st.sampled_from([(), ("zone",)]), by_namespace=st.booleans())
    def sort_by(self, zones: tuple[str, ...], by_namespace: bool) -> None:
        self.fleet.sort_by(labels=zones, by_namespace=by_namespace)
        self.zones, self.by_namespace = set(zones), by_namespace

    def counted(self, key: ObjectKey) -> int:
        return len(set(claimants(self.there[key].metadata)) | self.assumed.get(key, set()))

    @invariant()
    def racks_equal_a_scan(self) -> None:
        for purpose in ("work", "more"):
            expected = {
                (self.seen(one), key, self.counted(key))
                for key, one in self.there.items()
                if purpose in one.spec.purposes and not one.metadata.deleting
            }
            held = [
                ((s.namespace, s.profile, s.version, s.tenancy, tuple(s.labels.items()), s.healthy, s.warm), key, count)
                for s, rack in self.fleet.racks(purpose).items()
                for count, row in rack.free(0)
                for key in row
            ]
            assert len(held) == len(set(held))
            assert set(held) == expected

    def seen(self, one: Cluster) -> tuple[object, ...]:
        marks = one.metadata.labels
        return (
            one.metadata.namespace if self.by_namespace else "",
            one.spec.profile,
            marks.get(KUBERNETES_VERSION_LABEL, ""),
            one.spec.tenancy,
            tuple((key, value) for key, value in marks.items() if key in self.zones),
            is_healthy(one),
            "" if claimants(one.metadata) else marks.get(WARM_LABEL, ""),
        )

    @invariant()
    def the_rest_equals_a_scan(self) -> None:
        assert list(self.fleet) == [self.fleet.get(key) for key in self.fleet._entries]
        assert {key_of(one): one for one in self.fleet} == self.there
        profiles = Counter(one.spec.profile for one in self.there.values())
        assert {name: self.fleet.made_by(name) for name in ("plain", "big")} == {
            name: profiles[name] for name in ("plain", "big")
        }
        assert set(self.fleet._by_profile) == set(profiles)
        for key in self.there:
            assert self.fleet.taken(key) == self.counted(key)

    @invariant()
    def one_sort_of_each(self) -> None:
        assert len(set(self.fleet._sorts.values())) == len(self.fleet._sorts)
        assert set(self.fleet._racks) == set(self.fleet._sorts.values())


TestAnySequence = FleetMachine.TestCase
TestAnySequence.settings = settings(deadline=None, derandomize=True, max_examples=60, stateful_step_count=40)

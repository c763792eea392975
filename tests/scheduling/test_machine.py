"""Anything that can happen to scheduling, in any order, on a real server; and what must hold whenever it is quiet.

Quiet is a matter of state, not of time: what has to come about is waited for, and what must never be is looked for in
every version of every cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from machine_kit import Mortal, Witness, clashing_prefixes, ours, proxy_before, until_nothing_is_left, without
from scheduling_kit import new_world

from mooring.api.claims import claimants, claims_on
from mooring.api.clusters import Cluster, ClusterProfile, Tenancy
from mooring.api.kinds import Metadata
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, WARM_LABEL, claim_of
from mooring.api.names import name_hash
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest, ClusterRequestGrant, ClusterRequestSpec
from mooring.kube import Client, ObjectKey, key_of
from mooring.kube.errors import NotFound
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.plan import plan
from mooring.scheduling.reasons import Reason
from mooring.scheduling.standing import belongs_to
from mooring.testing.managers import until

LONG = int(os.environ.get("MOORING_LONG_RUN") or "0")
RUNS, STEPS = (max(LONG, 16), 60) if LONG else (3, 25)

# What is asked for, by the word for it.
ASKS = {
    "own": {"purpose": "own"},
    "seat": {"purpose": "seats"},
    "open": {"purpose": "open"},
    "both": {"purposes": ["seats", "open"]},
    "alone": {"purpose": "seats", "dedicated": True},
}
NAMES = [f"r{number}" for number in range(8)]
names, asks, places = st.sampled_from(NAMES), st.sampled_from(sorted(ASKS)), st.integers(0, 20)
prefixes = st.sampled_from(["", "abc", "abcd", "team-"])


def home_of(grant):
    return ObjectKey(grant.spec.cluster_ref.namespace, grant.spec.cluster_ref.name)


def is_held(clusters, *, beginning, request):
    """Whether somebody holds the cluster that has the name which one for this request would have."""
    own = request.metadata
    there = clusters.get(ObjectKey(own.namespace, f"{beginning}-{name_hash(own.namespace, own.name)}"))
    return there is not None and bool(claimants(there.metadata))


class Scheduling(RuleBasedStateMachine):
    """The world, one scheduler behind a connection that fails, and for a while a second one."""

    def __init__(self, plane, connection):
        super().__init__()
        self.runner = asyncio.Runner()
        self.open = contextlib.AsyncExitStack()
        self.warm, self.seats, self.most_seats = 0, 3, 3
        self.frozen = False
        self.second: Mortal | None = None
        self.do(self._begin(plane, connection))

    def do(self, doing):
        return self.runner.run(doing)

    async def _begin(self, plane, connection):
        client = await self.open.enter_async_context(Client(connection))
        self.world = await new_world(client)
        self.open.push_async_callback(self.world.clear)
        self.proxy = await self.open.enter_async_context(proxy_before(plane))
        self.witness = Witness(limit=lambda cluster: self.most_seats if "seats" in cluster.spec.purposes else 0)
        await self.open.enter_async_context(self.witness.watching(client))
        await self.world.profile("gold")
        await self.world.profile("silver")
        await self.world.purpose("own", dedicated=True)
        await self.world.purpose("seats", dedicated=False, tenancyCount=self.seats)
        await self.world.purpose("open", dedicated=False)
        await self._start()

    async def _start(self):
        self.first = Mortal(self.proxy.connection)
        await self.first.start()

    def teardown(self):
        try:
            self.do(self._end())
        finally:
            self.do(self._drop_all())
            self.runner.close()

    async def _end(self):
        """Quiet once more; then everybody leaves, and nothing is left."""
        await self._thaw()
        await self._settled()
        await self.world.patch(Purpose, "own", {"spec": {"warm": 0}})
        for name in NAMES:
            await self.world.delete(ClusterRequest, name)
        await until_nothing_is_left(self.world)
        assert not self.witness.wrongs

    async def _drop_all(self):
        for mortal in (self.first, self.second):
            if mortal is not None:
                await mortal.die()
        await self.open.aclose()

    async def _thaw(self):
        self.proxy.thaw_watches()
        self.frozen = False

    # -- what people do ---------------------------------------------------------------------------------------------

    @initialize(first=asks, second=asks)
    def begin(self, first, second):
        self.do(self._create(NAMES[0], first, "abc"))
        self.do(self._create(NAMES[1], second, "abc"))

    @rule(name=names, ask=asks, prefix=prefixes)
    def create(self, name, ask, prefix):
        self.do(self._create(name, ask, prefix))

    async def _create(self, name, ask, prefix):
        if await self.world.get(ClusterRequest, name) is None:
            await self.world.request(name, **ASKS[ask], **({"prefix": prefix} if prefix else {}))

    @rule(name=names)
    def delete(self, name):
        self.do(self.world.delete(ClusterRequest, name))

    @rule(leaver=names, comer=names, ask=asks)
    def delete_and_create(self, leaver, comer, ask):
        async def both():
            await asyncio.gather(self.world.delete(ClusterRequest, leaver), self._create(comer, ask, ""))

        self.do(both())

    @rule(number=st.integers(0, 2))
    def keep_warm(self, number):
        self.warm = number
        self.do(self.world.patch(Purpose, "own", {"spec": {"warm": number}}))

    @rule(number=st.integers(1, 4))
    def change_seats(self, number):
        self.seats, self.most_seats = number, max(number, self.most_seats)
        self.do(self.world.patch(Purpose, "seats", {"spec": {"tenancyCount": number}}))

    @rule(place=places, ready=st.sampled_from(["True", "False"]))
    def cluster_is(self, place, ready):
        async def say():
            clusters = await self.world.all(Cluster)
            if clusters:
                one = clusters[place % len(clusters)].metadata
                with contextlib.suppress(NotFound):
                    await self.world.set_ready(one.name, ready, namespace=one.namespace)

        self.do(say())

    # -- what goes wrong --------------------------------------------------------------------------------------------

    @rule(nth=st.integers(1, 4), name=names, ask=asks)
    def crash(self, nth, name, ask):
        """The scheduler dies after a write, if it makes so many for this; and another takes over."""
        self.do(self._crash(nth, name, ask))

    async def _crash(self, nth, name, ask):
        fault = self.proxy.stop_after_write(nth, matching=ours)
        await self._create(name, ask, "")

        async def over():
            return fault.hits or await self.world.phase(name)

        if not self.frozen:
            await until(over, "the fault struck, or there was nothing to do")
        await self.first.die()
        await self.proxy.heal()
        self.frozen = False
        await self._start()

    @rule(nth=st.integers(1, 6), lost=st.booleans())
    def cut(self, nth, lost):
        """Of the writes to come, one is lost, or its answer."""
        strike = self.proxy.cut_after_write if lost else self.proxy.cut_before_write
        strike(nth, matching=ours)

    @precondition(lambda self: not self.frozen)
    @rule(what=st.sampled_from(["clusters", "clusterrequestgrants", "purposes"]))
    def freeze(self, what):
        """The scheduler hears no more news of one kind: its cache grows old."""
        self.frozen = True
        self.proxy.freeze_watches(matching=lambda request: request.resource == what)

    @precondition(lambda self: self.frozen)
    @rule()
    def thaw(self):
        self.do(self._thaw())

    @rule()
    def second_scheduler(self):
        """Comes, or goes in the middle of what it does."""

        async def come():
            self.second = Mortal(self.world.connection)
            await self.second.start()

        async def go():
            second, self.second = self.second, None
            await second.die()

        self.do(come() if self.second is None else go())

    # -- what is done by force: each to a world that is whole ---------------------------------------------------------

    @precondition(lambda self: not self.frozen)
    @rule(name=names)
    def tear_request(self, name):
        async def tear():
            await self._settled()
            with contextlib.suppress(NotFound):
                await self.world.patch(ClusterRequest, name, {"metadata": {"finalizers": None}})
            await self.world.delete(ClusterRequest, name)
            with contextlib.suppress(NotFound):  # it may have got its finalizer back in between
                await self.world.patch(ClusterRequest, name, {"metadata": {"finalizers": None}})

        self.do(tear())

    @precondition(lambda self: not self.frozen)
    @rule(place=places)
    def tear_cluster(self, place):
        async def tear():
            await self._settled()
            clusters = await self.world.all(Cluster)
            if clusters:
                one = clusters[place % len(clusters)].metadata
                with contextlib.suppress(NotFound):
                    await self.world.delete(Cluster, one.name, one.namespace)
                    free = {"metadata": {"finalizers": None}}
                    await self.world.patch(Cluster, one.name, free, namespace=one.namespace)

        self.do(tear())

    @precondition(lambda self: not self.frozen)
    @rule(name=names)
    def tear_grant(self, name):
        self.do(self._settled())
        self.do(self.world.delete(ClusterRequestGrant, name))

    @precondition(lambda self: not self.frozen)
    @rule(name=names)
    def tear_status(self, name):
        async def tear():
            await self._settled()
            with contextlib.suppress(NotFound):
                await self.world.patch(ClusterRequest, name, {"status": None}, subresource="status")

        self.do(tear())

    @precondition(lambda self: not self.frozen)
    @rule(place=places, whole=st.booleans())
    def tear_claim(self, place, whole):
        """Somebody's patch takes a claim away, or its annotation alone."""

        async def tear():
            await self._settled()
            held = [one for one in await self.world.all(Cluster) if claimants(one.metadata)]
            if held:
                one = held[place % len(held)].metadata
                mark = claim_of(claimants(one)[place % len(claimants(one))])
                body = {"annotations": {mark: None}}
                if whole:
                    body |= {"finalizers": without(one.finalizers, mark)}
                with contextlib.suppress(NotFound):
                    await self.world.patch(Cluster, one.name, {"metadata": body}, namespace=one.namespace)

        self.do(tear())

    # -- what must hold ---------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.frozen)
    @rule()
    def settle(self):
        self.do(self._settled())

    async def _settled(self):
        wrongs = []

        async def whole():
            wrongs[:] = await self._wrongs()
            return not wrongs

        await until(whole, lambda: f"all is well; but {wrongs}")
        assert not self.witness.wrongs
        await self._assert_plans_are_the_same()

    async def _wrongs(self):
        requests = {one.metadata.uid: one for one in await self.world.all(ClusterRequest)}
        grants = {key_of(one): one for one in await self.world.all(ClusterRequestGrant)}
        clusters = {key_of(one): one for one in await self.world.all(Cluster)}
        holders = {uid: [key for key in clusters if uid in claimants(clusters[key].metadata)] for uid in requests}
        wrongs = [wrong for one in clusters.values() for wrong in self._wrongs_of_cluster(one, requests)]
        for uid, request in requests.items():
            wrong = self._wrong_of_request(request, grants.pop(key_of(request), None), clusters, holders[uid])
            if wrong:
                wrongs.append(f"{request.metadata.name} {wrong}")
        wrongs += [f"a Grant for nobody: {key}" for key in grants]
        warm = [key for key, one in clusters.items() if WARM_LABEL in one.metadata.labels]
        if len(warm) != self.warm:
            wrongs.append(f"there are to be {self.warm} warm clusters: {warm}")
        return wrongs

    def _wrongs_of_cluster(self, cluster, requests):
        key, metadata = key_of(cluster), cluster.metadata
        yield from clashing_prefixes(cluster)
        yield from (f"{key} is held by nobody: {uid}" for uid in claimants(metadata) if uid not in requests)
        if metadata.deleting:
            yield f"{key} is being deleted: {metadata.finalizers}"
        elif not claimants(metadata) and WARM_LABEL not in metadata.labels:
            assert metadata.labels.get(DELETE_WITHOUT_REQUESTS_LABEL) == "true"
            yield f"{key} is an orphan"
        if claimants(metadata) and WARM_LABEL in metadata.labels:
            yield f"{key} is taken, and not warm any more"

    def _wrong_of_request(self, request, grant, clusters, holders):
        status, uid = request.status, request.metadata.uid
        if request.metadata.deleting:
            return "is still leaving"
        if status is None or not status.phase:
            return "has no answer"
        if status.phase != "Granted":
            return self._wrong_of_loser(request, grant, clusters, holders)
        if grant is None or not belongs_to(grant, request):
            return "has no Grant"
        home = home_of(grant)
        if holders != [home] or ObjectKey(status.cluster.namespace, status.cluster.name) != home:
            return f"was granted {home}, holds {holders}, and says {status.cluster}"
        claim = next(one for one in claims_on(clusters[home].metadata) if one.uid == uid)
        if (claim.name, claim.prefix) != (request.metadata.name, grant.spec.prefix):
            return f"has the claim {claim} and the Grant {grant.spec}"
        return None

    def _wrong_of_loser(self, request, grant, clusters, holders):
        """Whose claim was torn off has to wait, if meanwhile another took the seat or the prefix."""
        if holders:
            return f"is {request.status.phase} and holds {holders}"
        home = None if grant is None else clusters.get(home_of(grant))
        if request.status.reason == Reason.CLUSTER_CONFLICT and is_held(clusters, beginning="seats", request=request):
            return None  # names come from requests' names: others hold what an earlier one of this name has made
        if request.status.reason != Reason.CLAIM_LOST or home is None:
            return f"is {request.status.phase}: {request.status.reason} {request.status.message}"
        held = claims_on(home.metadata)
        full = len(held) >= (1 if home.spec.tenancy is Tenancy.EXCLUSIVE else self.seats)
        prefix = grant.spec.prefix
        clash = any(one.prefix.startswith(prefix) or prefix.startswith(one.prefix) for one in held if one.prefix)
        return None if full or clash else "lost its claim, and could have it back"

    async def _assert_plans_are_the_same(self):
        """In whatever order things were heard of, and however often it is asked."""
        purposes, profiles = await self.world.all(Purpose), await self.world.all(ClusterProfile)
        clusters = await self.world.all(Cluster)
        for ask in ASKS.values():
            probe = ClusterRequest(
                metadata=Metadata(name="probe", namespace=self.world.namespace, uid="probe"),
                spec=ClusterRequestSpec(**{**ask, "purposes": tuple(ask.get("purposes", ()))}),
            )
            one = plan(probe, Catalogue(purposes=purposes, profiles=profiles), Fleet.of(clusters))
            other = Catalogue(purposes=purposes[::-1], profiles=profiles[::-1])
            assert plan(probe, other, Fleet.of(clusters[::-1])) == one


@pytest.mark.parametrize("run", range(RUNS))
def test_anything_may_happen(plane, plane_connection, run):
    @seed(run)
    def machine():
        return Scheduling(plane, plane_connection)

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=2,  # the first is always the simplest
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.verbose if LONG else Verbosity.normal,
        ),
    )

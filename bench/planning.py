"""Bar ``plan``: what one decision costs, and that it does not cost more where there are more clusters.

Subject and floor are processes of their own: ``planning.py CLUSTERS`` makes that many clusters, decides on requests
that share them, and prints microseconds of CPU. Each decision is followed by what a real one brings: the seat is
assumed, the cluster comes back with one claim more, and elsewhere a seat is given back, so that the fleet stays at 90 %
and nobody is answered from memory. Both must hold: ``plan`` alone, and together with the upkeep of the fleet (without
the making of objects); the row shows ``plan`` alone, and the worse of the two ratios.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from bench.bars import RUNS, Limit, Result, compared

MANY, FEW = 100_000, 100
PROFILES, SEATS, SHARE = 50, 10, 0.9
DECISIONS, BEFORE = 20_000, 2_000
_VERSIONS = ("1.33.3", "1.33.7", "1.34.1")
_TRAITS = ("fast", "cheap", "vendor/a", "vendor/b", "vendor/c", "nodeless", "workerless", "old")


async def plan_() -> list[Result]:
    seen: dict[int, list[dict[str, float]]] = {MANY: [], FEW: []}
    for turn in range(RUNS):
        for count in (FEW, MANY) if turn % 2 == 0 else (MANY, FEW):
            seen[count].append(await _side(count))
        many, few = seen[MANY][-1], seen[FEW][-1]
        told = f"{many['whole']:.1f} µs, of it plan {many['plan']:.1f} (floor {few['whole']:.1f}, {few['plan']:.1f})"
        print(f"plan: turn {turn + 1} of {RUNS}: {told}", file=sys.stderr, flush=True)
    whole = _compared(seen, "whole")
    alone = _compared(seen, "plan")
    told = f"{1e6 / alone.value:,.0f} decisions/s (ratio {alone.ratio:.2f}); with the upkeep of the fleet "
    print(f"plan: {told}{1e6 / whole.value:,.0f}/s (ratio {whole.ratio:.2f})", file=sys.stderr, flush=True)
    return [replace(alone, ratio=max(alone.ratio, whole.ratio), holds=alone.holds and whole.holds)]


def _compared(seen: dict[int, list[dict[str, float]]], part: str) -> Result:
    value, floor = (statistics.median(one[part] for one in seen[count]) for count in (MANY, FEW))
    return compared("plan", value, floor, "µs", Limit("≤ 2 × its cost", at_most=2))


async def _side(count: int) -> dict[str, float]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.planning", str(count), stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"deciding among {count} clusters ended with {process.returncode}")
    return json.loads(answer)


# -- the process that decides ---------------------------------------------------------------------------------


def decide(count: int) -> dict[str, float]:
    """Microseconds per decision: ``plan`` alone, and the whole with the upkeep of the fleet."""
    from mooring.kube import key_of
    from mooring.scheduling.fleet import Fleet
    from mooring.scheduling.plan import Take, plan

    chance = random.Random(7)
    catalogue = _catalogue()
    fleet = Fleet.of(_clusters(count, chance), labels=catalogue.labels)
    requests = _requests(chance)
    # Who leaves was such a request as well; else clusters that nobody wants would become empty, and the others full.
    fits = {one.offer.name for one in catalogue.ranking(catalogue.ask(next(requests).spec)).suitable}
    held = [(key_of(one), mark) for one in fleet if one.spec.profile in fits for mark in one.metadata.finalizers]
    clock, alone, whole = time.thread_time, 0.0, 0.0
    gc.collect()
    for turn in range(BEFORE + DECISIONS):
        if turn == BEFORE:
            alone = whole = 0.0
        request = next(requests)
        uid = request.metadata.uid
        begun = clock()
        decision = plan(request, catalogue, fleet)
        decided = clock()
        assert isinstance(decision, Take), decision
        fleet.assume(decision.cluster, uid)
        noted = clock()
        place = chance.randrange(len(held))
        leaving, mark = held[place]
        taken = _held(fleet.get(decision.cluster), uid)
        held[place] = (decision.cluster, taken.metadata.finalizers[-1])
        given_back = _left(taken if leaving == decision.cluster else fleet.get(leaving), mark)
        resumed = clock()
        fleet.put(taken)
        fleet.settle(decision.cluster, uid)
        fleet.put(given_back)
        ended = clock()
        alone += decided - begun
        whole += noted - begun + ended - resumed
    most = max(fleet.taken(key_of(one)) for one in fleet)
    assert most <= SEATS, f"a cluster has {most} of {SEATS} seats taken"
    return {"plan": 1e6 * alone / DECISIONS, "whole": 1e6 * whole / DECISIONS}


def _catalogue():
    """A purpose, fifty profiles of which some fit, and two equivalences."""
    from mooring.api.clusters import ClusterProfile, ClusterProfileSpec, SupportedVersion
    from mooring.api.kinds import Metadata
    from mooring.api.purposes import Purpose, PurposeSpec, TraitEquivalence, TraitEquivalenceSpec
    from mooring.api.references import LocalReference
    from mooring.api.traits import SupportedTrait
    from mooring.scheduling.catalogue import Catalogue

    chance = random.Random(1)
    profiles = [
        ClusterProfile(
            metadata=Metadata(name=f"profile-{place:02}"),
            spec=ClusterProfileSpec(
                provider_ref=LocalReference(name="local"),
                provider_config_ref=LocalReference(name="local"),
                supported_versions=tuple(SupportedVersion(version=one) for one in _VERSIONS),
                supported_traits=tuple(SupportedTrait(trait=one) for one in _TRAITS if chance.random() < 0.6),
            ),
        )
        for place in range(PROFILES)
    ]
    same = [("nodeless", "workerless"), ("vendor/a", "vendor/alpha")]
    return Catalogue(
        purposes=[Purpose(metadata=Metadata(name="work"), spec=PurposeSpec(dedicated=False, tenancy_count=SEATS))],
        profiles=profiles,
        equivalences=[
            TraitEquivalence(metadata=Metadata(name=f"same-{place}"), spec=TraitEquivalenceSpec(traits=names))
            for place, names in enumerate(same)
        ],
    )


def _clusters(count: int, chance: random.Random) -> Iterator:
    """Most are full, and some have seats left: 90 % of all seats are taken.

    Every profile has clusters on both sides, in one version each: more clusters, not more kinds of them.
    """
    from mooring.api.clusters import Cluster, ClusterSpec, KubernetesConfig, Tenancy
    from mooring.api.kinds import Metadata
    from mooring.api.marks import KUBERNETES_VERSION_LABEL, claim_of

    for place in range(count):
        left = chance.randrange(SEATS + 1) if chance.random() < 2 * (1 - SHARE) else 0
        profile = place % PROFILES
        version = _VERSIONS[profile % len(_VERSIONS)]
        yield Cluster(
            metadata=Metadata(
                name=f"cluster-{chance.randrange(10**9):09}-{place}",
                namespace=f"team-{place % 97}",
                labels={KUBERNETES_VERSION_LABEL: version},
                finalizers=tuple(claim_of(f"first-{place}-{seat}") for seat in range(SEATS - left)),
            ),
            spec=ClusterSpec(
                profile=f"profile-{profile:02}",
                tenancy=Tenancy.SHARED,
                purposes=("work",),
                kubernetes=KubernetesConfig(version=version),
            ),
        )


def _requests(chance: random.Random) -> Iterator:
    """Requests with five traits, one of them an operator; they differ in what they prefer, and none is met twice."""
    from mooring.api.kinds import Metadata
    from mooring.api.requests import ClusterRequest, ClusterRequestSpec
    from mooring.api.traits import TraitWish

    number = 0
    while True:
        number += 1
        traits = (
            TraitWish(trait="fast"),
            TraitWish(trait="workerless", optional=True),
            TraitWish(any_of=(TraitWish(trait="vendor/alpha"), TraitWish(trait="vendor/b"))),
            TraitWish(trait="old", optional=True, negated=True),
            TraitWish(trait=chance.choice(("cheap", "vendor/b", "vendor/c")), optional=True),
        )
        yield ClusterRequest(
            metadata=Metadata(name=f"request-{number}", namespace=f"team-{number % 97}", uid=f"uid-{number}"),
            spec=ClusterRequestSpec(purpose="work", traits=traits),
        )


def _held(cluster, uid: str):
    from mooring.api.claims import Claim, with_claims

    return _with(cluster, with_claims(cluster.metadata, [Claim(uid=uid, namespace="team", name=uid)]))


def _left(cluster, mark: str):
    from mooring.api.claims import without_claims
    from mooring.api.marks import claimant_of

    return _with(cluster, without_claims(cluster.metadata, [claimant_of(mark)]))


def _with(cluster, metadata):
    import msgspec

    return msgspec.structs.replace(cluster, metadata=metadata)


if __name__ == "__main__":
    print(json.dumps(decide(int(sys.argv[1]))))

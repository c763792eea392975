"""Restarts: whenever a provider dies, the next one goes on where it was.

One SIGKILL serves all: it comes while one Cluster is Ready, one is being made, and one is being deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.testing.conformance.checks import Level, Stage, Unmet, check
from mooring.testing.conformance.contract.clusters import READY
from mooring.testing.conformance.trails import Trail, finalizers_of, is_ready, status_of
from mooring.testing.conformance.trials import Trial

_AGAIN = "Keep nothing in memory that the next start needs: find what is there by its name or its labels, and go on."


@dataclass(frozen=True, slots=True)
class Killing:
    """What there was when the provider was killed. It is running again."""

    whole: Trail
    address: str
    changed_to: int  # the generation of a change that nobody was there to see
    begun: Trail
    ending: Trail


async def _killing(trial: Trial) -> Killing:
    bench = trial.bench
    whole, ending = await trial.ready_cluster(), await trial.ready_cluster()
    begun = await trial.cluster()
    await trial.delete(ending)
    await trial.until(lambda: bool(finalizers_of(begun.latest)) or is_ready(begun.latest), f"{begun} is begun", begun)
    await bench.instances[bench.first].kill()
    changed = await trial.patch(whole, {"spec": {"purposes": ["conformance", "changed"]}})
    address = str(status_of(whole.latest).get("apiServer") or "")
    await bench.start(bench.first)
    return Killing(whole, address, changed["metadata"]["generation"], begun, ending)


@check(
    "restart.adopts",
    Level.MUST,
    "A provider that is started again adopts its Clusters: nothing is made twice, and what has changed is seen.",
    needs=[READY, "deletion.gone"],
    stage=Stage.ALONE,
    starts=True,
)
async def clusters_are_adopted(trial: Trial) -> None:
    killing = await trial.once("a killed provider", _killing)
    trail = killing.whole
    found = await trial.sees(
        trail,
        lambda one: status_of(one).get("observedGeneration") == killing.changed_to and is_ready(one),
        "a change that was made meanwhile is observed, and it is Ready",
        remedy=_AGAIN,
    )
    address = str(status_of(found).get("apiServer") or "")
    if address != killing.address:
        raise Unmet(expected=f"the same cluster at {killing.address}", seen=f"one at {address}", remedy=_AGAIN)


@check(
    "restart.in-creation",
    Level.MUST,
    "A provider that is killed while it makes a Cluster makes it when it is started again.",
    needs=[READY, "deletion.gone"],
    stage=Stage.ALONE,
    starts=True,
)
async def creation_goes_on(trial: Trial) -> None:
    killing = await trial.once("a killed provider", _killing)
    await trial.sees(killing.begun, is_ready, "what was begun becomes Ready", remedy=_AGAIN)


@check(
    "restart.in-deletion",
    Level.MUST,
    "A provider that is killed while it ends a Cluster ends it when it is started again.",
    needs=[READY, "deletion.gone"],
    stage=Stage.ALONE,
    starts=True,
)
async def deletion_goes_on(trial: Trial) -> None:
    killing = await trial.once("a killed provider", _killing)
    await trial.gone(killing.ending, _AGAIN)

"""One clusterctl installs, the other upgrades, the first one deletes: each carries on from where the other has been."""

from __future__ import annotations

import asyncio

from dumping import difference, dump
from lifecycle_kit import (
    INIT_OLD,
    LEFT_BY_THE_JUDGE,
    RBAC,
    SHIPYARD_HOME,
    UPGRADE,
    Yard,
    furnished,
    gone,
    incomparable,
    left_by_the_judge,
)

DELETE_ONE = ("delete", "--infrastructure=shipyard", "--include-crd", "--include-namespace")
DELETE_ALL = ("delete", "--all")


async def test_each_carries_on_from_the_other(management, judge, ours, tmp_path):
    yard = Yard.made(tmp_path)
    crews = {"JJJ": (judge,) * 4, "JOJ": (judge, ours, judge, judge), "OJO": (ours, judge, ours, ours)}
    places = dict(zip(crews, await asyncio.gather(*(furnished(management) for _ in crews)), strict=True))

    async def at_work(stage: int, *argv: str) -> None:
        async def one(name: str) -> None:
            run = await crews[name][stage].beside(
                *argv, "--kubeconfig", str(places[name].kubeconfig), config=yard.config
            )
            assert run.code == 0, (name, argv, run.err)

        await asyncio.gather(*map(one, crews))

    async def differences() -> dict[str, list[str]]:
        seen = dict(zip(crews, await asyncio.gather(*(dump(one.client) for one in places.values())), strict=True))
        return {name: difference(seen["JJJ"], seen[name], ignore=ignored) for name in ("JOJ", "OJO")}

    def ignored(key):
        return incomparable(key) or left_by_the_judge(key)

    same = {"JOJ": [], "OJO": []}
    await at_work(0, *INIT_OLD)
    assert await differences() == same
    await at_work(1, *UPGRADE)
    assert await differences() == same
    assert "shipyard-of-old" in await cluster_roles(places["OJO"])
    assert "shipyard-of-old" not in await cluster_roles(places["JOJ"])

    await at_work(2, *DELETE_ONE)
    await asyncio.gather(*(gone(one.client, "v1", "Namespace", SHIPYARD_HOME) for one in places.values()))
    assert await differences() == same
    await at_work(3, *DELETE_ALL)
    assert await differences() == same
    assert not await cluster_roles(places["OJO"]) & LEFT_BY_THE_JUDGE


async def cluster_roles(place) -> set[str]:
    resource = await place.client.resource(f"{RBAC}/v1", "ClusterRole")
    return {one["metadata"]["name"] for one in (await place.client.list(resource)).items}

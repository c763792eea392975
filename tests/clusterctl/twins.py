"""Two clusters, one for each clusterctl: whatever both are told, the clusters look the same afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dumping import Key, difference, dump

from mooring.kube import Client, untyped
from mooring.testing.managers import until

if TYPE_CHECKING:
    from conftest import Ended, Management, Runner

NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
PROBE = "cert-manager-test"


@dataclass(frozen=True)
class Twins:
    """The real clusterctl with its cluster, ours with its own, and the configuration that both read."""

    judge: Runner
    ours: Runner
    judges: Management
    mine: Management
    config: Path

    def mine_only(self, *argv: str) -> Awaitable[Ended]:
        return self.ours.beside(*argv, "--kubeconfig", str(self.mine.kubeconfig), config=self.config)

    async def both(self, *argv: str, swapped: bool = False, **environ: str) -> tuple[Ended, Ended]:
        """How it ended for the judge, and for ours; ``swapped``: each in the cluster of the other."""
        await self.settled()
        places = (self.mine, self.judges) if swapped else (self.judges, self.mine)
        runs = (
            runner.beside(*argv, "--kubeconfig", str(place.kubeconfig), config=self.config, **environ)
            for runner, place in zip((self.judge, self.ours), places, strict=True)
        )
        theirs, ours = await asyncio.gather(*runs)
        return theirs, ours

    async def agree(self, *argv: str, swapped: bool = False, **environ: str) -> tuple[Ended, Ended]:
        """Both succeed or both fail, and afterwards the clusters look the same."""
        theirs, ours = await self.both(*argv, swapped=swapped, **environ)
        assert theirs.code == ours.code, f"{argv}\njudge: {theirs.err}\nours: {ours.err}"
        await self.are_equal(argv)
        return theirs, ours

    async def settled(self) -> None:
        """Until nothing of the judge's last look at cert-manager is left: in the midst of that it would install it."""
        for place in (self.judges, self.mine):
            await until(lambda: _is_gone(place.client), "the probe's namespace is gone")  # noqa: B023

    async def are_equal(self, after: Sequence[str] = ()) -> None:
        judges, mine = await asyncio.gather(dump(self.judges.client), dump(self.mine.client))
        lines = difference(judges, mine, ignore=is_the_probe)
        assert not lines, "\n".join([f"after {' '.join(after)}:", *lines])


async def _is_gone(client: Client) -> bool:
    return not (await client.list(NAMESPACES, field_selector=f"metadata.name={PROBE}")).items


def is_the_probe(key: Key) -> bool:
    """What the judge creates and deletes to ask cert-manager (DEVIATION init-probe)."""
    return PROBE in key[1:]

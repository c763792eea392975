"""Two clusters, one for each clusterctl: whatever both are told, the clusters look the same afterwards.

`planes` starts the two; they serve all tests of a worker, and each test finds them empty (`emptied`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import releases
import yaml
from dumping import Ignore, Key, difference, dump

from mooring.clusterctl.applying import delete_one, side_by_side
from mooring.clusterctl.finding import labelled
from mooring.clusterctl.objects import kind_of, name_of, texts_at
from mooring.clusterctl.providers import CORE_LABEL, PROVIDER_LABEL
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.kube import Client, Object, untyped
from mooring.kube.definitions import install
from mooring.testing.managers import until

if TYPE_CHECKING:
    from runners import Ended, Management, Runner

NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
PROBE = "cert-manager-test"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OF_THE_SERVER = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
Plane = tuple[ControlPlane, Path]  # and a kubeconfig of an administrator


@contextlib.contextmanager
def planes(landscape: Landscape, directory: Path, count: int = 2) -> Iterator[list[Plane]]:
    """Control planes for as long as the block lasts; they belong to no event loop."""
    made = [landscape.control_plane(new_identity()) for _ in range(count)]

    async def begin() -> None:
        await asyncio.gather(*(plane.start() for plane in made))
        for plane in made:
            plane.release()
        landscape.etcd.close()

    async def end() -> None:
        for plane in made:
            await plane.delete()
        landscape.etcd.close()

    try:
        asyncio.run(begin())
        yield [(plane, _kubeconfig(plane, directory)) for plane in made]
    finally:
        asyncio.run(end())


def _kubeconfig(plane: ControlPlane, directory: Path) -> Path:
    file = directory / f"{plane.identity}.kubeconfig"
    file.write_text(yaml.safe_dump(plane.admin_kubeconfig(name="management")))
    return file


async def emptied(client: Client) -> None:
    """Nothing is left of any provider, and there is as much of cert-manager as is asked for."""
    left = [one for one in await labelled(client, {}, ["kube-system"]) if _is_ours(one)]
    await side_by_side([delete_one(client, one) for one in left])
    await until(lambda: _none_left(client), "namespaces and definitions are gone")
    await install(client, releases.cert_manager_definitions())


def _is_ours(obj: Object) -> bool:
    if kind_of(obj) == "Namespace":
        return name_of(obj) not in _OF_THE_SERVER
    if not {PROVIDER_LABEL, CORE_LABEL}.isdisjoint(texts_at(obj, "labels")):
        return True
    if LAST_APPLIED in texts_at(obj, "annotations"):
        return True
    return kind_of(obj) == "CustomResourceDefinition" and not name_of(obj).endswith(".cert-manager.io")


async def _none_left(client: Client) -> bool:
    found = [one for kind in (NAMESPACES, DEFINITIONS) for one in (await client.list(kind)).items]
    return not any(map(_is_ours, found))


@dataclass(frozen=True)
class Twins:
    """The real clusterctl with its cluster, ours with its own, and the configuration that both read."""

    judge: Runner
    ours: Runner
    judges: Management
    mine: Management
    config: Path
    ignore: Ignore = lambda key: False

    def reading(self, config: Path, ignore: Ignore | None = None) -> Twins:
        """The same with another configuration, and other things that need not be alike."""
        return replace(self, config=config, ignore=ignore or self.ignore)

    def mine_only(self, *argv: str, **environ: str) -> Awaitable[Ended]:
        return self.ours.beside(*argv, "--kubeconfig", str(self.mine.kubeconfig), config=self.config, **environ)

    def of_one(self, *argv: str, **environ: str) -> Awaitable[tuple[Ended, Ended]]:
        """Both in our cluster: for what neither should change."""
        return self._run(*argv, places=(self.mine, self.mine), **environ)

    async def both(self, *argv: str, swapped: bool = False, **environ: str) -> tuple[Ended, Ended]:
        """How it ended for the judge, and for ours; ``swapped``: each in the cluster of the other."""
        await self.settled()
        places = (self.mine, self.judges) if swapped else (self.judges, self.mine)
        return await self._run(*argv, places=places, **environ)

    async def agree(self, *argv: str, swapped: bool = False, **environ: str) -> tuple[Ended, Ended]:
        """Both succeed or both fail, and afterwards the clusters look the same."""
        theirs, ours = await self.both(*argv, swapped=swapped, **environ)
        assert theirs.code == ours.code, f"{argv}\njudge: {theirs.err}\nours: {ours.err}"
        await self.are_equal(argv)
        return theirs, ours

    async def succeed(self, *argv: str, **given: bool) -> tuple[Ended, Ended]:
        theirs, ours = await self.agree(*argv, **given)
        assert ours.code == 0, ours.err
        return theirs, ours

    async def settled(self) -> None:
        """Until nothing of the judge's last look at cert-manager is left: in the midst of that it would install it."""
        for place in (self.judges, self.mine):
            await until(lambda: _is_gone(place.client), "the probe's namespace is gone")  # noqa: B023

    async def are_equal(self, after: Sequence[str] = ()) -> None:
        judges, mine = await asyncio.gather(dump(self.judges.client), dump(self.mine.client))
        lines = difference(judges, mine, ignore=lambda key: is_the_probe(key) or self.ignore(key))
        assert not lines, "\n".join([f"after {' '.join(after)}:", *lines])

    async def on_each(self, deed: Callable[[Client], Awaitable[object]]) -> None:
        """What somebody does to both clusters beside the clusterctls."""
        await asyncio.gather(deed(self.judges.client), deed(self.mine.client))

    async def _run(self, *argv: str, places: Sequence[Management], **environ: str) -> tuple[Ended, Ended]:
        theirs, ours = await asyncio.gather(
            *(
                runner.beside(*argv, "--kubeconfig", str(place.kubeconfig), config=self.config, **environ)
                for runner, place in zip((self.judge, self.ours), places, strict=True)
            )
        )
        return theirs, ours


async def _is_gone(client: Client) -> bool:
    return not (await client.list(NAMESPACES, field_selector=f"metadata.name={PROBE}")).items


def is_the_probe(key: Key) -> bool:
    """What the judge creates and deletes to ask cert-manager (DEVIATION init-probe)."""
    return PROBE in key[1:]

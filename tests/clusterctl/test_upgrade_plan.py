"""``upgrade plan`` beside the real one, and the upgrades that both refuse: inventories and repositories of all sorts.

Neither writes anything then. So both look at the same cluster, and there are no components in it: all that counts is
what the inventory says, and what the repositories have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifecycle_kit import gone
from releases import CORE, INFRASTRUCTURE, KUBEADM_BOOTSTRAP, Release, definition, write_config, write_repository
from twins import Twins

from mooring.clusterctl.applying import apply_one, delete_one
from mooring.clusterctl.inventory_definition import PROVIDERS, inventory_definition
from mooring.clusterctl.providers import ProviderType, manifest_label
from mooring.kube import Client
from mooring.kube.definitions import install

Named = tuple[str, ProviderType]
Series = Sequence[tuple[int, int, str]]
LONG: Named = ("a-provider-with-quite-a-long-name-of-its-own", ProviderType.RUNTIME_EXTENSION)
OTHERS: list[Named] = [
    LONG,
    *((f"x{at}", type_) for at, type_ in enumerate(ProviderType) if type_ != ProviderType.CORE),
]
OLD, NEXT, LATER = "v1beta1", "v1beta2", "v1beta3"
CORE_SERIES = [(1, 9, OLD), (1, 10, OLD), (1, 13, NEXT), (1, 14, NEXT)]
SHIPYARD_SERIES = [(0, 8, "v1alpha4"), (0, 9, OLD), (1, 0, NEXT)]
HOME, ELSEWHERE = "harbour", "quay"


@dataclass(frozen=True)
class Offer:
    """What a repository has."""

    versions: Sequence[str]
    series: Series


CORE_OFFER = Offer(
    ["v1.9.0", "v1.10.0", "v1.13.0", "v1.14.0", "v1.14.2", "v1.15.0-rc.0"], [*CORE_SERIES, (1, 15, NEXT)]
)
SHIPYARD_OFFER = Offer(["v0.8.0", "v0.9.0", "v0.9.1", "v1.0.0"], SHIPYARD_SERIES)


@dataclass(frozen=True)
class Case:
    """A management cluster, and what there is for it."""

    about: str
    installed: Sequence[tuple[Named, str, str]]  # provider, version, namespace
    offers: dict[Named, Offer] = field(default_factory=dict)
    plans: bool = True  # whether there is anything to be planned
    refused: Sequence[Sequence[str]] = ()  # upgrades that are not done


def usual(core: str = "v1.13.0", shipyard: str = "v0.9.0", *more: tuple[Named, str, str]) -> list[Any]:
    return [(CORE, core, HOME), (INFRASTRUCTURE, shipyard, HOME), *more]


def offering(core: Offer = CORE_OFFER, shipyard: Offer = SHIPYARD_OFFER) -> dict[Named, Offer]:
    return {CORE: core, INFRASTRUCTURE: shipyard}


def infrastructure(*names: str) -> list[list[str]]:
    return [[f"--infrastructure={name}"] for name in names]


BY_CONTRACT = ["--contract=v1beta2"]
CASES = [
    Case(
        "newer versions of both",
        usual("v1.13.0", "v0.9.0"),
        refused=[
            [],
            ["--contract=v1beta1"],
            ["--contract=v1beta2", "--core=cluster-api:v1.14.2"],
            ["--bootstrap=shipyard:v1.0.0"],
            *infrastructure("shipyard", "a/b/shipyard:v1.0.0", "quay/shipyard:v1.0.0", "shipyard:v1.0.0,"),
            *infrastructure("nobody:v1.0.0", "shipyard:one", "shipyard:v7.0.0"),
            ["--infrastructure=shipyard:v0.8.0"],  # of another contract
        ],
    ),
    Case("newer than all that there is", usual("v1.14.3", "v1.0.0")),
    Case(
        "from the contract before",
        usual("v1.9.0"),
        refused=[*infrastructure("shipyard:v1.0.0"), ["--core=cluster-api:v1.10.0"]],
    ),
    Case("one is behind", usual("v1.13.0", "v0.8.0"), refused=[["--core=cluster-api:v1.14.2"]]),
    Case(
        "a contract to come, for everybody",
        usual(),
        offering(
            Offer(["v1.14.2", "v2.0.0"], [*CORE_SERIES, (2, 0, LATER)]),
            Offer(["v0.9.0", "v1.0.0", "v2.1.0"], [*SHIPYARD_SERIES, (2, 1, LATER)]),
        ),
        refused=[["--contract=v1beta3"], ["--core=cluster-api:v2.0.0"], *infrastructure("shipyard:v2.1.0")],
    ),
    Case(
        "a contract to come, that one cannot follow",
        usual(),
        offering(Offer(["v1.14.2", "v2.0.0"], [*CORE_SERIES, (2, 0, LATER)])),
    ),
    Case(
        "a series with two contracts, and builds",
        usual("1.13.0", "0.9.0"),
        offering(
            Offer(["1.13.0", "v1.14.2+a.1", "v1.14.2+a.2"], CORE_SERIES),
            Offer(["v0.9.0", "v1.0.0"], [(0, 9, OLD), (1, 0, "v1alpha4"), (1, 0, NEXT)]),
        ),
    ),
    Case("only folders without a v", usual(), offering(Offer(["1.13.0", "1.14.0"], CORE_SERIES)), plans=False),
    Case("no version at all", usual("latest"), plans=False),
    Case("a series that is not listed", usual("v1.12.0"), plans=False, refused=[BY_CONTRACT]),
    Case(
        "a newer series that is not listed",
        usual(),
        offering(Offer(["v1.13.0", "v1.20.0"], CORE_SERIES)),
        plans=False,
        refused=infrastructure("shipyard:v1.0.0"),
    ),
    Case("an empty repository", usual(), offering(shipyard=Offer([], [])), plans=False),
    Case("not configured", usual(), {CORE: CORE_OFFER}, plans=False, refused=[BY_CONTRACT]),
    Case(
        "more than three minor versions at once",
        usual("v1.10.0", "v1.0.0", (KUBEADM_BOOTSTRAP, "v1.10.0", HOME)),
        {**offering(), KUBEADM_BOOTSTRAP: CORE_OFFER},
        refused=[BY_CONTRACT, ["--core=cluster-api:v1.13.0", "--bootstrap=kubeadm:v1.14.0"]],
    ),
    Case(
        "several instances",
        usual("v1.13.0", "v0.9.0", (INFRASTRUCTURE, "v0.9.1", ELSEWHERE)),
        refused=[BY_CONTRACT, *infrastructure("shipyard:v1.0.0", "quay/shipyard:v1.0.0")],
    ),
    Case("two cores", usual("v1.13.0", "v0.9.0", (CORE, "v1.13.0", ELSEWHERE)), plans=False, refused=[BY_CONTRACT]),
    Case("nobody", [], plans=False, refused=infrastructure("shipyard:v1.0.0")),
    Case(
        "all types",
        usual("v1.13.0", "v0.9.0", *((one, "v0.9.0", HOME) for one in OTHERS)),
        {**offering(), **dict.fromkeys(OTHERS, SHIPYARD_OFFER)},
    ),
]


def written(folder: Path, case: Case) -> Path:
    """The repositories of a case, and a configuration that names them."""
    offers = case.offers or offering()
    made = [
        Release(*provider, version, series=offer.series)
        for provider, offer in offers.items()
        for version in offer.versions
    ]
    named = [Release(*provider, "v0.0.0") for provider in offers]
    folder.mkdir()
    write_repository(folder / "repository", made)
    return write_config(folder / "clusterctl.yaml", folder / "repository", named)


async def take_stock(client: Client, case: Case) -> list[Any]:
    """Let the inventory say what the case says; what is in it then."""
    for one in (await client.list(PROVIDERS)).items:
        await client.delete(PROVIDERS, one["metadata"]["name"], namespace=one["metadata"]["namespace"])
    for (name, type_), version, namespace in case.installed:
        await apply_one(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        metadata = {"name": manifest_label(name, type_), "namespace": namespace}
        entry = {"apiVersion": PROVIDERS.api_version, "kind": PROVIDERS.kind, "metadata": metadata}
        await client.create(PROVIDERS, {**entry, "providerName": name, "type": str(type_), "version": version})
    return (await client.list(PROVIDERS)).items


async def test_plans_and_refusals(twins: Twins, tmp_path: Path):
    client = twins.mine.client
    await install(client, [inventory_definition(), definition("cluster.x-k8s.io", "Cluster")])
    for case in CASES:
        stock = await take_stock(client, case)
        here = twins.reading(written(tmp_path / case.about.replace(" ", "-"), case))
        theirs, ours = await here.of_one("upgrade", "plan")
        told = f"{case.about}\njudge: {theirs.err}\nours: {ours.err}"
        assert (theirs.code, ours.code) == ((0, 0) if case.plans else (1, 1)), told
        assert ours.out == theirs.out, case.about
        assert ours.code == 0 or "Traceback" not in ours.err

        endings = await asyncio.gather(*(here.of_one("upgrade", "apply", *flags) for flags in case.refused))
        for flags, (theirs, ours) in zip(case.refused, endings, strict=True):
            told = f"{case.about}: {flags}\njudge: {theirs.err}\nours: {ours.err}"
            assert (theirs.code, ours.code) == (1, 1), told
        assert (await client.list(PROVIDERS)).items == stock, case.about


async def test_clusters_of_other_contracts(twins: Twins, tmp_path: Path):
    client = twins.mine.client
    here = twins.reading(written(tmp_path / "here", CASES[0]))
    verbs = (
        ("upgrade", "plan"),
        ("upgrade", "apply", "--contract=v1beta2"),
        ("delete", "--all"),
        ("init", "--infrastructure=shipyard"),
        ("init", "list-images"),
    )

    async def refuse(*refused: Sequence[str]) -> None:
        for argv in refused:
            theirs, ours = await here.of_one(*argv)
            assert (theirs.code, ours.code) == (1, 1), f"{argv}\njudge: {theirs.err}\nours: {ours.err}"

    await refuse(*verbs[:3])  # there is none yet
    await install(client, [inventory_definition()])
    stock = await take_stock(client, CASES[0])
    for stored, refused in (("v1alpha4", verbs), ("v1beta1", verbs[2:])):
        cluster = definition("cluster.x-k8s.io", "Cluster", contract=stored)
        await install(client, [cluster])
        await refuse(*refused)
        await delete_one(client, cluster)
        await gone(client, cluster["apiVersion"], cluster["kind"], cluster["metadata"]["name"])
    assert (await client.list(PROVIDERS)).items == stock

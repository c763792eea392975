"""The toy, from end to end: what the README shows must work as it stands."""

from __future__ import annotations

from pathlib import Path

import toy_provider
from toy_provider import TOYS, ToyConfig, ToyProvider

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import KUBERNETES_VERSION_LABEL, PROVIDER_INFO_ANNOTATION, PROVIDER_LABEL
from mooring.kube.errors import NotFound
from mooring.testing.providing import providing, until

PROFILE = "test.toys.box"


async def test_a_toy_is_made_upgraded_and_taken_apart(world):
    async with providing(world.connection, ToyProvider(), name="toys"):
        await world.config("box", provider="toys", kind=ToyConfig, versions=["1.33.3", "1.34.0"])
        profile = await world.exists(ClusterProfile, PROFILE)
        assert [one.version for one in profile.spec.supported_versions] == ["1.33.3", "1.34.0"]

        await world.cluster("teddy", profile=PROFILE, kubernetes={"version": "1.33.3"})
        cluster = await world.ready("teddy")
        assert cluster.status.phase == "Ready"
        assert cluster.status.api_server == world.connection.server
        assert cluster.metadata.labels[KUBERNETES_VERSION_LABEL] == "1.33.3"
        assert cluster.metadata.labels[PROVIDER_LABEL] == "toys"
        assert cluster.metadata.annotations[PROVIDER_INFO_ANNOTATION] == "just a toy"

        await world.patch(Cluster, "teddy", {"spec": {"kubernetes": {"version": "1.34.0"}}})

        def is_new(cluster):
            return cluster.metadata.labels.get(KUBERNETES_VERSION_LABEL) == "1.34.0"

        await world.becomes(Cluster, "teddy", is_new, "runs 1.34.0")

        await world.delete(Cluster, "teddy")
        await world.gone(Cluster, "teddy")

        async def is_taken_apart():
            try:
                await world.kube.get(TOYS, "toy-teddy", namespace=world.namespace)
            except NotFound:
                return True
            return False

        await until(is_taken_apart, "the toy is gone")


async def test_a_toy_that_somebody_took_away_is_missed_and_made_anew(world, monkeypatch):
    """Nobody tells the provider: it is asked now and then."""
    monkeypatch.setattr(ToyProvider, "ask_again", 0.2)
    async with providing(world.connection, ToyProvider(), name="toys"):
        await world.config("box", provider="toys", kind=ToyConfig, versions=["1.33.3"])
        await world.cluster("teddy", profile=PROFILE)
        await world.ready("teddy")
        lost = await world.kube.get(TOYS, "toy-teddy", namespace=world.namespace)
        await world.kube.delete(TOYS, "toy-teddy", namespace=world.namespace)

        async def is_there_again():
            try:
                toy = await world.kube.get(TOYS, "toy-teddy", namespace=world.namespace)
            except NotFound:
                return False
            return toy["metadata"]["uid"] != lost["metadata"]["uid"]

        await until(is_there_again, "another toy is there")
        await world.ready("teddy")


def test_the_toy_fits_on_a_page():
    lines = Path(toy_provider.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60

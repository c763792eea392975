"""A Cluster and its provider: who acts on it, what is told of it, and what happens when somebody lays a hand on it."""

from __future__ import annotations

import asyncio

import pytest
from provider_kit import (
    FINALIZER,
    FOREIGN,
    Detail,
    Works,
    WorkshopConfig,
    WorkshopProvider,
    condition,
    reason_of,
    workshop,
)

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import KUBERNETES_VERSION_LABEL, PROVIDER_INFO_ANNOTATION, PROVIDER_LABEL, claim_of
from mooring.kube import ObjectKey, typed
from mooring.providers.sdk import State
from mooring.testing.builders import cluster_profile
from mooring.testing.managers import heard, until

HOUSE = "test.workshop.house"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl"


@pytest.fixture
def works():
    return Works()


async def test_a_cluster_is_made(world, works):
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        cluster = await world.ready()
        status = cluster.status
        assert status.phase == "Ready"
        assert status.observed_generation == cluster.metadata.generation
        assert status.api_server == "https://one.example:6443"
        assert [one.url for one in status.endpoints] == ["https://one.example:6443"]
        assert status.provider_status == {"walls": 4}
        assert status.last_reconcile_time
        assert cluster.metadata.labels == {KUBERNETES_VERSION_LABEL: "1.33.3", PROVIDER_LABEL: "workshop"}
        assert cluster.metadata.annotations == {PROVIDER_INFO_ANNOTATION: "brick"}
        assert cluster.metadata.finalizers == (FINALIZER,)
        assert works.made == {cluster.metadata.uid: "1.33.3"}
        await world.told(cluster, "Ready")
    order = works.orders["one"]
    assert (order.key, order.uid) == (ObjectKey(world.namespace, "one"), cluster.metadata.uid)
    assert (order.profile, order.variant, order.config.metadata.name) == (HOUSE, "", "house")


async def test_what_is_known_is_told_before_it_is_ready(world, works):
    works.states["one"] = State(
        ready=False, reason="Roofing", message="Waiting for the roof.", version="1.33.3", api_server="https://a:1"
    )
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        cluster = await world.standing("one", "Roofing")
        assert condition(cluster).status == "Unknown"  # not False: it never was ready
        assert condition(cluster).message == "Waiting for the roof."
        assert cluster.status.phase == "Progressing"
        assert cluster.status.api_server == "https://a:1"
        del works.states["one"]
        await world.ready()
        works.states["one"] = State(ready=False, reason="Leaking", message="It rains in.")
        works.wake(ObjectKey(world.namespace, "one"))
        cluster = await world.standing("one", "Leaking")
        assert condition(cluster).status == "False"  # it was ready once
        assert cluster.status.api_server == "https://one.example:6443"  # as it was
        await world.told(cluster, "Leaking")


async def test_a_foreign_cluster_is_never_touched(world, works):
    await world.kube.create(typed(ClusterProfile), cluster_profile("theirs", provider="stranger"))
    theirs = await world.cluster("theirs", profile="theirs")
    nobodys = await world.cluster("nobodys", profile="nowhere")
    async with workshop(world.connection, works) as manager:
        await world.config()
        await world.cluster()
        await heard(manager, theirs, nobodys, await world.ready())
        assert await world.get(Cluster, "theirs") == theirs
        assert await world.get(Cluster, "nobodys") == nobodys
        await world.delete(Cluster, "theirs")  # nobody holds it
        assert await world.get(Cluster, "theirs") is None
        assert set(works.asked) == {"one"}
        assert not works.ended


async def test_a_cluster_waits_for_its_profile(world, works):
    async with workshop(world.connection, works) as manager:
        early = await world.cluster()
        await heard(manager, early)
        assert await world.get(Cluster, "one") == early
        await world.config()
        await world.ready()


async def test_what_somebody_took_away_comes_back(world, works):
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        before = await world.ready()

        await world.patch(Cluster, "one", {"status": None}, subresource="status")
        after = await world.ready()
        assert after.status.api_server == before.status.api_server
        assert after.status.provider_status == before.status.provider_status

        marks = {"labels": {KUBERNETES_VERSION_LABEL: "9.9.9", PROVIDER_LABEL: None}}
        marks["annotations"] = {PROVIDER_INFO_ANNOTATION: None}
        await world.patch(Cluster, "one", {"metadata": marks})

        def is_marked(cluster):
            metadata = cluster.metadata
            return (metadata.labels, metadata.annotations) == (before.metadata.labels, before.metadata.annotations)

        await world.becomes(Cluster, "one", is_marked, "has its marks again")
        assert works.made == {before.metadata.uid: "1.33.3"}  # the label is not believed

        await world.patch(Cluster, "one", {"metadata": {"finalizers": None}})
        await world.becomes(Cluster, "one", lambda one: one.metadata.finalizers == (FINALIZER,), "is held again")

        await world.patch(Cluster, "one", {"status": {"apiServer": "https://evil"}}, subresource="status")
        await world.becomes(
            Cluster, "one", lambda one: one.status.api_server == before.status.api_server, "has its address again"
        )


async def test_our_own_writes_wake_nobody(world, works):
    async with workshop(world.connection, works) as manager:
        await world.config()
        await world.standing("house", "Published", kind=WorkshopConfig)
        await world.cluster()
        cluster = await world.ready()
        await heard(manager, cluster)
        asked = works.asked["one"]
        assert asked == 2  # it was begun, and it was ready
        note = {"metadata": {"annotations": {"example.com/note": "not ours"}}}
        await heard(manager, await world.patch(Cluster, "one", note))
        assert works.asked["one"] == asked
        assert (await world.get(Cluster, "one")).status == cluster.status


async def test_what_others_write_meanwhile_is_kept(world, works):
    """While the provider thinks, somebody claims the cluster and notes something: neither is written over."""
    works.gates["one"] = asyncio.Event()
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        await until(lambda: works.asked["one"], "the provider thinks")
        marks = {"finalizers": [FINALIZER, FOREIGN], "annotations": {"example.com/note": "theirs"}}
        await world.patch(Cluster, "one", {"metadata": marks, "spec": {"purposes": ["other"]}})
        works.gates["one"].set()
        cluster = await world.ready()
        assert set(cluster.metadata.finalizers) == {FINALIZER, FOREIGN}
        assert cluster.metadata.annotations["example.com/note"] == "theirs"
        assert cluster.status.observed_generation == cluster.metadata.generation == 2


async def test_conditions_of_others_are_kept_and_count(world, works):
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        cluster = await world.ready()
        theirs = {
            "type": "example.com/Backup",
            "status": "False",
            "reason": "Behind",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        document = await world.plain(Cluster, "one")
        both = [*document["status"]["conditions"], theirs]
        await world.patch(Cluster, "one", {"status": {"conditions": both}}, subresource="status")
        cluster = await world.becomes(Cluster, "one", lambda one: one.status.phase == "Progressing", "is Progressing")
        assert condition(cluster).status == "True"
        assert condition(cluster, "example.com/Backup").reason == "Behind"


async def test_operations(world, works):
    async with workshop(world.connection, works) as manager:
        await world.config()
        ignored = await world.cluster(metadata={"annotations": {"openmcp.cloud/operation": "ignore"}})
        await world.cluster("other")
        await heard(manager, ignored, await world.ready("other"))
        assert await world.get(Cluster, "one") == ignored
        await world.patch(Cluster, "one", {"metadata": {"annotations": {"openmcp.cloud/operation": None}}})
        await world.ready()
        asked = works.asked["one"]
        again = {"metadata": {"annotations": {"openmcp.cloud/operation": "reconcile"}}}
        await world.patch(Cluster, "one", again)

        def is_noticed(cluster):
            return "openmcp.cloud/operation" not in cluster.metadata.annotations

        await world.becomes(Cluster, "one", is_noticed, "was noticed")
        await until(lambda: works.asked["one"] > asked, "it was looked at again")


# -- what is ordered ---------------------------------------------------------------------------------------------------


async def test_versions(world, works):
    async with workshop(world.connection, works):
        await world.config(versions=["1.32.7", "1.33.3"])
        await world.cluster()
        cluster = await world.ready()
        assert works.made[cluster.metadata.uid] == "1.33.3"

        await world.patch(Cluster, "one", {"spec": {"kubernetes": {"version": "1.30.0"}}})
        cluster = await world.standing("one", "UnsupportedVersion")
        assert "1.32.7" in condition(cluster).message
        assert condition(cluster, "Stalled").status == "True"
        assert cluster.status.observed_generation == cluster.metadata.generation
        assert cluster.status.phase == "Progressing"
        await world.told(cluster, "UnsupportedVersion")
        asked = works.asked["one"]
        works.wake(ObjectKey(world.namespace, "one"))
        await until(lambda: works.asked["one"] > asked, "what runs is looked after all the same")
        assert works.orders["one"].version == "1.33.3"

        await world.patch(Cluster, "one", {"spec": {"kubernetes": {"version": "1.32.7"}}})
        await world.standing("one", "DowngradeRefused")
        assert works.made[cluster.metadata.uid] == "1.33.3"

        await world.patch(Cluster, "one", {"spec": {"kubernetes": None}})
        cluster = await world.ready()
        assert condition(cluster, "Stalled") is None
        await world.patch(WorkshopConfig, "house", {"spec": {"versions": ["1.32.7", "1.34.0"]}})

        def is_new(cluster):
            return cluster.metadata.labels[KUBERNETES_VERSION_LABEL] == "1.34.0"

        await world.becomes(Cluster, "one", is_new, "follows its profile")
        await world.patch(WorkshopConfig, "house", {"spec": {"versions": ["1.32.7"]}})
        profile = await world.becomes(
            ClusterProfile, HOUSE, lambda one: len(one.spec.supported_versions) == 1, "has one version"
        )
        assert profile
        await world.patch(Cluster, "one", {"spec": {"purposes": ["other"]}})
        await world.ready()
        assert works.made[cluster.metadata.uid] == "1.34.0"  # never back


async def test_a_version_that_runs_is_remembered_over_restarts(world, works):
    await world.config(versions=["1.33.3"])
    async with workshop(world.connection, works):
        await world.cluster()
        cluster = await world.ready()
    await world.patch(WorkshopConfig, "house", {"spec": {"versions": ["1.32.7"]}})
    asked = works.asked["one"]
    async with workshop(world.connection, works):
        await world.becomes(
            ClusterProfile, HOUSE, lambda one: one.spec.supported_versions[0].version == "1.32.7", "has the old version"
        )
        await until(lambda: works.asked["one"] > asked, "it was looked at again")
        await world.ready()
        assert works.made[cluster.metadata.uid] == "1.33.3"
        assert works.orders["one"].running == "1.33.3"


async def test_a_missing_cluster_config_is_waited_for(world, works):
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster(clusterConfigs=[{"name": "roof"}, {"name": "door"}])
        cluster = await world.standing("one", "ClusterConfigMissing")
        assert "roof" in condition(cluster).message
        assert not works.asked
        assert cluster.metadata.finalizers == ()  # nothing was begun, so nothing has to be ended
        await world.create(Detail, "door", spec={"colour": "green"})
        await world.create(Detail, "roof", spec={"colour": "red"})
        await world.ready()
        assert [one.spec.colour for one in works.orders["one"].cluster_configs] == ["red", "green"]
        await world.patch(Detail, "roof", {"spec": {"colour": "blue"}})
        await until(
            lambda: [one.spec.colour for one in works.orders["one"].cluster_configs] == ["blue", "green"],
            "the provider was told of the change",
        )


async def test_a_poisoned_configuration_stops_nothing_else(world, works):
    async with workshop(world.connection, works):
        await world.config()
        await world.config("other")
        await world.cluster()
        await world.ready()
        await world.patch(WorkshopConfig, "house", {"spec": {"words": {"size": 5}}})
        cluster = await world.standing("one", "ConfigInvalid")
        assert "spec.words" in condition(cluster).message
        await world.cluster("two", profile="test.workshop.other")
        await world.ready("two")
        await world.patch(WorkshopConfig, "house", {"spec": {"words": None}})
        await world.ready()


async def test_a_profile_without_versions_leaves_them_to_its_provider(world, works):
    works.states["one"] = State(ready=True, version="1.31.2+vendor.1", api_server="https://a:1")
    async with workshop(world.connection, works):
        await world.config(versions=[])
        await world.cluster()
        cluster = await world.ready()
        assert works.orders["one"].version == ""
        assert cluster.metadata.labels[KUBERNETES_VERSION_LABEL] == "1.31.2_vendor.1"


# -- slow and broken infrastructure ------------------------------------------------------------------------------------


async def test_slow_infrastructure_holds_up_nobody(world, works):
    gate = asyncio.Event()
    for number in range(20):
        works.gates[f"slow-{number}"] = gate
    async with workshop(world.connection, works):
        await world.config()
        for number in range(20):
            await world.cluster(f"slow-{number}")
        await until(lambda: len(works.asked) == 20, "all are being made")
        await world.cluster("quick")
        await world.ready("quick")
        gate.set()
        for number in range(20):
            await world.ready(f"slow-{number}")


async def test_an_answer_that_never_comes_is_not_waited_for(world, works, monkeypatch):
    monkeypatch.setattr(WorkshopProvider, "longest_step", 0.5)
    works.gates["one"] = asyncio.Event()
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        cluster = await world.standing("one", "ProviderFailed")
        assert condition(cluster).status == "Unknown"
        works.gates["one"].set()
        await world.ready()


async def test_a_failing_provider_is_asked_again_and_its_secrets_stay_inside(world, works, capfd):
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        await world.ready()
        works.errors["one"] = RuntimeError(f"cannot log in with {JWT}")
        works.wake(ObjectKey(world.namespace, "one"))
        cluster = await world.standing("one", "ProviderFailed")
        assert condition(cluster).status == "Unknown"  # it may well be up
        assert "cannot log in" in condition(cluster).message
        assert JWT not in str(cluster)
        asked = works.asked["one"]
        await until(lambda: works.asked["one"] > asked, "it is asked again")
        del works.errors["one"]
        await world.ready()
    written = capfd.readouterr()
    assert "cannot log in" in written.out + written.err
    assert JWT not in written.out + written.err


async def test_a_credential_in_a_note_is_not_written(world, works):
    works.states["one"] = State(ready=True, version="1.33.3", api_server="https://a:1", note={"login": {"token": JWT}})
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        cluster = await world.ready()
        document = await world.plain(Cluster, "one")
        assert JWT not in str(document)
        event = await world.told(cluster, "SecretNotWritten")
        assert ".login.token" in event["note"]
        assert JWT not in str(event)


# -- the end -----------------------------------------------------------------------------------------------------------


async def test_a_cluster_goes_when_its_provider_says_so(world, works):
    works.lasting.add("one")
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        await world.ready()
        await world.delete(Cluster, "one")
        cluster = await world.standing("one", "Deleting")
        assert cluster.status.phase == "Terminating"
        assert cluster.status.observed_generation == cluster.metadata.generation
        await until(lambda: works.ended["one"] > 2, "the provider is asked again and again")
        assert (await world.get(Cluster, "one")).metadata.finalizers == (FINALIZER,)
        works.lasting.clear()
        await world.gone(Cluster, "one")
        assert not works.made


async def test_others_are_waited_for(world, works):
    async with workshop(world.connection, works) as manager:
        await world.config()
        claim = claim_of("11111111-1111-1111-1111-111111111111")
        notes = {claim: '{"namespace": "team", "name": "mine", "prefix": ""}'}
        await world.cluster(metadata={"finalizers": [FOREIGN, claim], "annotations": notes})
        await world.ready()
        await world.delete(Cluster, "one")
        cluster = await world.standing("one", "WaitingForDeletion")
        waiting = condition(cluster, "ForeignFinalizers")
        assert waiting.status == "False"
        assert FOREIGN in waiting.message
        assert "team/mine" in waiting.message
        assert cluster.status.phase == "Terminating"
        await world.patch(Cluster, "one", {"metadata": {"finalizers": [FOREIGN, FINALIZER]}})

        def is_let_go_by_one(cluster):
            return "team/mine" not in condition(cluster, "ForeignFinalizers").message

        await heard(manager, await world.becomes(Cluster, "one", is_let_go_by_one, "waits for one of them"))
        assert not works.ended
        await world.patch(Cluster, "one", {"metadata": {"finalizers": [FINALIZER]}})
        await world.gone(Cluster, "one")
        assert not works.made


async def test_a_cluster_that_was_never_begun_just_goes(world, works):
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster(kubernetes={"version": "1.2.3"})
        await world.cluster("two", kubernetes={"version": "1.2.3"}, metadata={"finalizers": [FOREIGN]})
        for name in ("one", "two"):
            await world.standing(name, "UnsupportedVersion")
            await world.delete(Cluster, name)
        await world.gone(Cluster, "one")
        cluster = await world.standing("two", "WaitingForDeletion")
        assert cluster.status.phase == "Terminating"
        await world.patch(Cluster, "two", {"metadata": {"finalizers": None}})
        await world.gone(Cluster, "two")
        assert not works.ended


async def test_the_end_needs_neither_a_good_order_nor_its_details(world, works):
    async with workshop(world.connection, works):
        await world.config(versions=["1.33.3"])
        await world.create(Detail, "roof", spec={"colour": "red"})
        await world.cluster(clusterConfigs=[{"name": "roof"}])
        await world.ready()
        await world.delete(Detail, "roof")
        await world.standing("one", "ClusterConfigMissing")
        await world.patch(Cluster, "one", {"spec": {"kubernetes": {"version": "1.2.3"}}})
        await world.delete(Cluster, "one")
        await world.gone(Cluster, "one")
        assert not works.made


async def test_a_failing_end_is_told_and_repeated(world, works):
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        await world.ready()
        works.errors["one"] = RuntimeError("the crane is broken")
        await world.delete(Cluster, "one")
        cluster = await world.standing("one", "ProviderFailed")
        assert "crane" in condition(cluster).message
        assert cluster.status.phase == "Terminating"
        works.errors.clear()
        await world.gone(Cluster, "one")
        assert not works.made


async def test_a_cluster_made_anew_under_the_same_name_is_another(world, works):
    async with workshop(world.connection, works):
        await world.config()
        first = await world.cluster()
        await world.ready()
        await world.delete(Cluster, "one")
        await world.gone(Cluster, "one")
        second = await world.cluster()
        await world.ready()
        assert works.made == {second.metadata.uid: "1.33.3"}
        assert first.metadata.uid != second.metadata.uid
        assert reason_of(await world.get(Cluster, "one")) == "Ready"

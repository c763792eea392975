"""Configuration becomes profiles, and nothing else does."""

from __future__ import annotations

import asyncio

import pytest
from provider_kit import (
    CONFIG_FINALIZER,
    FOREIGN,
    Works,
    WorkshopConfig,
    WorkshopProvider,
    condition,
    reason_of,
    workshop,
)

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import typed
from mooring.providers.sdk import add_provider
from mooring.runtime import Manager
from mooring.testing.builders import cluster_profile
from mooring.testing.managers import heard, until

HOUSE = "test.workshop.house"


async def profile_names(world):
    return {one.metadata.name for one in await world.all(ClusterProfile)}


async def until_profiles(world, *names):
    async def there():
        return await profile_names(world) == set(names)

    async def seen():
        return f"the profiles are {names}; they are {await profile_names(world)}"

    await until(there, seen)


async def test_a_configuration_is_published(world):
    async with workshop(world.connection):
        await world.config(versions=["1.33.3", "1.34.0"], traits=["fast"], most=7)
        config = await world.standing("house", "Published", kind=WorkshopConfig)
        profile = await world.get(ClusterProfile, HOUSE)
        assert profile.spec.provider_ref.name == "workshop"
        assert profile.spec.provider_config_ref.name == "house"
        assert [one.version for one in profile.spec.supported_versions] == ["1.33.3", "1.34.0"]
        assert [one.key for one in profile.spec.supported_traits] == ["fast"]
        assert profile.spec.max_clusters == 7
        assert config.metadata.finalizers == ()  # nobody needs it yet
        assert condition(config).observed_generation == config.metadata.generation

        await world.patch(WorkshopConfig, "house", {"spec": {"versions": ["1.35.0"], "most": 0}})

        def is_new(profile):
            return [one.version for one in profile.spec.supported_versions] == ["1.35.0"]

        profile = await world.becomes(ClusterProfile, HOUSE, is_new, "has the new version")
        assert profile.spec.max_clusters == 0

        await world.delete(WorkshopConfig, "house")
        await world.gone(WorkshopConfig, "house")
        await until_profiles(world)


async def test_variants_come_and_go(world):
    async with workshop(world.connection):
        await world.config(variants=["small", "large"])
        await until_profiles(world, f"{HOUSE}.small", f"{HOUSE}.large")
        await world.cluster("mine", profile=f"{HOUSE}.large")
        cluster = await world.ready("mine")
        await world.patch(WorkshopConfig, "house", {"spec": {"variants": ["tiny"]}})
        await until_profiles(world, f"{HOUSE}.tiny", f"{HOUSE}.large")  # the one that is used stays …

        def is_full(profile):
            return profile.spec.max_clusters == 1

        await world.becomes(ClusterProfile, f"{HOUSE}.large", is_full, "takes no more clusters")
        await world.delete(Cluster, cluster.metadata.name)
        await world.gone(Cluster, cluster.metadata.name)
        await until_profiles(world, f"{HOUSE}.tiny")  # … until its last cluster is gone


async def test_a_profile_stays_for_a_cluster_that_came_after_the_last_look(world, proxy):
    """The first look at its clusters finds none, as it does when one comes right behind it."""

    def counts(request):
        return request.verb == "list" and request.params.get("fieldSelector") == f"spec.profile={HOUSE}.large"

    async with workshop(proxy.connection):
        await world.config(variants=["small", "large"])
        await until_profiles(world, f"{HOUSE}.small", f"{HOUSE}.large")
        await world.cluster("mine", profile=f"{HOUSE}.large")
        await world.ready("mine")
        before = await world.get(ClusterProfile, f"{HOUSE}.large")
        none = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": []}
        early = proxy.answer(200, body=none, matching=counts)
        await world.patch(WorkshopConfig, "house", {"spec": {"variants": ["small"]}})

        def is_another(profile):
            return profile.metadata.uid != before.metadata.uid and profile.spec.max_clusters == 1

        after = await world.becomes(ClusterProfile, f"{HOUSE}.large", is_another, "is there again, and full")
        assert early.spent
        assert after.metadata.annotations == before.metadata.annotations
        await world.delete(Cluster, "mine")
        await world.gone(Cluster, "mine")
        await until_profiles(world, f"{HOUSE}.small")


async def test_long_names_are_shortened_and_still_tell_the_variant(world):
    name, works = "h" * 60, Works()
    async with workshop(world.connection, works):
        await world.config(name, variants=["small", "large"])
        await world.standing(name, "Published", kind=WorkshopConfig)
        names = sorted(await profile_names(world))
        assert len(names) == 2
        assert all(len(one) <= 63 for one in names)
        for number, profile in enumerate(names):
            await world.cluster(f"c{number}", profile=profile)
            await world.ready(f"c{number}")
    assert {works.orders["c0"].variant, works.orders["c1"].variant} == {"small", "large"}


async def test_a_name_that_is_no_label_is_refused(world):
    async with workshop(world.connection):
        await world.config("h" * 64)
        config = await world.standing("h" * 64, "OfferInvalid", kind=WorkshopConfig)
        assert "63" in condition(config).message
        assert await profile_names(world) == set()


def is_held(config):
    return CONFIG_FINALIZER in config.metadata.finalizers


async def test_a_used_configuration_outlives_its_clusters(world):
    async with workshop(world.connection):
        await world.config()
        await world.cluster()
        await world.ready()
        assert is_held(await world.get(WorkshopConfig, "house"))
        await world.patch(WorkshopConfig, "house", {"metadata": {"finalizers": None}})
        await world.becomes(WorkshopConfig, "house", is_held, "is held again")
        await world.delete(WorkshopConfig, "house")
        full = await world.becomes(ClusterProfile, HOUSE, lambda one: one.spec.max_clusters == 1, "is full")
        assert full.spec.provider_ref.name == "workshop"
        assert (await world.get(WorkshopConfig, "house")).metadata.deleting
        await world.delete(Cluster, "one")
        await world.gone(Cluster, "one")
        await world.gone(WorkshopConfig, "house")
        assert await profile_names(world) == set()


async def test_a_configuration_that_is_not_used_goes_also_when_its_provider_has_gone_for_good(world):
    async with workshop(world.connection):
        await world.config()
        await world.cluster()
        await world.ready()
        await world.delete(Cluster, "one")
        await world.gone(Cluster, "one")
    # Whoever is asked to end when the last cluster has gone has let go of everything by then.
    await world.delete(WorkshopConfig, "house")
    assert await world.get(WorkshopConfig, "house") is None


async def test_nothing_is_begun_with_a_configuration_that_is_going(world):
    works = Works()
    async with workshop(world.connection, works):
        await world.config()
        await world.patch(WorkshopConfig, "house", {"metadata": {"finalizers": [FOREIGN]}})
        await world.cluster("first")
        await world.ready("first")
        await world.delete(WorkshopConfig, "house")
        await world.patch(WorkshopConfig, "house", {"metadata": {"finalizers": [FOREIGN]}})  # and we let go, by force
        await world.cluster("late")
        late = await world.standing("late", "ConfigMissing")
        assert "WorkshopConfig house" in condition(late).message
        assert "is being deleted" in condition(late).message
        assert late.metadata.finalizers == ()
        assert set(works.asked) == {"first"}


async def test_profiles_of_a_configuration_that_went_meanwhile_go_too(world):
    async with workshop(world.connection):
        await world.config()
        await world.standing("house", "Published", kind=WorkshopConfig)
    await world.delete(WorkshopConfig, "house")
    await world.gone(WorkshopConfig, "house")
    assert await profile_names(world) == {HOUSE}
    async with workshop(world.connection):
        await until_profiles(world)


async def test_what_somebody_changed_is_put_right(world):
    async with workshop(world.connection):
        await world.config(traits=["fast"])
        await world.standing("house", "Published", kind=WorkshopConfig)
        await world.patch(ClusterProfile, HOUSE, {"spec": {"supportedTraits": None}})
        await world.becomes(ClusterProfile, HOUSE, lambda one: one.spec.supported_traits, "has its trait again")
        await world.patch(ClusterProfile, HOUSE, {"metadata": {"labels": None}})
        await world.becomes(ClusterProfile, HOUSE, lambda one: one.metadata.labels, "has its label again")
        await world.delete(ClusterProfile, HOUSE)
        await world.becomes(ClusterProfile, HOUSE, lambda one: not one.metadata.deleting, "is there again")
        await world.patch(WorkshopConfig, "house", {"status": None}, subresource="status")
        await world.standing("house", "Published", kind=WorkshopConfig)


async def test_a_foreign_profile_of_the_same_name_is_never_touched(world):
    foreign = await world.kube.create(typed(ClusterProfile), cluster_profile(HOUSE, provider="stranger"))
    async with workshop(world.connection):
        await world.config()
        config = await world.standing("house", "ProfileNameTaken", kind=WorkshopConfig)
        assert "stranger" in condition(config).message
        await world.told(config, "ProfileNameTaken")
        await world.patch(WorkshopConfig, "house", {"spec": {"versions": ["1.35.0"]}})

        def has_heard(config):
            return condition(config).observed_generation == config.metadata.generation

        await world.becomes(WorkshopConfig, "house", has_heard, "was looked at again")
        assert await world.get(ClusterProfile, HOUSE) == foreign
        await world.delete(ClusterProfile, HOUSE)
        await world.standing("house", "Published", kind=WorkshopConfig)  # the name is free now


@pytest.mark.parametrize(
    ("poison", "reason", "words"),
    [
        ({"traits": ["poison"]}, "Poisoned", "not for sale"),
        ({"words": {"size": 5}}, "ConfigInvalid", "spec.words"),
        ({"versions": ["1.33"]}, "OfferInvalid", "1.33"),
        ({"versions": ["newest"]}, "OfferInvalid", "newest"),
        ({"variants": ["Not A Name"]}, "OfferInvalid", "Not A Name"),
        ({"variants": ["a", "a"]}, "OfferInvalid", "same variant"),
        ({"most": -1}, "OfferInvalid", "-1"),
    ],
)
async def test_a_bad_configuration_says_so_and_its_profiles_stay(world, poison, reason, words):
    async with workshop(world.connection):
        await world.config()
        await world.config("other")
        await world.standing("house", "Published", kind=WorkshopConfig)
        before = await world.get(ClusterProfile, HOUSE)
        await world.patch(WorkshopConfig, "house", {"spec": poison})
        config = await world.standing("house", reason, kind=WorkshopConfig)
        assert condition(config).status == "False"
        assert words in condition(config).message
        await world.told(config, reason)
        assert await world.get(ClusterProfile, HOUSE) == before
        # Others are not held up by it.
        await world.patch(WorkshopConfig, "other", {"spec": {"traits": ["quick"]}})
        await world.becomes(ClusterProfile, "test.workshop.other", lambda one: one.spec.supported_traits, "has a trait")


async def test_a_bad_configuration_from_the_start(world):
    """It was never readable, and so no cache that holds only what is readable would know of it."""
    await world.config(words={"size": 5})
    async with workshop(world.connection):
        await world.standing("house", "ConfigInvalid", kind=WorkshopConfig)
        await world.patch(WorkshopConfig, "house", {"spec": {"words": None}})
        await world.standing("house", "Published", kind=WorkshopConfig)


async def test_a_bad_configuration_can_be_deleted(world):
    async with workshop(world.connection):
        await world.config()
        await world.standing("house", "Published", kind=WorkshopConfig)
        await world.patch(WorkshopConfig, "house", {"spec": {"words": {"size": 5}}})
        await world.standing("house", "ConfigInvalid", kind=WorkshopConfig)
        await world.delete(WorkshopConfig, "house")
        await world.gone(WorkshopConfig, "house")
        await until_profiles(world)


async def test_operations(world):
    async with workshop(world.connection) as manager:
        ignore = {"annotations": {"openmcp.cloud/operation": "ignore"}}
        spec = {"providerRef": {"name": "workshop"}}
        config = await world.create(WorkshopConfig, "house", metadata=ignore, spec=spec)
        await world.config("other")
        await world.standing("other", "Published", kind=WorkshopConfig)
        assert await profile_names(world) == {"test.workshop.other"}
        again = {"metadata": {"annotations": {"openmcp.cloud/operation": "reconcile"}}}
        await world.patch(WorkshopConfig, "house", again)
        config = await world.standing("house", "Published", kind=WorkshopConfig)
        assert "openmcp.cloud/operation" not in config.metadata.annotations
        assert manager.working


async def test_two_instances_of_one_implementation_leave_each_other_alone(world):
    red, blue = Works(), Works()
    async with (
        workshop(world.connection, red, name="red") as first,
        workshop(world.connection, blue, name="blue") as second,
    ):
        await world.config("hut", provider="red")
        await world.config("villa", provider="blue")
        await until_profiles(world, "test.red.hut", "test.blue.villa")
        await world.cluster("a", profile="test.red.hut")
        await world.cluster("b", profile="test.blue.villa")
        a, b = await world.ready("a"), await world.ready("b")
        for manager in (first, second):
            await heard(manager, a, b)
        assert set(red.asked) == {"a"}
        assert set(blue.asked) == {"b"}
        await world.delete(WorkshopConfig, "hut")
        await world.delete(Cluster, "a")
        await world.gone(WorkshopConfig, "hut")
        await until_profiles(world, "test.blue.villa")
        there = await world.get(Cluster, "b")
        assert there.metadata.resource_version == b.metadata.resource_version
        assert reason_of(await world.get(WorkshopConfig, "villa")) == "Published"
        assert not blue.ended


async def test_two_instances_share_a_manager(world):
    """As on the embedded landscape: one process, one watch of each kind."""
    red, blue = Works(), Works()
    async with Manager(world.connection, identity="both") as manager:
        add_provider(manager, WorkshopProvider(red), name="red", environment="test")
        add_provider(manager, WorkshopProvider(blue), name="blue", environment="test")
        task = asyncio.create_task(manager.run())
        try:
            await world.config("hut", provider="red")
            await world.config("villa", provider="blue")
            await world.cluster("a", profile="test.red.hut")
            await world.cluster("b", profile="test.blue.villa")
            await world.ready("a")
            await world.ready("b")
        finally:
            manager.stop()
            await task
    assert (set(red.asked), set(blue.asked)) == ({"a"}, {"b"})


@pytest.mark.parametrize(("name", "environment"), [("", "test"), ("Red", "test"), ("red", "te/st"), ("r" * 64, "test")])
async def test_an_instance_needs_a_name_that_can_be_a_label(world, name, environment):
    async with Manager(world.connection, identity="nobody") as manager:
        with pytest.raises(ValueError, match="cannot be the name of"):
            add_provider(manager, WorkshopProvider(), name=name, environment=environment)

"""Others write in the same moment, and preparers die after each write: what comes out is the same."""

from __future__ import annotations

import pytest
from access_kit import preparer, preparing, writes

from mooring.api.access import AccessRequest
from mooring.api.kinds import CLUSTERS_GROUP
from mooring.api.marks import PROVIDER_LABEL
from mooring.testing.managers import doomed, heard, until


def ours(request):
    return request.group == CLUSTERS_GROUP


def watches_of_access(request):
    return request.resource == "accessrequests"


@pytest.mark.parametrize("value", ["right", "wrong"])
async def test_a_label_that_was_set_between_look_and_patch(world, proxy, value):
    """The preparer sees the request without the label, and somebody has just set one."""
    await world.cluster()
    async with preparing(proxy.connection) as manager:
        # Nothing gets through for a while: neither what it writes, nor what it would hear.
        held = proxy.answer(503, times=None, matching=lambda one: one.is_write and ours(one))
        await world.access()
        await until(lambda: held.hits, "the preparer has tried to label it")
        proxy.freeze_watches(matching=watches_of_access)
        label = world.provider if value == "right" else "somebody"
        changed = await world.patch(AccessRequest, "entry", {"metadata": {"labels": {PROVIDER_LABEL: label}}})
        held.lift()
        await until(lambda: 409 in conflicts(proxy), "the preparer comes too late")
        proxy.thaw_watches()
        if value == "right":
            request = await world.prepared()
        else:
            request = await world.stands("Denied", "WrongLabel")
        await heard(manager, changed, request)
        assert (await world.get(AccessRequest)).metadata.labels[PROVIDER_LABEL] == label


def conflicts(proxy):
    return [one.server_status for one in proxy.requests if one.is_write and ours(one)]


async def test_what_a_provider_has_just_granted_is_not_written_over(world, proxy):
    await world.cluster(profile=world.iron)
    await world.access()
    async with preparing(proxy.connection) as manager:
        await heard(manager, await world.stands("Pending", "Prepared"))
        held = proxy.answer(503, times=None, matching=lambda one: one.is_write and ours(one))
        await world.patch(AccessRequest, "entry", {"spec": {"token": {"lifetime": "2h"}}})
        await until(lambda: held.hits, "the preparer has tried to say Pending")
        proxy.freeze_watches(matching=watches_of_access)
        granted = await world.granted()
        held.lift()
        await until(lambda: 409 in conflicts(proxy), "the preparer comes too late")
        proxy.thaw_watches()
        await heard(manager, granted)
        assert (await world.get(AccessRequest)).status.phase == "Granted"


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("fate", ["dies", "cut before", "cut after"])
async def test_after_each_write(world, proxy, nth, fate):
    await world.cluster(profile=world.iron)
    async with doomed(preparer(proxy.connection)):
        rule = {
            "dies": proxy.stop_after_write,
            "cut before": proxy.cut_before_write,
            "cut after": proxy.cut_after_write,
        }[fate](nth, matching=ours)
        await world.access()
        await until(lambda: rule.hits, f"write {nth} is made")
        if fate != "dies":
            await world.prepared(profile=world.iron)
            await world.stands("Pending", "Prepared")
    async with preparing(world.connection) as manager:
        await world.prepared(profile=world.iron)
        await heard(manager, await world.stands("Pending", "Prepared"))


async def test_two_preparers_agree(world, proxy):
    await world.cluster(profile=world.iron)
    async with preparing(proxy.connection) as one, preparing(proxy.connection) as other:
        for number in range(10):
            await world.access(f"entry-{number}", clusterRef={"name": "home"})
        for number in range(10):
            there = await world.stands("Pending", "Prepared", f"entry-{number}")
            await heard(one, there)
            await heard(other, there)
        before = [await world.get(AccessRequest, f"entry-{number}") for number in range(10)]
    assert all(one.metadata.generation == 2 for one in before), "each was filled in once"
    assert len(writes(proxy)) >= 20

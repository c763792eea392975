"""The face dies, or is cut off, at each write of what it does. The next one always finds its way."""

from __future__ import annotations

import os

import pytest
from kyma_kit import World, works

from mooring.api.access import AccessRequest
from mooring.api.kyma import KubeconfigRequest
from mooring.kube import typed
from mooring.testing.managers import until

# The AccessRequest, statuses while it waits, the Secret, the status.
ASKING = range(1, 6)
# The AccessRequest, the annotation, the Secret, the status.
ROTATING = range(1, 5)
# The AccessRequest, the Secret, the status, and another one when access is closed.
REVOKING = range(1, 5)


def ours(request):
    """What the face writes, but for events: those are told when there is time."""
    return request.group != "events.k8s.io"


def dies(proxy, nth):
    """The write is done, and nothing more gets through."""
    return proxy.stop_after_write(nth, matching=ours)


def is_cut_before(proxy, nth):
    """The write is lost on its way; the face lives on."""
    return proxy.cut_before_write(nth, matching=ours)


def is_cut_after(proxy, nth):
    """The write is done, its answer is lost; the face lives on."""
    return proxy.cut_after_write(nth, matching=ours)


FATES = (dies, is_cut_before, is_cut_after)


def each(writes):
    """Every write meets a fate, and every fate comes; a long run has all pairs of them."""
    pairs = [(nth, fate) for nth in writes for fate in FATES]
    return pairs if os.environ.get("MOORING_LONG_RUN") else [(nth, FATES[nth % len(FATES)]) for nth in writes]


async def struck(rule, done):
    """Wait for the fault; or until everything was done without one: sometimes a write fewer is needed."""

    async def over():
        return rule.hits or await done()

    await until(over, "the write was made")


async def through(world, proxy, fate, nth, act, done):
    """Act while the face meets its fate, and wait until it is done by that one or by the next."""
    async with world.granting():
        async with world.doomed_face(proxy.connection):
            rule = fate(proxy, nth)
            await act()
            await struck(rule, done)
            if fate is not dies:
                await until(done, "it is done")
        if fate is dies:
            async with world.face():
                await until(done, "it is done")


async def issued_into_a_secret(world: World):
    async with world.granting(), world.face():
        await world.ask(secretRef={"name": "copy"})
        await world.issued()
    return (await world.secret("copy"))["data"]["kubeconfig"]


def ready(request):
    stands = request.status is not None and [one for one in request.status.conditions if one.type == "Ready"]
    return stands[0].reason if stands else ""


@pytest.mark.parametrize(("nth", "fate"), each(ASKING))
async def test_it_is_issued_once(world: World, proxy, fate, nth) -> None:
    async def done():
        return ready(await world.get(KubeconfigRequest, "mine")) == "Issued"

    await through(world, proxy, fate, nth, lambda: world.ask(secretRef={"name": "copy"}), done)
    listed = await world.kube.list(typed(AccessRequest), namespace=world.namespace)
    assert [one.metadata.name for one in listed.items] == ["kyma-mine"]
    issued = await world.get(KubeconfigRequest, "mine")
    assert issued.status.kubeconfig == ""
    await works((await world.secret("copy"))["data"]["kubeconfig"])


@pytest.mark.parametrize(("nth", "fate"), each(ROTATING))
async def test_it_is_rotated(world: World, proxy, fate, nth) -> None:
    before = await issued_into_a_secret(world)

    async def done():
        secret, request = await world.secret("copy"), await world.get(KubeconfigRequest, "mine")
        heard = request.metadata.annotations["operator.kyma-project.io/rotate"] == "false"
        is_new = secret is not None and secret["data"]["kubeconfig"] != before
        return heard and is_new and ready(request) == "Issued"

    await through(world, proxy, fate, nth, lambda: world.say(rotate="true"), done)


@pytest.mark.parametrize(("nth", "fate"), each(REVOKING))
async def test_it_is_revoked(world: World, proxy, fate, nth) -> None:
    await issued_into_a_secret(world)

    async def done():
        gone = await world.secret("copy") is None
        return gone and ready(await world.get(KubeconfigRequest, "mine")) == "Revoked"

    await through(world, proxy, fate, nth, lambda: world.say(revoke="true"), done)
    assert await world.parts(await world.access()) == {}


@pytest.mark.parametrize(("nth", "fate"), each(range(1, 4)))
async def test_it_moves(world: World, proxy, fate, nth) -> None:
    before = await issued_into_a_secret(world)

    async def done():
        copy, other = await world.secret("copy"), await world.secret("other")
        request = await world.get(KubeconfigRequest, "mine")
        current = request.status.observed_generation == request.metadata.generation
        return current and copy is None and other is not None and other["data"] == {"kubeconfig": before}

    await through(world, proxy, fate, nth, lambda: world.change(secretRef={"name": "other"}), done)

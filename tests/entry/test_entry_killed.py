"""Whoever makes, mends, issues or closes may die after each of its writes. Who comes next ends in the same place."""

import asyncio

import pytest
from entry_kit import a_rule, an_entrant, new_namespace, picture, reading, secrets_of, token, unique

from mooring.entry.closing import close
from mooring.entry.doors import token_door
from mooring.entry.opening import Unsettled, make, mend
from mooring.entry.tokens import issue, retire_all_but
from mooring.kube import Client
from mooring.kube.errors import KubeError
from mooring.kube.tls import tls_context
from mooring.testing.faults import FaultProxy
from mooring.testing.managers import until

MOST_WRITES = 20


@pytest.fixture
async def proxy(own_plane):
    context = tls_context(ca=own_plane.ca, certificate=own_plane.admin_certificate())
    async with FaultProxy(own_plane.server, ssl=context) as proxy:
        yield proxy


def dies(proxy, nth):
    """The write is done, and nothing more gets through."""
    return proxy.stop_after_write(nth)


def loses_the_call(proxy, nth):
    return proxy.cut_before_write(nth)


def loses_the_answer(proxy, nth):
    return proxy.cut_after_write(nth)


FATES = (dies, loses_the_call, loses_the_answer)


class Places:
    """One entrant, and the two doors that it has, one after the other."""

    def __init__(self, accounts, place):
        self.accounts, self.entrant = accounts, an_entrant()
        admin, view = ({"kind": "ClusterRole", "name": word} for word in ("admin", "view"))
        missing = unique("made")
        self.first = self.door([reading(), reading(namespace=place)], [admin])
        self.second = self.door([{"rules": [a_rule("list")]}, reading(namespace=missing)], [view])

    def door(self, permissions, role_refs):
        return token_door(self.entrant, token(permissions=permissions, roleRefs=role_refs), accounts=self.accounts)


@pytest.fixture
async def places(own_kube):
    return Places(await new_namespace(own_kube), await new_namespace(own_kube))


async def struck(proxy, fate, deed):
    """Let it happen at the first write, then the second, and so on, until there are no more.

    Whoever iterates puts everything back in between, and looks at what has become of it.
    """
    for nth in range(1, MOST_WRITES):
        rule = fate(proxy, nth)
        async with Client(proxy.connection) as client:
            doing = asyncio.create_task(deed(client))
            await until(lambda: doing.done() or proxy.is_down, "it is done, or cut off")  # noqa: B023
            doing.cancel()
            await asyncio.wait([doing])
        await proxy.heal()
        assert doing.cancelled() or isinstance(doing.exception(), KubeError | Unsettled | None)
        if not rule.hits:
            assert doing.exception() is None
            return
        yield nth
    pytest.fail(f"it writes more than {MOST_WRITES} times")


@pytest.mark.parametrize("again", [make, mend])
@pytest.mark.parametrize("fate", FATES)
async def test_while_it_makes_a_door(own_kube, proxy, places, fate, again):
    """Who comes next may have never heard of it, or know that there may be something."""
    await make(own_kube, places.first)
    whole = await picture(own_kube, places.entrant)
    await close(own_kube, places.entrant, accounts=places.accounts)
    async for nth in struck(proxy, fate, lambda client: make(client, places.first)):
        await again(own_kube, places.first)
        assert await picture(own_kube, places.entrant) == whole
        await close(own_kube, places.entrant, accounts=places.accounts)
        last = nth
    assert last == len(places.first.objects)
    await close(own_kube, places.entrant, accounts=places.accounts)


@pytest.mark.parametrize("fate", FATES)
async def test_while_it_mends_a_door(own_kube, proxy, places, fate):
    await make(own_kube, places.second)
    whole = await picture(own_kube, places.entrant)
    await mend(own_kube, places.first)
    async for nth in struck(proxy, fate, lambda client: mend(client, places.second)):
        await mend(own_kube, places.second)
        assert await picture(own_kube, places.entrant) == whole
        await mend(own_kube, places.first)
        last = nth
    # A role is changed, one is made and one removed; a binding is made, one removed, and one made anew: two writes.
    assert last == 7
    await close(own_kube, places.entrant, accounts=places.accounts)


@pytest.mark.parametrize("fate", FATES)
async def test_while_it_issues_a_token(own_kube, proxy, places, fate):
    await make(own_kube, places.first)
    kept = await issue(own_kube, places.first, accounts=places.accounts, lifetime=3600.0, now=0.0)

    async def issues(client):
        await issue(client, places.first, accounts=places.accounts, lifetime=3600.0, now=0.0)

    async for nth in struck(proxy, fate, issues):
        await retire_all_but(own_kube, places.accounts, places.entrant, [kept.issue])
        assert await secrets_of(own_kube, places.entrant) == [kept.issue]
        last = nth
    assert last == 2
    await close(own_kube, places.entrant, accounts=places.accounts)


@pytest.mark.parametrize("fate", FATES)
async def test_while_it_closes_a_door(own_kube, proxy, places, fate):
    async def open_it():
        await make(own_kube, places.first)
        for _ in range(2):
            await issue(own_kube, places.first, accounts=places.accounts, lifetime=3600.0, now=0.0)

    await open_it()
    async for nth in struck(proxy, fate, lambda client: close(client, places.entrant, accounts=places.accounts)):
        await close(own_kube, places.entrant, accounts=places.accounts)
        assert await picture(own_kube, places.entrant) == {}
        assert await secrets_of(own_kube, places.entrant) == []
        await open_it()
        last = nth
    assert last == 2 + len(places.first.objects)
    assert await picture(own_kube, places.entrant) == {}

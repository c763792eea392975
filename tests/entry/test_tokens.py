"""Tokens of real accounts, shown to the server that issued them."""

import base64
import contextlib
import json
import time

import pytest
from entry_kit import a_rule, an_entrant, new_namespace, reading, secrets_of, token

from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.entry.closing import close
from mooring.entry.doors import token_door
from mooring.entry.kubeconfigs import token_kubeconfig
from mooring.entry.opening import make
from mooring.entry.tokens import LONGEST, SHORTEST, Issued, issue, retire, retire_all_but
from mooring.kube import Client, connection_from_document, untyped
from mooring.kube.errors import Forbidden, InvalidName, NotFound, Unauthorized
from mooring.testing.builders import CONFIG_MAPS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, config_map
from mooring.testing.managers import until

REVIEWS = untyped(
    group="authentication.k8s.io", plural="selfsubjectreviews", kind="SelfSubjectReview", namespaced=False
)
HOUR = 3600.0


@pytest.fixture
async def place(own_kube):
    return await new_namespace(own_kube)


@pytest.fixture
async def door(own_kube, place):
    made = token_door(an_entrant(), token(permissions=[reading(namespace=place)]), accounts=place)
    await make(own_kube, made)
    yield made
    await close(own_kube, made.entrant, accounts=place)


@contextlib.asynccontextmanager
async def entering(plane, issued):
    document = token_kubeconfig(server=plane.server, ca=plane.ca, user="local", token=issued.token)
    async with Client(connection_from_document(document)) as client:
        yield client


async def whoami(client):
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return (await client.create(REVIEWS, review))["status"]["userInfo"]


async def is_refused(plane, issued):
    async with entering(plane, issued) as client:
        try:
            await whoami(client)
        except Unauthorized:
            return True
        return False


def claims(issued):
    part = issued.token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


async def test_a_token_opens_the_door_and_no_other(own_kube, own_plane, door, place):
    await own_kube.create(CONFIG_MAPS, config_map("one", place))
    issued = await issue(own_kube, door, accounts=place, lifetime=HOUR, now=1000.0)
    async with entering(own_plane, issued) as client:
        assert (await whoami(client))["username"] == f"system:serviceaccount:{place}:{door.account}"

        async def is_open():
            # The server learns of bindings a moment after they are made.
            with contextlib.suppress(Forbidden):
                return await client.get(CONFIG_MAPS, "one", namespace=place)

        await until(is_open, "the config map can be read")
        for refused in (
            client.list(CONFIG_MAPS, namespace=place),
            client.get(CONFIG_MAPS, "one", namespace="default"),
            client.list(SECRETS, namespace=place),
        ):
            with pytest.raises(Forbidden):
                await refused


async def test_a_token_is_bound_to_a_secret_of_its_own_that_holds_nothing(own_kube, door, place):
    issued = await issue(own_kube, door, accounts=place, lifetime=HOUR, now=1000.0)
    secret = await own_kube.get(SECRETS, issued.issue, namespace=place)
    bound = claims(issued)["kubernetes.io"]["secret"]
    assert bound == {"name": issued.issue, "uid": secret["metadata"]["uid"]}
    assert "data" not in secret
    assert "finalizers" not in secret["metadata"]
    assert door.entrant.owns(secret)
    assert issued.token not in repr(issued)


async def test_a_retired_token_is_refused_and_its_sibling_is_not(own_kube, own_plane, door, place):
    first, second, third = [await issue(own_kube, door, accounts=place, lifetime=HOUR, now=0.0) for _ in range(3)]
    for one in (first, second, third):
        assert not await is_refused(own_plane, one)
    await retire(own_kube, place, first.issue, entrant=door.entrant)
    await retire(own_kube, place, first.issue)  # again, as after a crash
    await retire_all_but(own_kube, place, door.entrant, [second.issue])
    await until(lambda: is_refused(own_plane, first), "the retired token is refused")
    await until(lambda: is_refused(own_plane, third), "the token that is written down nowhere is refused")
    assert not await is_refused(own_plane, second)
    await close(own_kube, door.entrant, accounts=place)
    await until(lambda: is_refused(own_plane, second), "the token of a closed door is refused")


async def test_only_issues_of_the_entrant_are_retired(own_kube, door, place):
    """Names of issues are written down where whoever asks for access may write, too."""
    other = token_door(an_entrant(), token(), accounts=place)
    await make(own_kube, other)
    theirs = await issue(own_kube, other, accounts=place, lifetime=HOUR, now=0.0)
    for name in (theirs.issue, "", "../secrets/x", f"{door.account}-/x"):
        with pytest.raises(InvalidName):
            await retire(own_kube, place, name, entrant=door.entrant)
    await retire_all_but(own_kube, place, door.entrant, [])
    assert await secrets_of(own_kube, other.entrant) == [theirs.issue]
    await close(own_kube, other.entrant, accounts=place)


@pytest.mark.parametrize(
    ("lifetime", "granted"),
    [(1.0, SHORTEST), (599.9, SHORTEST), (600.0, 600.0), (3607.0, 3607.0), (720 * HOUR, 720 * HOUR), (1e30, LONGEST)],
)
async def test_how_long_tokens_live(own_kube, door, place, lifetime, granted):
    """For us as long as was asked for; for the server never shorter than it can, and never longer than it says."""
    issued = await issue(own_kube, door, accounts=place, lifetime=lifetime, now=1000.0)
    told = claims(issued)
    assert told["exp"] - told["iat"] == granted
    assert (issued.created, issued.expires) == (1000.0, 1000.0 + min(lifetime, granted))


async def test_a_cluster_may_grant_less(landscape):
    """Whatever its clock says: what counts is for how long."""
    plain = landscape.control_plane(new_identity())
    flags = {"service-account-max-token-expiration": "2h"}
    plane = ControlPlane(plain.directory, plain.identity, plain.executables, plain.etcd, api_server_flags=flags)
    try:
        await plane.start()
        async with Client(connection_from_document(plane.admin_kubeconfig(name="x"))) as kube:
            door = token_door(an_entrant(), token(), accounts="default")
            await make(kube, door)
            now = time.time() + 7 * 24 * HOUR
            issued = await issue(kube, door, accounts="default", lifetime=720 * HOUR, now=now)
            assert issued.expires == now + 2 * HOUR
            assert not await is_refused(plane, issued)
    finally:
        await plane.delete()
        landscape.etcd.close()


async def test_without_its_account_nothing_is_issued_and_nothing_is_left(own_kube, door, place):
    await own_kube.delete(SERVICE_ACCOUNTS, door.account, namespace=place)
    with pytest.raises(NotFound):
        await issue(own_kube, door, accounts=place, lifetime=HOUR, now=0.0)
    assert await secrets_of(own_kube, door.entrant) == []


async def test_without_its_namespace_nothing_is_issued(own_kube, accounts):
    door = token_door(an_entrant(), token(permissions=[{"rules": [a_rule()]}]), accounts=accounts)
    with pytest.raises(NotFound):
        await issue(own_kube, door, accounts=accounts, lifetime=HOUR, now=0.0)
    await retire(own_kube, accounts, f"{door.account}-x")
    await retire_all_but(own_kube, accounts, door.entrant, [])
    await close(own_kube, door.entrant, accounts=accounts)
    with pytest.raises(NotFound):
        await own_kube.get(NAMESPACES, accounts)


def test_a_token_never_shows():
    assert "hidden" not in repr(Issued(token="hidden", issue="x", created=0.0, expires=1.0))

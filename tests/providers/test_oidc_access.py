"""Access by identity provider as requesters see it: an AccessRequest, a kubeconfig, and users who come with tokens."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from local_kit import API_SERVER, Yard, a_yard
from oidc_kit import CLIENT, Authority, can_list, identity_provider, refused
from provider_kit import World, condition, workshop

from mooring.api.access import AccessRequest
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.controlplane.landscape import Landscape
from mooring.entry.entrants import ENTRANT_LABEL
from mooring.entry.resources import PARTS, SECRETS
from mooring.kube import Client, untyped
from mooring.kube.errors import NotFound
from mooring.providers.local import LocalConfig, LocalProvider
from mooring.testing.managers import until
from mooring.testing.providing import install_kinds, providing

PODS, CONFIG_MAPS = untyped(plural="pods", kind="Pod"), untyped(plural="configmaps", kind="ConfigMap")
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}

# An API server takes ten seconds for each change of whom it trusts, and a minute to give one up.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
async def yard(landscape: Landscape) -> AsyncIterator[Yard]:
    async with a_yard(landscape) as yard:
        yield yard


@pytest.fixture
async def here(world: World) -> AsyncIterator[World]:
    yield world
    for one in await world.all(AccessRequest):
        with contextlib.suppress(NotFound):
            name, namespace = one.metadata.name, one.metadata.namespace
            await world.patch(AccessRequest, name, {"metadata": {"finalizers": None}}, namespace=namespace)
            await world.delete(AccessRequest, name, namespace)


@pytest.fixture
async def issuers(here: World) -> AsyncIterator[Authority]:
    """A configuration for clusters that trust whom this authority vouches for."""
    authority = Authority()
    await install_kinds(here.kube, LocalProvider)
    await here.config("issuers", provider="local", kind=LocalConfig, oidc={"certificateAuthority": authority.pem})
    yield authority
    await here.patch(LocalConfig, "issuers", {"metadata": {"finalizers": None}})
    await here.delete(LocalConfig, "issuers")
    await here.gone(LocalConfig, "issuers")


def wish(name, url, *subjects, **more):
    """Who may look at pods."""
    role = f"{name}-readers"
    return {
        "name": name,
        "issuer": url,
        "clientID": CLIENT,
        "roles": [{"name": role, "rules": [READ_PODS]}],
        "roleBindings": [
            {
                "subjects": [{"kind": kind, "name": subject} for kind, subject in subjects],
                "roleRefs": [{"kind": "ClusterRole", "name": role}],
            }
        ],
        **more,
    }


async def asks(here, name, *, provider="local", profile="test.local.issuers", **spec):
    """A request as the preparation leaves it."""
    labels = {PROVIDER_LABEL: provider, PROFILE_LABEL: profile}
    spec = {"clusterRef": {"name": "one", "namespace": here.namespace}, **spec}
    return await here.create(AccessRequest, name, metadata={"labels": labels}, spec=spec)


async def granted(here, name):
    def is_granted(one):
        ready = condition(one)
        return ready and ready.status == "True" and ready.observed_generation == one.metadata.generation

    return await here.becomes(AccessRequest, name, is_granted, "is granted")


async def parts(target, request):
    """What is in the cluster for a request."""
    selector = f"{ENTRANT_LABEL}={request.metadata.uid}"
    lists = [await target.list(kind, label_selector=selector) for kind in (*PARTS.values(), SECRETS)]
    return [one for found in lists for one in found.items]


async def secret(here, name):
    with contextlib.suppress(NotFound):
        return await here.kube.get(SECRETS, f"{name}.kubeconfig", namespace=here.namespace)
    return None


async def becomes_able(cluster, token):
    async def is_able():
        return await can_list(cluster, token, PODS)

    await until(is_able, "the token opens what was asked for", patience=200.0)


async def test_from_a_request_to_a_user_who_comes_in_and_back(here, issuers, yard: Yard, tmp_path: Path) -> None:
    made = await here.cluster("one", profile="test.local.issuers")
    order = yard.order(uid=made.metadata.uid)
    async with (
        identity_provider(issuers, tmp_path) as corp,
        identity_provider(issuers, tmp_path, down=True) as lab,
        providing(here.connection, yard.provider, name="local"),
    ):
        await here.ready()
        pid, cluster = yard.pid(order, API_SERVER), await yard.provider.admin_access(order)
        who = [("User", "alice"), ("Group", "dev"), ("User", "::corp:carol")]
        await asks(here, "login", oidc=wish("corp", corp.url, *who, extraScopes=["email", "offline_access"]))
        request = await granted(here, "login")
        assert request.status.phase == "Granted"
        _look_at(await secret(here, "login"), cluster, corp, here.namespace)

        alice = corp.token("alice")
        await becomes_able(cluster, alice)
        assert await can_list(cluster, alice, CONFIG_MAPS) is False
        assert await can_list(cluster, corp.token("eve", "dev"), PODS)
        assert await can_list(cluster, corp.token("carol"), PODS)
        assert await can_list(cluster, corp.token("mallory"), PODS) is False
        # Nobody else can call itself like these.
        await asks(here, "double", oidc=wish("double", lab.url, ("User", "x"), usernamePrefix="corp"))
        double = await here.standing("double", "IssuerNotTrusted", kind=AccessRequest)
        assert "usernamePrefix" in double.status.message
        await here.delete(AccessRequest, "double")
        await here.gone(AccessRequest, "double")

        # One that does not answer is not trusted, and its request says why; then it answers.
        late = await asks(
            here, "late", oidc=wish("lab", lab.url, ("User", "bob"), usernamePrefix="l", groupsPrefix="g")
        )
        told = await here.standing("late", "IssuerNotTrusted", kind=AccessRequest)
        assert "503" in told.status.message
        assert await secret(here, "late") is None
        async with Client(cluster) as target:
            assert await parts(target, late) == []
        lab.down = False
        await granted(here, "late")
        bob = lab.token("bob")
        await becomes_able(cluster, bob)

        # One goes while another is down, which comes back by itself.
        lab.down = True
        await here.delete(AccessRequest, "login")
        await here.gone(AccessRequest, "login")
        await refused(cluster, alice)
        async with Client(cluster) as target:
            assert await parts(target, request) == []
        await here.standing("late", "IssuerNotTrusted", kind=AccessRequest)
        lab.down = False
        await granted(here, "late")
        await becomes_able(cluster, bob)

        # Who wants a token instead needs no identity provider any more.
        token = {"permissions": [{"rules": [READ_PODS]}]}
        await here.patch(AccessRequest, "late", {"spec": {"oidc": None, "token": token}})
        await granted(here, "late")
        await refused(cluster, bob)
        assert yard.plane(order).trusted == ()
        assert yard.pid(order, API_SERVER) == pid


def _look_at(found, cluster, corp, namespace):
    """The kubeconfig is one for kubectl's plugin oidc-login."""
    assert set(found["data"]) == {"kubeconfig"}
    document = msgspec.yaml.decode(base64.b64decode(found["data"]["kubeconfig"]))
    assert document["clusters"][0]["cluster"]["server"] == cluster.server
    assert document["current-context"] == f"{namespace}--one--corp"
    (user,) = document["users"]
    assert set(user["user"]) == {"exec"}
    assert user["user"]["exec"]["command"] == "kubectl"
    assert user["user"]["exec"]["args"] == [
        "oidc-login",
        "get-token",
        f"--oidc-issuer-url={corp.url}",
        f"--oidc-client-id={CLIENT}",
        "--oidc-extra-scope=email",
        "--oidc-extra-scope=offline_access",
    ]


async def test_who_cannot_trust_anybody_denies_it_and_gives_nothing_else(here) -> None:
    """The cluster to enter is the worker's own server."""
    at = {"provider": "workshop", "profile": "test.workshop.house"}
    login = wish("corp", "https://corp.example", ("User", "alice"))
    await here.config()
    await here.cluster("one")
    async with workshop(here.connection):
        request = await asks(here, "login", oidc=login, **at)
        denied = await here.standing("login", "OIDCUnsupported", kind=AccessRequest)
        assert (denied.status.phase, denied.status.secret_ref) == ("Denied", None)
        assert "spec.token" in denied.status.message
        assert await secret(here, "login") is None
        assert await parts(here.kube, request) == []

        # What was given before is void, too.
        changed = await asks(here, "changed", token={"permissions": [{"rules": [READ_PODS]}]}, **at)
        await granted(here, "changed")
        assert await parts(here.kube, changed)
        await here.patch(AccessRequest, "changed", {"spec": {"token": None, "oidc": login}})
        await here.standing("changed", "OIDCUnsupported", kind=AccessRequest)
        assert await secret(here, "changed") is None
        assert await parts(here.kube, changed) == []
        for name in ("login", "changed"):
            await here.delete(AccessRequest, name)
            await here.gone(AccessRequest, name)

"""Local clusters and identity providers: real issuers, real tokens, and no restart of an API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from local_kit import API_SERVER, Yard, a_yard, local_config
from oidc_kit import Authority, identity_provider, issuer, refused, settled, told, who

from mooring.controlplane.landscape import Landscape
from mooring.providers.local.config import Oidc
from mooring.runtime import TryAgain
from mooring.testing.managers import until

# An API server takes ten seconds for each change of whom it trusts, and a minute to give one up.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
async def yard(landscape: Landscape) -> AsyncIterator[Yard]:
    async with a_yard(landscape) as yard:
        yield yard


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


async def a_cluster(yard: Yard, authority: Authority):
    """Running, and ready to trust those whom the authority vouches for."""
    order = yard.order(config=local_config(oidc=Oidc(certificate_authority=authority.pem)))
    await yard.until_ready(order)
    return order, await yard.provider.admin_access(order)


async def accepted(cluster, token):
    async def is_accepted():
        return await who(cluster, token)

    return await until(is_accepted, "the token is accepted", patience=200.0)


async def test_users_are_let_in_while_their_issuer_is_trusted(yard: Yard, authority, tmp_path: Path) -> None:
    order, cluster = await a_cluster(yard, authority)
    pid = yard.pid(order, API_SERVER)
    async with identity_provider(authority, tmp_path) as corp, identity_provider(authority, tmp_path) as lab:
        token, other = corp.token("alice", "dev"), lab.token("bob", "dev", email="bob@lab.example")
        assert await who(cluster, token) is None

        # Whoever is stopped in the middle of it is followed by somebody who finishes it.
        corporate, file = issuer(corp, "corp"), yard.plane(order).directory / "authentication.json"
        begun = asyncio.create_task(told(yard.provider, order, [corporate]))
        await until(lambda: corp.url.encode() in file.read_bytes(), "the issuer is written down")
        begun.cancel()
        await asyncio.wait([begun])
        await yard.start_over()
        await yard.until_ready(order)
        await settled(yard.provider, order, [corporate])
        alice = await accepted(cluster, token)
        assert alice.name == "corp:alice"
        assert set(alice.groups) == {"corp:dev", "system:authenticated"}
        assert await who(cluster, other) is None
        assert await who(cluster, corp.token("alice", audience="another")) is None
        assert await who(cluster, f"{token[:-8]}AAAAAAAA") is None

        # A second one, by other claims and without prefixes: what it says is taken as it is, but for Kubernetes' own.
        bare = issuer(lab, "lab", username_claim="email", username_prefix="", groups_prefix="")
        await settled(yard.provider, order, [corporate, bare])
        bob = await accepted(cluster, other)
        assert bob.name == "bob@lab.example"
        assert set(bob.groups) == {"dev", "system:authenticated"}
        assert await who(cluster, lab.token("eve", "system:masters", email="eve@lab.example")) is None
        assert await who(cluster, lab.token("eve", email="system:admin")) is None
        assert await who(cluster, lab.token("eve", "mooring:controllers", email="eve@lab.example")) is None
        assert await who(cluster, lab.token("eve", email="mooring:provider-local")) is None
        assert (await accepted(cluster, token)).name == "corp:alice"

        # The order does not count, and asking again changes nothing.
        before = file.stat()
        assert await told(yard.provider, order, [bare, corporate]) == {}
        assert (file.stat().st_ino, file.stat().st_mode & 0o777) == (before.st_ino, 0o600)

        await settled(yard.provider, order, [bare])
        await refused(cluster, token)
        assert await who(cluster, other) == bob
        await settled(yard.provider, order, [])
        await refused(cluster, other)
    assert yard.pid(order, API_SERVER) == pid


async def test_one_goes_while_another_is_down(yard: Yard, authority, tmp_path: Path) -> None:
    order, cluster = await a_cluster(yard, authority)
    async with identity_provider(authority, tmp_path) as corp, identity_provider(authority, tmp_path) as lab:
        issuers = [issuer(corp, "corp"), issuer(lab, "lab")]
        await settled(yard.provider, order, issuers)
        mine, other = corp.token("alice"), lab.token("bob")
        await accepted(cluster, mine)
        await accepted(cluster, other)

        corp.down = True
        troubles = await told(yard.provider, order, issuers[:1])
        assert "answers 503" in troubles["corp"]
        await refused(cluster, other)

        # It comes back when it answers again.
        assert "corp" in await told(yard.provider, order, issuers[:1])
        corp.down = False
        await settled(yard.provider, order, issuers[:1])
        assert (await accepted(cluster, mine)).name == "corp:alice"
        assert await who(cluster, other) is None

        # An API server that is started while an issuer is down starts, and knows it as soon as it answers.
        corp.down = True
        killed = await yard.kill(order, API_SERVER)
        await yard.until_another(order, API_SERVER, than=killed)
        await yard.until_ready(order)
        cluster = await yard.provider.admin_access(order)
        assert await told(yard.provider, order, issuers[:1]) == {}
        corp.down = False
        assert (await accepted(cluster, mine)).name == "corp:alice"


async def test_one_goes_although_another_answers_only_us(yard: Yard, authority, tmp_path: Path) -> None:
    """It would keep the API server from taking any file that names it."""
    order, cluster = await a_cluster(yard, authority)
    async with identity_provider(authority, tmp_path) as corp, identity_provider(authority, tmp_path) as lab:
        issuers = [issuer(corp, "corp"), issuer(lab, "lab")]
        await settled(yard.provider, order, issuers)
        token = lab.token("bob")
        await accepted(cluster, token)
        corp.shy = True

        async def is_taken_back():
            with contextlib.suppress(TryAgain):
                await yard.provider.oidc(order, issuers[:1])
            return await who(cluster, token) is None

        await until(is_taken_back, "the token is refused", patience=250.0)


async def test_who_does_not_answer_is_not_trusted_and_told_why(yard: Yard, authority, tmp_path: Path) -> None:
    order, cluster = await a_cluster(yard, authority)
    file = yard.plane(order).directory / "authentication.json"
    before = file.read_bytes()
    async with identity_provider(authority, tmp_path, down=True) as corp:
        wrong = {
            "plain": issuer(corp, "plain", url=corp.url.replace("https", "http")),
            "asking": issuer(corp, "asking", url=f"{corp.url}/?realm=one"),
            "itself": issuer(corp, "itself", url=yard.plane(order).issuer),
            "nobody": issuer(corp, "nobody", url="https://127.0.0.1:1"),
            "corp": issuer(corp, "corp"),
        }
        troubles = await told(yard.provider, order, list(wrong.values()))
        assert set(troubles) == set(wrong)
        assert troubles["plain"] == "It must be an https address."
        assert "query" in troubles["asking"]
        assert "service accounts" in troubles["itself"]
        assert "cannot be reached" in troubles["nobody"]

        corp.down, corp.told = False, "https://somebody.example"
        assert "says that its issuer is https://somebody.example" in await _why(yard, order, corp)
        corp.told, corp.redirects = None, f"http://127.0.0.1:{corp.port}/keys"
        assert "not an https address" in await _why(yard, order, corp)
        corp.redirects = f"{corp.url}/nowhere"
        assert "answers 404" in await _why(yard, order, corp)
        corp.redirects = f"{corp.url}/.well-known/openid-configuration"
        assert "set of keys" in await _why(yard, order, corp)
        corp.redirects = ""

        # Somebody whose certificate nobody vouches for, and a configuration that names no certificate.
        bare = yard.order(uid=order.uid)
        assert "spec.oidc.certificateAuthority" in await _why(yard, bare, corp)
        spoiled = yard.order(uid=order.uid, config=local_config(oidc=Oidc(certificate_authority="nonsense")))
        assert "PEM" in await _why(yard, spoiled, corp)
        assert file.read_bytes() == before

        await settled(yard.provider, order, [issuer(corp, "corp")])
        assert (await accepted(cluster, corp.token("alice"))).name == "corp:alice"
        # What somebody else has written there counts for nothing.
        file.write_bytes(file.read_bytes().replace(b'"corp:"', b'"other:"'))
        await settled(yard.provider, order, [])
        assert file.read_bytes() == before
        await refused(cluster, corp.token("alice"))


async def test_a_cluster_that_was_never_started_trusts_nobody(yard: Yard) -> None:
    assert await yard.provider.oidc(yard.order(), []) == {}


async def _why(yard, order, corp):
    return (await told(yard.provider, order, [issuer(corp, "corp")]))["corp"]

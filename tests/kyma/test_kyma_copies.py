"""Where the kubeconfig is put: in the status or in a Secret, never in both, and never over something of another's."""

from __future__ import annotations

import base64

import pytest
from kyma_kit import Ahead, World, condition, works

from mooring.api.access import AccessRequest
from mooring.api.kyma import KubeconfigRequest
from mooring.kube import MergePatch
from mooring.runtime.recorder import EVENTS
from mooring.testing.builders import SECRETS
from mooring.testing.managers import until


def a_secret(name, namespace, **data):
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}}
    return {**body, "stringData": data}


async def holds(world, name, key="kubeconfig", *, other_than=""):
    """What the Secret holds, once it holds something other than this under its one key."""

    async def is_there():
        data = (await world.secret(name) or {}).get("data") or {}
        return data[key] if list(data) == [key] and data[key] != other_than else None

    return await until(is_there, f"the Secret {name} holds a kubeconfig")


async def is_no_more(world, name):
    async def is_gone():
        return await world.secret(name) is None

    await until(is_gone, f"there is no Secret {name}")


async def test_in_a_secret_it_is_kept_out_of_the_status(world: World) -> None:
    async with world.everybody():
        request = await world.ask(secretRef={"name": "copy"})
        issued = await world.issued()
        assert issued.status.kubeconfig == ""
        assert issued.status.expiration_timestamp
        secret = await world.secret("copy")
        await works(await holds(world, "copy"))
        (owner,) = secret["metadata"]["ownerReferences"]
        assert owner["uid"] == request.metadata.uid
        await world.say(rotate="true")
        await works(await holds(world, "copy", other_than=secret["data"]["kubeconfig"]))
        await world.say(revoke="true")
        await world.standing("Revoked")
        await is_no_more(world, "copy")
        await world.say(revoke="false")
        await world.issued()
        await works(await holds(world, "copy"))


async def test_it_moves_when_it_is_wanted_elsewhere(world: World) -> None:
    async with world.everybody():
        await world.ask()
        first = (await world.issued()).status.kubeconfig
        await world.change(secretRef={"name": "copy"})
        assert (await world.issued()).status.kubeconfig == ""
        assert await holds(world, "copy") == first
        await world.change(secretRef={"name": "copy", "key": "config"})
        await world.issued()
        assert await holds(world, "copy", "config") == first
        await world.change(secretRef={"name": "other"})
        await world.issued()
        assert await holds(world, "other", "config") == first
        await is_no_more(world, "copy")
        await world.change(secretRef=None)
        assert (await world.issued()).status.kubeconfig == first
        await is_no_more(world, "other")


async def test_a_secret_of_another_is_not_touched(world: World) -> None:
    await world.kube.create(SECRETS, a_secret("theirs", world.namespace, kubeconfig="precious"))
    async with world.everybody():
        await world.ask(secretRef={"name": "theirs"})
        taken = await world.standing("NameIsTaken")
        assert "there is a Secret theirs" in condition(taken).message
        assert (taken.status.kubeconfig, taken.status.expiration_timestamp) == ("", "")
        there = await world.secret("theirs")
        assert base64.b64decode(there["data"]["kubeconfig"]) == b"precious"
        assert "ownerReferences" not in there["metadata"]
        await world.kube.delete(SECRETS, "theirs", namespace=world.namespace)
        await world.issued()
        await works(await holds(world, "theirs"))


async def test_an_access_request_of_another_is_not_touched(world: World) -> None:
    spec = {"clusterRef": {"name": "one", "namespace": world.namespace}, "token": {}}
    theirs = await world.create(AccessRequest, "kyma-mine", spec=spec)
    async with world.everybody():
        await world.ask()
        taken = await world.standing("NameIsTaken")
        assert "There is an AccessRequest kyma-mine" in condition(taken).message
        there = await world.access()
        assert (there.metadata.uid, there.spec.token.permissions) == (theirs.metadata.uid, ())
        await world.delete(AccessRequest, "kyma-mine")
        await world.issued()


async def test_what_a_hand_changes_is_set_right(world: World) -> None:
    async with world.everybody():
        await world.ask(secretRef={"name": "copy"})
        await world.issued()
        right = await holds(world, "copy")
        await world.kube.patch(
            SECRETS, "copy", MergePatch({"data": {"kubeconfig": "AAAA", "more": "AAAA"}}), namespace=world.namespace
        )
        assert await holds(world, "copy", other_than="AAAA") == right
        await world.kube.patch(SECRETS, "copy", MergePatch({"immutable": True}), namespace=world.namespace)
        await world.say(rotate="true")
        await works(await holds(world, "copy", other_than=right))
        await world.kube.delete(SECRETS, "copy", namespace=world.namespace)
        await works(await holds(world, "copy"))
        # A status that somebody took away is written again.
        await world.change(secretRef=None)
        await world.issued()
        await world.patch(KubeconfigRequest, "mine", {"status": None}, subresource="status")
        assert (await world.issued()).status.kubeconfig


async def test_only_what_belongs_to_the_access_request_is_shown(world: World) -> None:
    """Whoever may write the status of an AccessRequest may not thereby read other Secrets."""
    await world.kube.create(SECRETS, a_secret("precious", world.namespace, kubeconfig="precious"))
    async with world.face():
        await world.ask()
        access = await world.becomes(lambda _: True, "is asked", name="kyma-mine", kind=AccessRequest)
        status = {
            "observedGeneration": access.metadata.generation,
            "phase": "Granted",
            "secretRef": {"name": "precious"},
        }
        await world.patch(AccessRequest, "kyma-mine", {"status": status}, subresource="status")
        shown = await world.standing("KubeconfigMissing")
        assert shown.status.kubeconfig == ""


@pytest.mark.parametrize("place", [None, {"name": "copy"}], ids=["status", "secret"])
async def test_renewals_are_followed(world: World, place) -> None:
    async with world.face():
        async with world.granting():
            await world.ask(expiration=3600, secretRef=place)
            first = await world.issued()
            before = await holds(world, "copy") if place else first.status.kubeconfig
        async with world.granting(Ahead(3500)):

            def is_later(one):
                return one.status.expiration_timestamp > first.status.expiration_timestamp

            second = await world.becomes(is_later, "works longer")
            after = await holds(world, "copy", other_than=before) if place else second.status.kubeconfig
            assert after != before
            await works(after)


async def test_one_that_nobody_renews_is_told_to_be_over(world: World) -> None:
    async with world.granting(), world.face():
        await world.ask(expiration=3600)
        await world.issued()
    async with world.face(Ahead(4000)):
        await world.standing("Expired")


async def test_a_kubeconfig_shows_nowhere_else(world: World, caplog, capsys) -> None:
    async with world.everybody():
        await world.ask()
        issued = await world.issued()
        encoded = issued.status.kubeconfig
        token = base64.b64decode(encoded).decode().split("token:")[1].split()[0]
        assert len(token) > 100
        await world.say(rotate="true")
        await world.issued(other_than=encoded)
        await world.say(revoke="true")
        await world.standing("Revoked")

        async def are_told():
            events = (await world.kube.list(EVENTS, namespace=world.namespace)).items
            mine = [one for one in events if one["regarding"].get("uid") == issued.metadata.uid]
            return mine if {"Issued", "Rotating", "Revoked"} <= {one["reason"] for one in mine} else None

        told = str(await until(are_told, "all that happened is told"))
    written = capsys.readouterr()
    for text in (told, caplog.text, written.out, written.err, repr(issued), str(issued)):
        assert encoded[:60] not in text
        assert token not in text

"""KubeconfigRequests end to end: a kubeconfig that can do what was asked for, rotated, revoked, and gone in the end."""

from __future__ import annotations

import base64
import datetime

from kyma_kit import PODS, READ_PODS, World, condition, is_ready, may, refused, works

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.kyma import KubeconfigRequest
from mooring.kube import typed
from mooring.testing.builders import NAMESPACES, SECRETS, namespace_object
from mooring.testing.managers import until

TIMES = ("creationTimestamp", "expirationTimestamp")


async def test_a_kubeconfig_can_do_just_what_was_asked_for(world: World) -> None:
    async with world.everybody():
        role = {"namespace": world.namespace, "rules": [{**READ_PODS, "resources": ["configmaps"]}]}
        await world.ask(clusterRole={"rules": [READ_PODS]}, role=role, expiration=3600)
        issued = await world.issued()
        way = await works(issued.status.kubeconfig)
        assert await may(way, SECRETS, namespace=world.namespace) is False
        access = await world.access()
        assert [one.namespace for one in access.spec.token.permissions] == ["", world.namespace]
        assert (access.spec.token.lifetime, access.spec.cluster_ref.name) == ("3600s", "one")
        (owner,) = access.metadata.owner_references
        assert (owner.uid, owner.controller, owner.block_owner_deletion) == (issued.metadata.uid, True, True)
        assert condition(issued, "Stalled") is None


async def test_its_end_is_told(world: World) -> None:
    async with world.everybody():
        await world.ask("hour", expiration=3600)
        await world.ask("usual")
        await world.ask("short", expiration=300)
        for name, seconds in (("hour", 3600), ("usual", 3600), ("short", 300)):
            await world.issued(name)
            assert (await world.access(name)).spec.token.lifetime == f"{seconds}s"

            async def is_told(name=name, seconds=seconds):
                """Read in one go, or renewed in between."""
                secret = await world.secret(f"kyma-{name}.kubeconfig")
                told = datetime.datetime.fromisoformat((await world.issued(name)).status.expiration_timestamp)
                begun, ends = (int(base64.b64decode(secret["data"][key])) for key in TIMES)
                return (ends - begun, told.timestamp()) == (seconds, ends)

            await until(is_told, "the status tells when the token ends")


async def test_what_is_asked_for_may_change(world: World) -> None:
    async with world.everybody():
        await world.ask()
        way = await works((await world.issued()).status.kubeconfig)
        await world.change(clusterRole={"rules": [{**READ_PODS, "resources": ["configmaps"]}]})
        await world.issued()

        async def is_other():
            return await may(way, PODS) is False

        await until(is_other, "the kubeconfig that was given out can no longer list pods")


async def test_rotated_there_is_another_one(world: World) -> None:
    async with world.everybody():
        await world.ask(annotations={"operator.kyma-project.io/rotate": "false"})
        first = await world.issued()
        await world.say(rotate="true")
        second = await world.issued(other_than=first.status.kubeconfig)
        assert second.metadata.annotations["operator.kyma-project.io/rotate"] == "false"
        await works(second.status.kubeconfig)
        # Said again at once it is done again, also while the first is just being finished.
        await world.say(rotate="true")
        third = await world.issued(other_than=second.status.kubeconfig)
        assert third.status.kubeconfig != first.status.kubeconfig

        def is_done(one):
            return "openmcp.cloud/operation" not in one.metadata.annotations

        await world.becomes(is_done, "asks for nothing more", name="kyma-mine", kind=AccessRequest)


async def test_revoked_it_is_dead_and_restored_there_is_another_one(world: World) -> None:
    async with world.everybody():
        await world.ask()
        await world.ask("sibling")
        first, sibling = await world.issued(), await world.issued("sibling")
        way = await works(first.status.kubeconfig)
        await world.say(revoke="true")
        revoked = await world.standing("Revoked")
        assert (revoked.status.kubeconfig, revoked.status.expiration_timestamp) == ("", "")
        assert await world.parts(await world.access()) == {}
        await refused(way)
        await works(sibling.status.kubeconfig)
        # It stays so, also when something else changes.
        await world.change(expiration=7200)
        revoked = await world.standing("Revoked")
        assert not is_ready(revoked)
        await world.say(revoke="false")
        second = await world.issued()
        assert second.status.kubeconfig != first.status.kubeconfig
        await works(second.status.kubeconfig)


async def test_what_the_platforms_owner_revokes_stays_revoked(world: World) -> None:
    async with world.everybody():
        await world.ask()
        await world.issued()
        revoke = {"metadata": {"annotations": {"openmcp.cloud/operation": "revoke"}}}
        await world.patch(AccessRequest, "kyma-mine", revoke)
        revoked = await world.standing("Revoked")
        assert revoked.status.kubeconfig == ""
        assert condition(revoked, "Stalled") is not None
        await world.say(rotate="true", revoke="false")

        def is_heard(one):
            return one.metadata.annotations["operator.kyma-project.io/rotate"] == "false"

        await world.becomes(is_heard, "has been heard")
        assert (await world.access()).metadata.annotations["openmcp.cloud/operation"] == "revoke"


async def test_deleted_nothing_is_left(world: World) -> None:
    async with world.everybody():
        await world.ask(secretRef={"name": "copy"})
        await world.issued()
        access = await world.access()
        way = await works((await world.secret("copy"))["data"]["kubeconfig"])
        assert await world.parts(access)
        await world.delete(KubeconfigRequest, "mine")
        await world.gone(AccessRequest, "kyma-mine")
        assert await world.parts(access) == {}

        async def is_clean():
            return await world.secret("copy") is None and await world.secret("kyma-mine.kubeconfig") is None

        await until(is_clean, "the Secrets are gone")
        await refused(way)
        # A new one of the same name begins anew.
        again = await world.ask()
        await world.issued()
        assert (await world.access()).metadata.owner_references[0].uid == again.metadata.uid


async def test_deleted_in_the_foreground_it_goes_as_well(world: World) -> None:
    async with world.everybody():
        await world.ask()
        await world.issued()
        access = await world.access()
        resource = typed(KubeconfigRequest)
        await world.kube.delete(resource, "mine", namespace=world.namespace, propagation="Foreground")
        await world.gone(KubeconfigRequest, "mine")
        await world.gone(AccessRequest, "kyma-mine")
        assert await world.parts(access) == {}


async def test_a_cluster_of_another_namespace_is_not_entered(world: World) -> None:
    other = f"{world.namespace}-other"
    await world.kube.create(NAMESPACES, namespace_object(other))
    await world.cluster("far", namespace=other)
    async with world.everybody():
        await world.ask("near", cluster=f"{world.namespace}/one")
        await world.ask(cluster=f"{other}/far")
        denied = await world.standing("ForeignNamespace")
        assert denied.status.kubeconfig == ""
        assert condition(denied, "Stalled").reason == "ForeignNamespace"
        assert "is in another namespace" in condition(denied).message
        await world.issued("near")


async def test_it_waits_for_its_cluster(world: World) -> None:
    async with world.everybody():
        await world.ask(cluster="two")
        waiting = await world.standing("ClusterMissing")
        assert condition(waiting, "Stalled") is None
        await world.cluster("two")
        await world.issued()
        await world.delete(Cluster, "two")


async def test_what_a_hand_takes_away_comes_back(world: World) -> None:
    async with world.everybody():
        await world.ask()
        first = await world.issued()
        access = await world.access()
        await world.delete(AccessRequest, "kyma-mine")
        second = await world.issued(other_than=first.status.kubeconfig)
        assert (await world.access()).metadata.uid != access.metadata.uid
        await works(second.status.kubeconfig)

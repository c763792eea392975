"""Clusters that are brought along, from their kubeconfig to Ready and back; on real servers on both sides."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

import pytest
from external_kit import a_door, external, standing_of
from local_kit import API_SERVER, CONTROLLER_MANAGER, newer_than, relabelled
from provider_kit import condition, is_ready

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import KUBERNETES_VERSION_LABEL
from mooring.controlplane.plane import Executables
from mooring.kube import Client, ObjectKey, connection_from_document
from mooring.providers.external import ExternalConfig, ExternalProvider
from mooring.providers.external.probing import NEEDS
from mooring.providers.external.watches import Watches
from mooring.providers.sdk import Refused, rights_of
from mooring.testing.builders import NAMESPACES, SECRETS
from mooring.testing.managers import until

PROFILE = "test.external.theirs"
RULES = [{"apiGroups": [need.group], "resources": [need.resource], "verbs": list(need.verbs)} for need in NEEDS]


async def running(client):
    return (await client.version()).removeprefix("v")


async def test_a_cluster_is_adopted_and_left_as_it_was(dock, control_plane):
    document = control_plane.admin_kubeconfig(name="theirs")
    async with Client(connection_from_document(document)) as client:

        async def is_complete():
            names = {one["metadata"]["name"] for one in (await client.list(NAMESPACES)).items}
            return {"default", "kube-system", "kube-public", "kube-node-lease"} <= names

        await until(is_complete, "the cluster has its own namespaces")
        before = await standing_of(client)
        async with external(dock.connection):
            await dock.secret("theirs", document)
            await dock.config_for("theirs", "theirs", traits=[{"trait": "example.com/brought"}])
            profile = await dock.exists(ClusterProfile, PROFILE)
            assert [one.version for one in profile.spec.supported_versions] == [await running(client)]
            assert [one.key for one in profile.spec.supported_traits] == ["example.com/brought"]
            assert profile.spec.max_clusters == 1
            await dock.cluster(profile=PROFILE)
            cluster = await dock.ready()
            assert cluster.metadata.labels[KUBERNETES_VERSION_LABEL] == await running(client)
            assert cluster.status.api_server == control_plane.server
            assert [one.url for one in cluster.status.endpoints] == [control_plane.server]
            kube_system = await client.get(NAMESPACES, "kube-system")
            assert await dock.claims() == {"one": kube_system["metadata"]["uid"]}
            await dock.delete(Cluster, "one")
            await dock.gone(Cluster, "one")
            assert await dock.claims() == {}
            await dock.delete(ExternalConfig, "theirs")
            await dock.gone(ExternalConfig, "theirs")
        assert await standing_of(client) == before
    assert await dock.kube.get(SECRETS, "theirs", namespace=dock.namespace), "it is its owner's"


async def test_a_family_takes_clusters_with_kubeconfigs_of_their_own(dock, harbour, other_harbour):
    async with external(dock.connection):
        await dock.config_for("family")
        profile = await dock.exists(ClusterProfile, "test.external.family")
        assert (profile.spec.supported_versions, profile.spec.max_clusters) == ((), 0)
        for name, where in (("one", harbour), ("two", other_harbour)):
            await dock.secret(name, await where.kubeconfig())
            await dock.member(name, name)
        await dock.ready("one")
        await dock.ready("two")
        assert await dock.claims() == {"one": await harbour.identity(), "two": await other_harbour.identity()}


async def test_exactly_one_place_must_name_the_kubeconfig(dock, harbour):
    await dock.secret("theirs", await harbour.kubeconfig())
    async with external(dock.connection):
        await dock.config_for("family")
        await dock.config_for("theirs", "theirs")
        await dock.own_config("a", "theirs")
        await dock.own_config("b", "theirs")
        await dock.exists(ClusterProfile, PROFILE)
        await dock.exists(ClusterProfile, "test.external.family")
        await dock.cluster("neither", profile="test.external.family")
        told = condition(await dock.standing("neither", "NoKubeconfig")).message
        assert "spec.clusterConfigs" in told
        assert "ExternalConfig family" in told
        await dock.cluster("both", profile=PROFILE, clusterConfigs=[{"name": "a"}])
        assert "named twice" in condition(await dock.standing("both", "AmbiguousKubeconfig")).message
        await dock.cluster("many", profile="test.external.family", clusterConfigs=[{"name": "a"}, {"name": "b"}])
        assert "leave one" in condition(await dock.standing("many", "AmbiguousKubeconfig")).message
        assert await dock.claims() == {}
        await dock.patch(Cluster, "neither", {"spec": {"clusterConfigs": [{"name": "a"}]}})
        await dock.ready("neither")


async def test_a_missing_secret_is_told_and_waited_for(dock, harbour):
    async with external(dock.connection):
        await dock.config_for("theirs", "later")
        config = await dock.standing("theirs", "SecretMissing", kind=ExternalConfig)
        told = condition(config).message
        assert f"There is no Secret {dock.namespace}/later" in told
        assert "spec.kubeconfigSecretRef of the ExternalConfig theirs" in told
        await dock.config_for("family")
        await dock.member("one", "later")
        cluster = await dock.standing("one", "SecretMissing")
        assert condition(cluster, "Stalled").status == "True"
        await dock.secret("later", await harbour.kubeconfig(), key="elsewhere")
        assert "key kubeconfig" in condition(await dock.standing("one", "KeyMissing")).message
        await dock.secret("later", await harbour.kubeconfig())
        await dock.ready("one")
        await dock.standing("theirs", "Published", kind=ExternalConfig)
        await dock.kube.delete(SECRETS, "later", namespace=dock.namespace)
        gone = await dock.standing("one", "SecretMissing")
        assert gone.status.api_server == harbour.connection.server, "what was known stays known"
        await dock.delete(Cluster, "one")
        await dock.gone(Cluster, "one")
        assert await dock.claims() == {}


async def test_a_new_credential_takes_the_place_of_one_that_ended(dock, harbour):
    account = await harbour.account()
    token = await harbour.token(account)
    await dock.secret("theirs", harbour.kubeconfig_of(token))
    async with external(dock.connection):
        await dock.config_for("family")
        await dock.member("one", "theirs")
        await dock.ready()
        await harbour.revoke(account, token)
        await dock.look_now("one")
        refused = await dock.standing("one", "CredentialRefused")
        assert f"the key kubeconfig of the Secret {dock.namespace}/theirs" in condition(refused).message
        assert refused.metadata.labels[KUBERNETES_VERSION_LABEL] == await running(harbour.client)
        await dock.secret("theirs", await harbour.kubeconfig())
        await dock.ready()


async def test_a_cluster_that_is_away_says_so_and_comes_back(dock, harbour):
    async with a_door(harbour.connection.server) as door, external(dock.connection):
        await dock.secret("theirs", await harbour.kubeconfig(server=door.server))
        await dock.config_for("family")
        await dock.member("one", "theirs")
        before = await dock.ready()
        assert before.status.api_server == door.server
        await door.shut()
        await dock.look_now("one")
        away = await dock.standing("one", "Unreachable")
        told = condition(away).message
        assert f"{door.server} cannot be reached" in told
        assert "127.0.0.1 means the machine that the provider runs on" in told
        assert away.status.api_server == door.server
        assert away.metadata.labels == before.metadata.labels
        await door.open()
        await dock.ready()
        await door.shut()
        await dock.delete(Cluster, "one")
        await dock.gone(Cluster, "one")
        assert await dock.claims() == {}


async def test_a_credential_that_may_do_too_little_is_told_what_it_lacks(dock, harbour):
    account = await harbour.account([{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get", "list"]}])
    await dock.secret("theirs", harbour.kubeconfig_of(await harbour.token(account)))
    async with external(dock.connection):
        await dock.config_for("family")
        await dock.member("one", "theirs")
        told = condition(await dock.standing("one", "CredentialTooWeak")).message
        assert "create, delete secrets;" in told
        assert "get, create namespaces" in told
        assert "bind, escalate clusterroles.rbac.authorization.k8s.io" in told
        assert "create serviceaccounts/token" in told
        assert await dock.claims() == {}, "who can do nothing with a cluster keeps nobody else from it"
        await harbour.grant(account, RULES)
        await dock.ready()


async def test_the_version_that_runs_is_the_one_that_is_had(dock, harbour):
    await dock.secret("theirs", await harbour.kubeconfig())
    version = await running(harbour.client)
    async with external(dock.connection):
        await dock.config_for("family")
        await dock.member("one", "theirs", kubernetes={"version": "1.5"})
        cluster = await dock.standing("one", "VersionDiffers")
        assert f"runs Kubernetes {version}" in condition(cluster).message
        assert "spec.kubernetes.version is 1.5" in condition(cluster).message
        assert cluster.metadata.labels[KUBERNETES_VERSION_LABEL] == version
        await dock.patch(Cluster, "one", {"spec": {"kubernetes": {"version": "newest"}}})
        stalled = await dock.becomes(Cluster, "one", lambda one: condition(one, "Stalled"), "is stalled")
        assert "'newest' is not a version" in condition(stalled).message
        await dock.patch(Cluster, "one", {"spec": {"kubernetes": {"version": version.rpartition(".")[0]}}})
        await dock.ready()
        await dock.delete(Cluster, "one")
        await dock.gone(Cluster, "one")
        await dock.config_for("theirs", "theirs")
        await dock.exists(ClusterProfile, PROFILE)
        await dock.cluster("two", profile=PROFILE, kubernetes={"version": "1.5.0"})
        assert version in condition(await dock.standing("two", "UnsupportedVersion")).message


async def test_an_upgrade_by_its_owner_is_followed(dock, landscape, control_plane, tmp_path):
    """The newer version is a relabelled build of the same code."""
    await dock.secret("theirs", control_plane.admin_kubeconfig(name="theirs"))
    async with external(dock.connection):
        await dock.config_for("theirs", "theirs")
        await dock.exists(ClusterProfile, PROFILE)
        await dock.cluster(profile=PROFILE)
        version = (await dock.ready()).metadata.labels[KUBERNETES_VERSION_LABEL]
        newer = newer_than(version)
        programs = await asyncio.to_thread(relabelled, landscape, newer, tmp_path / "newer")
        await control_plane.stop()
        control_plane.executables = Executables(programs / API_SERVER, programs / CONTROLLER_MANAGER)
        await control_plane.start()
        # Its port may be another one now.
        await dock.secret("theirs", control_plane.admin_kubeconfig(name="theirs"))
        await dock.becomes(Cluster, "one", lambda one: is_ready(one) and runs(one) == newer, f"is ready with {newer}")
        await dock.becomes(
            ClusterProfile, PROFILE, lambda one: one.spec.supported_versions[0].version == newer, f"offers {newer}"
        )
        await dock.patch(Cluster, "one", {"spec": {"kubernetes": {"version": version}}})
        assert newer in condition(await dock.standing("one", "UnsupportedVersion")).message


def runs(cluster):
    return cluster.metadata.labels[KUBERNETES_VERSION_LABEL]


async def test_a_kubeconfig_that_leads_elsewhere_is_not_followed(dock, harbour, other_harbour):
    first = await harbour.kubeconfig()
    await dock.secret("theirs", first)
    provider = ExternalProvider()
    async with external(dock.connection, provider=provider):
        await dock.config_for("family")
        await dock.member("one", "theirs")
        await dock.ready()
        await dock.secret("theirs", await other_harbour.kubeconfig())
        cluster = await dock.standing("one", "AnotherCluster")
        assert "make a new Cluster" in condition(cluster).message
        assert cluster.status.api_server == harbour.connection.server
        assert await dock.claims() == {"one": await harbour.identity()}
        await dock.secret("theirs", first)
        await dock.ready()


async def test_an_instance_lives_with_its_rights(dock, harbour, other_harbour):
    connection = connection_from_document(await other_harbour.kubeconfig(rights_of(ExternalProvider)))
    async with external(connection):
        await dock.config_for("theirs", "theirs")
        await dock.standing("theirs", "SecretMissing", kind=ExternalConfig)
        await dock.secret("theirs", await harbour.kubeconfig())
        await dock.exists(ClusterProfile, PROFILE)
        await dock.cluster(profile=PROFILE)
        await dock.ready()
        await dock.delete(Cluster, "one")
        await dock.gone(Cluster, "one")
        assert await dock.claims() == {}
    verbs = {verb for rule in ExternalProvider.rights if "secrets" in rule["resources"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}, "a kubeconfig is read, and never written"


async def test_only_secrets_that_somebody_refers_to_are_watched(dock):
    watches, woken = Watches(), []
    one, two = (ObjectKey(dock.namespace, name) for name in ("one", "two"))
    config, secret = ObjectKey("", "config"), ObjectKey(dock.namespace, "shared")
    async with until_done(watches.run(dock.kube, woken.append)):
        for user in (one, two, config):
            watches.use(user, secret)
            watches.read(user, "")
        await until(lambda: watches.watched == {secret}, "one watch serves all three")
        await dock.secret("shared", "new")
        await until(lambda: {one, two, config} <= set(woken), "all three have heard of it")
        watches.use(two, ObjectKey(dock.namespace, "another"))
        await until(lambda: len(watches.watched) == 2, "each has its own")
        watches.forget(one)
        assert secret in watches.watched
        watches.forget(config)
        watches.forget(two)
        assert watches.watched == set()


@contextlib.asynccontextmanager
async def until_done(work):
    """A coroutine at work for the time of a block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_way_in_is_the_owners_own(dock, harbour, other_harbour):
    provider = Remembering()
    document = await harbour.kubeconfig()
    await dock.secret("theirs", document)
    async with external(dock.connection, provider=provider):
        await dock.config_for("family")
        await dock.member("one", "theirs")
        await dock.ready()
        connection = await provider.admin_access(provider.orders["one"])
        async with Client(connection) as client:
            await client.get(NAMESPACES, "kube-system")
        identity = await connection.credentials.identity()
        assert identity.authorization == f"Bearer {document['users'][0]['user']['token']}"
        await dock.secret("theirs", await other_harbour.kubeconfig())
        with pytest.raises(Refused) as elsewhere:
            await provider.admin_access(provider.orders["one"])
        assert elsewhere.value.reason == "AnotherCluster"
        await dock.secret("theirs", document)
        with pytest.raises(Refused) as nothing:
            await provider.admin_access(replace(provider.orders["one"], uid="another"))
        assert nothing.value.reason == "NotAdopted"


class Remembering(ExternalProvider):
    def __init__(self):
        super().__init__()
        self.orders = {}

    async def ensure(self, order):
        self.orders[order.key.name] = order
        return await super().ensure(order)

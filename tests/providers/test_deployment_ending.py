"""Providers that go: nothing of them is left, and none goes while a cluster still needs it. What they offer is told."""

from __future__ import annotations

import pytest
from deployment_kit import (
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    CLUSTERS,
    DEPLOYMENTS,
    IDLE,
    INIT,
    PROFILES,
    PROVIDERS,
    ROLES,
    SERVICES,
    Fails,
    controllers_beside,
    new_site,
)

from mooring.api.conditions import found
from mooring.kube import MergePatch
from mooring.kube.connection import Impersonation
from mooring.providers.deployment.controllers import HOME_RIGHTS, RIGHTS
from mooring.providers.deployment.pods import LEASES
from mooring.testing.builders import cluster, cluster_profile
from mooring.testing.managers import until

RULES = {"run": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}


@pytest.fixture(scope="module")
def beside(own_plane, tmp_path_factory):
    with controllers_beside(own_plane, tmp_path_factory.mktemp("beside")):
        yield


@pytest.fixture
async def site(own_kube, beside):
    async with new_site(own_kube) as site:
        yield site


async def assert_nothing_is_left(site, name):
    await site.gone(PROVIDERS, name)
    assert await site.everything(name) == {}
    assert await site.get(LEASES, f"cluster-provider-{name}") is None


def container_of(thing):
    return thing["spec"]["template"]["spec"]["containers"][0]


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rights", [None, RULES])
async def test_nothing_is_left_of_a_provider(site, rights):
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "cluster-provider-one"}}
    async with site.deploying():
        await site.provider("one", rights=rights, runReplicas=2)
        await site.provider("two")
        await site.ready("one")
        await site.ready("two")
        await site.kube.create(LEASES, lease, namespace=site.home.namespace)
        others = {what: one["metadata"]["uid"] for what, one in (await site.everything("two")).items()}
        await site.delete(PROVIDERS, "one")
        await assert_nothing_is_left(site, "one")
        assert {what: one["metadata"]["uid"] for what, one in (await site.everything("two")).items()} == others
        await site.ready("two")


@pytest.mark.parametrize("deed", [IDLE, Fails()])
async def test_a_provider_that_never_began_goes_too(site, deed):
    site.kubelet.does[INIT] = deed
    async with site.deploying():
        await site.provider("one")
        await site.says("one", "Initialized", "InitRunning" if deed is IDLE else "InitFailed")
        await site.delete(PROVIDERS, "one")
        await assert_nothing_is_left(site, "one")


async def test_a_provider_that_is_made_anew_begins_anew(site):
    async with site.deploying():
        await site.provider("one")
        old = await site.ready("one")
        await site.delete(PROVIDERS, "one")
        await site.gone(PROVIDERS, "one")
        await site.provider("one")
        new = await site.ready("one")
        assert new.metadata.uid != old.metadata.uid
        owners = {
            owner["uid"]
            for (kind, _), one in (await site.everything("one")).items()
            if kind not in ("Pod", "ReplicaSet")
            for owner in one["metadata"]["ownerReferences"]
        }
        assert owners == {new.metadata.uid}


async def test_a_provider_stays_at_work_until_its_last_cluster_is_gone(site):
    home = site.home.namespace
    async with site.deploying():
        await site.provider("one", extraVolumes=[{"name": "scratch", "emptyDir": {}}])
        await site.kube.create(PROFILES, cluster_profile("test.one.a", provider="one"))
        await site.kube.create(PROFILES, cluster_profile("test.other.a", provider="other"))
        await site.ready("one")
        for name in ("first", "second"):
            await site.kube.create(CLUSTERS, cluster(name, home, profile="test.one.a"))
        # By the label alone: the profile that it was made of is gone.
        labels = {"clusters.openmcp.cloud/provider": "one"}
        orphan = cluster("third", home, profile="test.one.gone")
        orphan["metadata"]["labels"] = labels
        await site.kube.create(CLUSTERS, orphan)
        await site.kube.create(CLUSTERS, cluster("theirs", home, profile="test.other.a"))
        await site.delete(PROVIDERS, "one")
        names = [f"{home}/{name}" for name in ("first", "second", "third")]
        told = await site.says("one", "Uninstalled", "ClustersRemain", "3 Clusters", *names)
        assert "theirs" not in told.status.message
        assert (told.status.phase, told.status.reason, told.status.ready) == ("Uninstalling", "ClustersRemain", True)
        # It is not only left running, but kept so.
        await site.delete(DEPLOYMENTS, "cp-one")
        await site.there(DEPLOYMENTS, "cp-one")
        assert len([one for one in site.kubelet.seen.values() if "cp-one-init" in one["metadata"]["name"]]) == 1
        # And it can still be changed, if that is what it takes.
        await site.change("one", image="registry.example/provider:v2")
        await site.there(DEPLOYMENTS, "cp-one", lambda one: container_of(one)["image"].endswith(":v2"))
        for name in ("first", "second", "third"):
            assert await site.get(PROVIDERS, "one") is not None
            await site.kube.delete(CLUSTERS, name, namespace=home)
        await assert_nothing_is_left(site, "one")
        assert await site.get(PROFILES, "test.one.a") is None
        assert await site.get(PROFILES, "test.other.a") is not None


async def test_what_an_uninstall_is_refused_is_told(site, proxy):
    async with site.deploying(proxy.connection):
        await site.provider("one", rights=RULES)
        await site.ready("one")
        role = "openmcp.cloud:cp-one"
        rule = proxy.answer(403, times=None, matching=lambda one: one.verb == "delete" and one.name == role)
        await site.delete(PROVIDERS, "one")
        await site.says("one", "Uninstalled", "UninstallFailed")
        assert rule.hits
        await proxy.heal()
        await assert_nothing_is_left(site, "one")


# -- what it offers ---------------------------------------------------------------------------------------------------


async def test_the_profiles_of_a_provider_are_shown_as_they_are(site):
    async with site.deploying():
        await site.provider("one")
        await site.kube.create(PROFILES, cluster_profile("test.one.b", provider="one"))
        await site.kube.create(PROFILES, cluster_profile("test.one.a", provider="one"))
        await site.kube.create(PROFILES, cluster_profile("test.two.a", provider="two"))
        both = ["test.one.a", "test.one.b"]
        provider = await site.becomes("one", lambda one: names_in(one) == both and one.status.ready, "shows both")
        shown = provider.status.profiles[0]
        assert shown.provider_config_ref.name == "test.one.a"
        assert [one.version for one in shown.supported_versions] == ["1.33.3"]
        traits = [{"trait": "infrastructure/vendor/aws"}]
        await site.patch(PROFILES, "test.one.a", {"spec": {"supportedTraits": traits}})
        await site.becomes(
            "one",
            lambda one: [trait.trait for trait in one.status.profiles[0].supported_traits] == [traits[0]["trait"]],
            "shows the trait",
        )
        versions = [{"version": "1.33.3", "deprecated": True}, {"version": "1.34.0"}]
        await site.patch(PROFILES, "test.one.b", {"spec": {"supportedVersions": versions}})
        await site.becomes("one", lambda one: len(one.status.profiles[1].supported_versions) == 2, "shows the versions")
        await site.delete(PROFILES, "test.one.a")
        await site.becomes("one", lambda one: names_in(one) == ["test.one.b"], "shows the one that is left")


def names_in(provider):
    return [one.name for one in provider.status.profiles]


# -- the operator's own rights ----------------------------------------------------------------------------------------


async def test_the_operator_needs_no_more_than_its_rights(site):
    """It works as an account that has these rights and nothing else."""
    home = site.home.namespace
    account = {"kind": "ServiceAccount", "name": "operator", "namespace": home}
    name = f"operator-{home}"
    rbac = "rbac.authorization.k8s.io"
    for resource, where, rules in ((CLUSTER_ROLES, None, RIGHTS), (ROLES, home, HOME_RIGHTS)):
        metadata = {"name": name} | ({"namespace": where} if where else {})
        role = {"apiVersion": f"{rbac}/v1", "kind": resource.kind, "metadata": metadata, "rules": rules}
        await site.kube.create(resource, role)
        binding = {
            "apiVersion": f"{rbac}/v1",
            "kind": f"{resource.kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": resource.kind, "name": name},
            "subjects": [account],
        }
        await site.kube.create(await site.kube.resource(f"{rbac}/v1", f"{resource.kind}Binding"), binding)
    try:
        user = f"system:serviceaccount:{home}:operator"
        await until(lambda: site.may("operator", "list", "pods", namespace=home), "the rights are in force")
        await until(lambda: site.may("operator", "list", "clusterroles", group=rbac), "the rights are in force")
        connection = site.acting_as(Impersonation(user=user, groups=("system:serviceaccounts", "system:authenticated")))
        async with site.deploying(connection):
            await site.provider("one")
            await site.kube.create(PROFILES, cluster_profile("test.one.a", provider="one"))
            await site.ready("one")
            await site.change("one", rights=RULES, metrics={"disabled": True})
            provider = await site.ready("one")
            assert found(provider.status.conditions, "Ready").reason == "ProviderReady"
            await site.gone(SERVICES, "cp-one-metrics")
            await site.kube.patch(PROVIDERS, "one", MergePatch({"metadata": {"labels": {"a": "b"}}}))
            await site.delete(PROVIDERS, "one")
            await assert_nothing_is_left(site, "one")
            assert await site.get(PROFILES, "test.one.a") is None
    finally:
        await site.kube.delete(CLUSTER_BINDINGS, name)
        await site.kube.delete(CLUSTER_ROLES, name)

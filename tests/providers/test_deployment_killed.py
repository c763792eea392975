"""Deployments that are stopped, or cut off, at each of their writes. The next one always finds its way."""

from __future__ import annotations

import pytest
from deployment_kit import INIT, PROFILES, PROVIDERS, controllers_beside, new_site

from mooring.testing.builders import cluster_profile
from mooring.testing.managers import until

RULES = {"run": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
MOST_LIVES = 80


@pytest.fixture(scope="module")
def beside(own_plane, tmp_path_factory):
    with controllers_beside(own_plane, tmp_path_factory.mktemp("beside")):
        yield


@pytest.fixture
async def site(own_kube, beside):
    async with new_site(own_kube) as site:
        yield site


def ours(request):
    """What the deployment writes, but for events: those are told when there is time."""
    return request.group != "events.k8s.io"


async def lived(site, proxy, done):
    """One life after the other, each killed after its first write, until it is done; gives their number."""
    for life in range(MOST_LIVES):
        rule = proxy.stop_after_write(1, matching=ours)
        async with site.doomed(proxy.connection):
            await struck(rule, done)
        await proxy.heal()
        if await done():
            return life + 1
    raise AssertionError(f"not done in {MOST_LIVES} lives")


async def struck(rule, done):
    """Wait for the write; or until everything is done, because others did the rest."""

    async def over():
        return rule.hits or await done()

    await until(over, "the write was made")


def inits(site):
    labels = [one["metadata"]["labels"] for one in site.kubelet.seen.values()]
    return [one for one in labels if one["app.kubernetes.io/component"] == INIT]


async def test_a_provider_is_deployed(site, proxy):
    await site.provider("one", rights=RULES)
    # The finalizer; account, role, binding and Job of init; account, two roles, two bindings, Deployment and Service of
    # run; and the status, once at least.
    assert await lived(site, proxy, lambda: is_ready(site)) >= 13
    async with site.deploying():
        await site.ready("one")
    assert len(inits(site)) == 1
    await assert_whole(site)


@pytest.mark.parametrize("cut", ["cut_before_write", "cut_after_write"])
@pytest.mark.parametrize("nth", [1, 2, 4, 5, 8, 12, 13])
async def test_a_provider_is_deployed_though_its_writes_or_their_answers_are_lost(site, proxy, cut, nth):
    async with site.deploying(proxy.connection):
        getattr(proxy, cut)(nth, matching=ours)
        await site.provider("one", rights=RULES)
        await site.ready("one")
    assert len(inits(site)) == 1
    await assert_whole(site)


async def test_a_change_is_carried_out(site, proxy):
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
    await site.change("one", image="registry.example/provider:v2", rights=RULES)
    # Of init: the binding, the Role and its binding are removed, role and binding are made, and the Job is replaced. Of
    # run: the binding is replaced, three are made, and the Deployment is changed. And the status.
    assert await lived(site, proxy, lambda: is_ready(site)) >= 13
    async with site.deploying():
        await site.ready("one")
    assert len(inits(site)) == 2
    await assert_whole(site)


async def test_nothing_is_left(site, proxy):
    async with site.deploying():
        await site.provider("one", rights=RULES)
        await site.kube.create(PROFILES, cluster_profile("test.one.a", provider="one"))
        await site.ready("one")

    async def is_gone():
        return await site.get(PROVIDERS, "one") is None

    await site.delete(PROVIDERS, "one")
    # The status; Deployment, Job and Service; three bindings, three roles, two accounts; the profile; the finalizer.
    assert await lived(site, proxy, is_gone) >= 14
    assert await site.everything("one") == {}
    assert await site.get(PROFILES, "test.one.a") is None


async def is_ready(site):
    provider = await site.seen("one")
    status = None if provider is None else provider.status
    return status is not None and status.ready and status.observed_generation == provider.metadata.generation


async def assert_whole(site):
    made = {what for what in await site.everything("one") if what[0] not in ("Pod", "ReplicaSet")}
    assert made == {
        ("ServiceAccount", "cp-one"),
        ("ServiceAccount", "cp-one-init"),
        ("ClusterRole", "openmcp.cloud:cp-one"),
        ("ClusterRole", "openmcp.cloud:cp-one-init"),
        ("ClusterRoleBinding", "openmcp.cloud:cp-one"),
        ("ClusterRoleBinding", "openmcp.cloud:cp-one-init"),
        ("Role", "cp-one"),
        ("RoleBinding", "cp-one"),
        ("Job", "cp-one-init"),
        ("Deployment", "cp-one"),
        ("Service", "cp-one-metrics"),
    }

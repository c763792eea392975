"""Providers deployed as Pods: real API server, real Job and Deployment controllers, and a stand-in for the kubelet."""

from __future__ import annotations

import datetime

import pytest
from deployment_kit import (
    ACCOUNTS,
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    DEPLOYMENTS,
    IDLE,
    INIT,
    JOBS,
    PROVIDERS,
    ROLES,
    RUN,
    SERVICES,
    Fails,
    Runs,
    Succeeds,
    Unschedulable,
    Waits,
    controllers_beside,
    new_site,
)

from mooring.api.conditions import KStatus, found, kstatus
from mooring.api.providers import ClusterProvider
from mooring.kube import ObjectKey, typed
from mooring.testing.managers import quiet, until


@pytest.fixture(scope="module")
def beside(own_plane, tmp_path_factory):
    with controllers_beside(own_plane, tmp_path_factory.mktemp("beside")):
        yield


@pytest.fixture
async def site(own_kube, beside):
    async with new_site(own_kube) as site:
        yield site


def generation_of(thing):
    return thing["metadata"]["annotations"]["openmcp.cloud/provider-generation"]


def container_of(thing):
    return thing["spec"]["template"]["spec"]["containers"][0]


# -- from the object to a program at work -----------------------------------------------------------------------------


async def test_a_provider_is_initialised_before_it_runs(site):
    site.kubelet.does[INIT] = IDLE
    async with site.deploying():
        await site.provider("one")
        await site.says("one", "Initialized", "InitRunning", "cp-one-init")
        before = await site.says("one", "Ready", "ProviderInstallationPending")
        assert (before.status.phase, before.status.ready) == ("Progressing", False)
        assert await site.get(DEPLOYMENTS, "cp-one") is None
        assert await site.get(CLUSTER_BINDINGS, "openmcp.cloud:cp-one") is None
        await site.kubelet.now(INIT, Succeeds())
        ready = await site.ready("one")
    assert (ready.status.phase, ready.status.reason) == ("Ready", "ProviderReady")
    assert found(ready.status.conditions, "Initialized").reason == "InitCompleted"
    assert found(ready.status.conditions, "Uninstalled") is None
    status = ready.status
    assert (
        kstatus(ready.metadata, observed_generation=status.observed_generation, conditions=status.conditions)
        is KStatus.CURRENT
    )
    assert ready.metadata.finalizers == ("openmcp.cloud/finalizer",)
    assert (status.metrics.service_ref.name, status.metrics.service_ref.namespace) == (
        "cp-one-metrics",
        site.home.namespace,
    )
    assert generation_of(await site.get(JOBS, "cp-one-init")) == "1"


async def test_the_program_is_given_what_the_contract_says(site):
    async with site.deploying():
        await site.provider(
            "one",
            env=[{"name": "COLOUR", "value": "red"}, {"name": "EMPTY"}],
            verbosity="debug",
            runReplicas=2,
            imagePullSecrets=[{"name": "pull"}],
            metrics={"port": 9090, "path": "/m"},
        )
        await site.ready("one")
    pods = {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in site.kubelet.seen.values()}
    common = ["--environment=test", "--verbosity=debug", "--provider-name=one"]
    init, run = pods[INIT]["spec"], pods[RUN]["spec"]
    assert init["containers"][0]["args"] == ["init", *common]
    assert run["containers"][0]["args"] == [
        "run",
        *common,
        "--leader-elect=true",
        "--metrics-bind-address=:9090",
        "--metrics-secure=false",
    ]
    assert (init["restartPolicy"], run["restartPolicy"]) == ("Never", "Always")
    assert (init["serviceAccountName"], run["serviceAccountName"]) == ("cp-one-init", "cp-one")
    names = ["COLOUR", "EMPTY", "POD_NAME", "POD_NAMESPACE", "POD_IP", "POD_SERVICE_ACCOUNT_NAME"]
    for pod in (init, run):
        assert [one["name"] for one in pod["containers"][0]["env"]] == names
        assert pod["imagePullSecrets"] == [{"name": "pull"}]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pods[RUN]["metadata"]["annotations"]["prometheus.io/port"] == "9090"
    port = (await site.get(SERVICES, "cp-one-metrics"))["spec"]["ports"][0]
    assert (port["name"], port["port"], port["targetPort"]) == ("metrics-http", 9090, 9090)


async def test_volumes_and_constraints_are_passed_on_in_full(site):
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    async with site.deploying():
        await site.provider(
            "one",
            extraVolumes=[{"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}}],
            extraVolumeMounts=[{"name": "scratch", "mountPath": "/scratch", "subPath": "a"}],
            topologySpreadConstraints=[constraint],
        )
        await site.ready("one")
        pod = (await site.get(DEPLOYMENTS, "cp-one"))["spec"]["template"]
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        assert volumes["scratch"]["emptyDir"] == {"sizeLimit": "1Gi"}
        assert volumes["webhook-tls"]["secret"]["secretName"] == "one-webhook-tls"
        assert volumes["webhook-tls"]["secret"]["optional"] is True
        topology = {"openmcp.cloud/topology": "cp-one", "openmcp.cloud/topology-ns": site.home.namespace}
        (spread,) = pod["spec"]["topologySpreadConstraints"]
        assert spread["labelSelector"] == {"matchLabels": topology}
        assert topology.items() <= pod["metadata"]["labels"].items()
        # What is taken out of the object is taken out of the Pods.
        mounts = [{"name": "scratch", "mountPath": "/scratch"}]
        await site.change("one", extraVolumeMounts=mounts, topologySpreadConstraints=None)
        await site.ready("one")
        pod = (await site.get(DEPLOYMENTS, "cp-one"))["spec"]["template"]["spec"]
        assert "topologySpreadConstraints" not in pod
        assert mounts[0] in pod["containers"][0]["volumeMounts"]


async def test_metrics_can_be_switched_off(site):
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
        await site.change("one", metrics={"disabled": True})
        provider = await site.ready("one")
        assert provider.status.metrics is None
        await site.gone(SERVICES, "cp-one-metrics")
        template = (await site.get(DEPLOYMENTS, "cp-one"))["spec"]["template"]
        assert not any(name.startswith("prometheus.io") for name in template["metadata"]["annotations"])
        assert not any("metrics" in word for word in template["spec"]["containers"][0]["args"])


async def test_each_generation_is_initialised_once_and_before_it_runs(site):
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
        first = await site.get(JOBS, "cp-one-init")
        site.kubelet.does[INIT] = IDLE
        await site.change("one", image="registry.example/provider:v2")
        await site.says("one", "Initialized", "InitRunning")
        waiting = await site.says("one", "Ready", "ProviderInstallationPending")
        assert waiting.status.metrics is not None
        assert container_of(await site.get(DEPLOYMENTS, "cp-one"))["image"].endswith(":v1")
        await site.kubelet.now(INIT, Succeeds())
        await site.ready("one")
        second = await site.get(JOBS, "cp-one-init")
        assert (generation_of(first), generation_of(second)) == ("1", "2")
        assert container_of(await site.get(DEPLOYMENTS, "cp-one"))["image"].endswith(":v2")
    inits = [
        one for one in site.kubelet.seen.values() if one["metadata"]["labels"]["app.kubernetes.io/component"] == INIT
    ]
    assert len(inits) == 2


async def test_nothing_is_written_when_nothing_happens(site, proxy):
    rights = {"init": [ONE_MAP], "run": [READ_PODS]}
    volumes = [{"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}}]  # which the server calls 1Gi
    async with site.deploying(proxy.connection) as manager:
        await site.provider("one", rights=rights, env=[{"name": "EMPTY"}], extraVolumes=volumes)
        await site.provider("two")
        await site.ready("one")
        await site.ready("two")
        await quiet(manager)
        assert await idle_writes(site, proxy, manager) == [("patch", "one"), ("patch", "two")]
        await site.change("one", extraVolumes=[])
        await site.ready("one")
        status = (await site.seen("one")).status
    async with site.deploying(proxy.connection) as manager:  # another one finds everything in place, too
        await quiet(manager)
        assert await idle_writes(site, proxy, manager) == [("patch", "one"), ("patch", "two")]
        assert (await site.seen("one")).status == status


async def idle_writes(site, proxy, manager):
    """What is written for a look that finds nothing to do; the word that asks for it is taken away."""
    site.clock.by += datetime.timedelta(hours=1)
    proxy.requests.clear()
    await site.look("one")
    await site.look("two")
    await quiet(manager)
    writes = [one for one in proxy.requests if one.method != "GET" and one.group != "events.k8s.io"]
    return [(one.verb, one.name) for one in writes]


# -- rights -----------------------------------------------------------------------------------------------------------

READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
ONE_MAP = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["get"]}


async def test_without_rights_a_program_may_do_everything(site):
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
    for name in ("openmcp.cloud:cp-one", "openmcp.cloud:cp-one-init"):
        assert (await site.get(CLUSTER_BINDINGS, name))["roleRef"]["name"] == "cluster-admin"
        assert await site.get(CLUSTER_ROLES, name) is None
    (rule,) = (await site.get(ROLES, "cp-one-init"))["rules"]
    assert rule["resources"] == ["secrets", "configmaps"]
    assert await site.get(ROLES, "cp-one") is None


async def test_with_rights_it_may_do_exactly_that(site):
    home = site.home.namespace
    async with site.deploying():
        await site.provider("one", rights={"init": [ONE_MAP], "run": [READ_PODS]})
        await site.ready("one")
        for account in ("cp-one", "cp-one-init"):
            assert not await site.may(account, "get", "secrets", namespace="kube-system")
            assert not await site.may(account, "create", "configmaps", namespace=home)
        assert await site.may_settle("cp-one", "list", "pods")
        assert not await site.may("cp-one", "delete", "pods")
        assert not await site.may("cp-one-init", "list", "pods")
        assert await site.may_settle("cp-one-init", "get", "configmaps", name="mine", namespace="default")
        assert not await site.may("cp-one-init", "get", "configmaps", name="other", namespace="default")
        lease = {"group": "coordination.k8s.io", "namespace": home, "name": "cluster-provider-one"}
        assert await site.may_settle("cp-one", "update", "leases", **lease)
        assert not await site.may("cp-one", "update", "leases", **{**lease, "name": "cluster-provider-two"})
        assert not await site.may("cp-one-init", "update", "leases", **lease)
        assert await site.get(ROLES, "cp-one-init") is None


async def test_rights_shrink_and_grow_with_the_object(site):
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
        assert await site.may_settle("cp-one", "delete", "secrets", namespace="default")
        await site.change("one", rights={"run": [READ_PODS, ONE_MAP]})
        await site.ready("one")
        assert not await site.may_settle("cp-one", "delete", "secrets", namespace="default", wanted=False)
        assert await site.may_settle("cp-one", "list", "pods")
        assert await site.get(ROLES, "cp-one-init") is None
        assert await site.get(BINDINGS, "cp-one-init") is None
        # A name that falls out of a rule widens it; that must not pass for the same rule.
        await site.change("one", rights={"run": [ONE_MAP]})
        await site.ready("one")
        wide = {**ONE_MAP, "resourceNames": None}
        await site.change("one", rights={"run": [wide]})
        await site.ready("one")
        assert not await site.may_settle("cp-one", "list", "pods", wanted=False)
        assert await site.may_settle("cp-one", "get", "configmaps", name="any", namespace="default")
        await site.change("one", rights=None)
        await site.ready("one")
        assert await site.may_settle("cp-one", "delete", "secrets", namespace="default")
        assert await site.get(CLUSTER_ROLES, "openmcp.cloud:cp-one") is None
        assert await site.get(ROLES, "cp-one") is None


async def test_a_right_that_is_taken_back_does_not_wait_for_init(site):
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
        assert await site.may_settle("cp-one", "delete", "secrets", namespace="default")
        site.kubelet.does[INIT] = Fails()
        await site.change("one", rights={"run": [READ_PODS]})
        assert not await site.may_settle("cp-one", "delete", "secrets", namespace="default", wanted=False)
        await site.says("one", "Initialized", "InitFailed")
        assert await site.may_settle("cp-one", "list", "pods")


async def test_a_rule_that_makes_no_sense_is_told(site):
    async with site.deploying():
        await site.provider("one", rights={"init": [{"apiGroups": [""], "resources": ["pods"], "verbs": []}]})
        told = await site.says("one", "Initialized", "InitJobCreationFailed", "verbs")
        assert not told.status.ready
        await site.change("one", rights=None)
        await site.ready("one")


# -- what goes wrong --------------------------------------------------------------------------------------------------


async def test_an_init_that_fails_tells_why_and_is_tried_again(site):
    site.kubelet.does[INIT] = Fails(code=7, message="cannot reach the garden")
    async with site.deploying():
        await site.provider("one")
        await site.says("one", "Initialized", "InitFailed", "BackoffLimitExceeded", "code 7", "cannot reach the garden")
        failed = await site.get(JOBS, "cp-one-init")
        assert await site.get(DEPLOYMENTS, "cp-one") is None
        site.kubelet.does[INIT] = Succeeds()
        site.clock.by = datetime.timedelta(hours=1)
        await site.look("one")
        await site.ready("one")
        again = await site.get(JOBS, "cp-one-init")
    assert again["metadata"]["uid"] != failed["metadata"]["uid"]
    first, second = (int(one["metadata"]["annotations"]["mooring.dev/attempt"]) for one in (failed, again))
    assert first < second


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Waits("ImagePullBackOff", "Back-off pulling image x"), ("ImagePullBackOff", "Back-off pulling image x")),
        (Waits("CreateContainerConfigError", 'secret "s" not found'), ("CreateContainerConfigError", "not found")),
        (Unschedulable("0/3 nodes are available"), ("Unschedulable", "0/3 nodes")),
    ],
)
async def test_an_init_that_cannot_begin_tells_why(site, trouble, words):
    site.kubelet.does[INIT] = trouble
    async with site.deploying():
        await site.provider("one")
        await site.says("one", "Initialized", "InitRunning", *words)
        await site.kubelet.now(INIT, Succeeds())
        await site.ready("one")


async def test_a_program_that_falls_over_tells_why_and_recovers(site):
    last = {"exitCode": 2, "reason": "Error", "message": "no such flag"}
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
        await site.kubelet.now(RUN, Waits("CrashLoopBackOff", "back-off 5m0s restarting", last=last))
        told = await site.says("one", "Ready", "ProviderNotReady", "CrashLoopBackOff", "code 2", "no such flag")
        assert (told.status.phase, told.status.ready) == ("Progressing", False)
        assert "no such flag" in told.status.message
        await site.kubelet.now(RUN, Runs())
        await site.ready("one")


async def test_a_variable_that_is_given_anyway_is_refused_by_name(site):
    async with site.deploying():
        await site.provider("one", env=[{"name": "POD_IP", "value": "1.2.3.4"}])
        await site.says("one", "Initialized", "InitJobCreationFailed", "POD_IP", "not unique")
        assert await site.get(JOBS, "cp-one-init") is None
        await site.change("one", env=[])
        await site.ready("one")


# -- other hands ------------------------------------------------------------------------------------------------------


async def test_what_somebody_changes_is_mended(site):
    async with site.deploying():
        await site.provider("one", rights={"run": [READ_PODS]})
        await site.ready("one")
        await site.patch(DEPLOYMENTS, "cp-one", {"spec": {"replicas": 3, "paused": True}})
        await site.there(
            DEPLOYMENTS, "cp-one", lambda one: one["spec"]["replicas"] == 1 and not one["spec"].get("paused")
        )
        everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        await site.patch(CLUSTER_ROLES, "openmcp.cloud:cp-one", {"rules": everything})
        await site.there(CLUSTER_ROLES, "openmcp.cloud:cp-one", lambda one: one["rules"] == [READ_PODS])
        for mark in ("labels", "ownerReferences"):
            await site.patch(SERVICES, "cp-one-metrics", {"metadata": {mark: None}})
            await site.there(SERVICES, "cp-one-metrics", lambda one, mark=mark: one["metadata"].get(mark))
        # What others add beside ours is theirs.
        await site.patch(DEPLOYMENTS, "cp-one", {"metadata": {"annotations": {"of": "others"}}})
        await site.look("one")
        await site.ready("one")
        assert (await site.get(DEPLOYMENTS, "cp-one"))["metadata"]["annotations"]["of"] == "others"


async def test_what_somebody_deletes_is_made_again(site):
    async with site.deploying():
        await site.provider("one", rights={"run": [READ_PODS]})
        await site.ready("one")
        before = await site.everything("one")
        for resource, name in (
            (SERVICES, "cp-one-metrics"),
            (ACCOUNTS, "cp-one"),
            (CLUSTER_BINDINGS, "openmcp.cloud:cp-one"),
            (ROLES, "cp-one"),
            (DEPLOYMENTS, "cp-one"),
        ):
            uid = before[resource.kind, name]["metadata"]["uid"]
            await site.delete(resource, name)
            await site.there(resource, name, lambda one, uid=uid: one["metadata"]["uid"] != uid)
        await site.ready("one")
        # A Job too: that is how one has the init command run once more.
        uid = before["Job", "cp-one-init"]["metadata"]["uid"]
        await site.delete(JOBS, "cp-one-init")
        await site.there(JOBS, "cp-one-init", lambda one: one["metadata"]["uid"] != uid)
        await site.ready("one")


async def test_what_belongs_to_others_is_left_alone_and_named(site):
    theirs = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "openmcp.cloud:cp-one"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [],
    }
    made = await site.kube.create(CLUSTER_BINDINGS, theirs)
    try:
        async with site.deploying():
            await site.provider("one")
            words = ("ClusterRoleBinding openmcp.cloud:cp-one", "another name")
            await site.says("one", "Ready", "ProviderInstallationFailed", *words)
            there = await site.get(CLUSTER_BINDINGS, "openmcp.cloud:cp-one")
            assert there["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
            assert await site.get(DEPLOYMENTS, "cp-one") is None
            await site.delete(CLUSTER_BINDINGS, "openmcp.cloud:cp-one")
            await site.ready("one")
    finally:
        there = await site.get(CLUSTER_BINDINGS, "openmcp.cloud:cp-one")
        if there is not None and there["roleRef"]["name"] == "view":
            await site.delete(CLUSTER_BINDINGS, "openmcp.cloud:cp-one")


async def test_providers_whose_names_meet_do_not_take_each_others_things(site):
    """The init account of ``one`` has the name of the run account of ``one-init``."""
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
        await site.provider("one-init")
        await site.says("one-init", "Ready", "ProviderInstallationFailed", "cp-one-init", "ClusterProvider one")
        owner = (await site.get(ACCOUNTS, "cp-one-init"))["metadata"]["ownerReferences"][0]["name"]
        assert owner == "one"
        await site.ready("one")


async def test_an_ignored_provider_is_left_alone(site):
    async with site.deploying() as manager:
        await site.provider("one")
        await site.ready("one")
        await site.patch(PROVIDERS, "one", {"metadata": {"annotations": {"openmcp.cloud/operation": "ignore"}}})
        await until(lambda: known_annotation(manager, "one") == "ignore", "the controller has heard of it")
        await site.delete(SERVICES, "cp-one-metrics")
        await site.provider("two")  # whatever woke the first was heard before this
        await site.ready("two")
        assert await site.get(SERVICES, "cp-one-metrics") is None
        await site.patch(PROVIDERS, "one", {"metadata": {"annotations": {"openmcp.cloud/operation": None}}})
        await site.there(SERVICES, "cp-one-metrics")


def known_annotation(manager, name):
    known = manager.store(typed(ClusterProvider)).get(ObjectKey("", name))
    return known.metadata.annotations.get("openmcp.cloud/operation")


async def test_a_status_that_somebody_wipes_is_written_again(site):
    async with site.deploying():
        await site.provider("one")
        await site.ready("one")
        await site.patch(PROVIDERS, "one", {"status": {"conditions": None, "ready": False}}, "status")
        await site.ready("one")

"""What the deployment makes of a provider, and of what it sees: functions of values."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api.clusters import ClusterProfile
from mooring.api.conditions import READY, Condition, Truth, found
from mooring.api.providers import ClusterProvider, ProviderRights
from mooring.api.rbac import PolicyRule
from mooring.kube import ObjectKey
from mooring.providers.deployment import reasons, status
from mooring.providers.deployment.contract import (
    Command,
    Unfit,
    arguments,
    cluster_name_of,
    container_of,
    labels_of,
    metrics_service_of,
    name_of,
    own_variables,
    webhook_secret_of,
)
from mooring.providers.deployment.grounds import Home, Progress
from mooring.providers.deployment.objects import access, deployment, job, metrics_service
from mooring.providers.deployment.placing import overlaid, says
from mooring.providers.deployment.status import Report, status_of
from mooring.providers.deployment.verdicts import (
    LONGEST_PAUSE,
    deployment_progress,
    job_progress,
    next_attempt,
    trouble_of,
)
from mooring.testing.builders import cluster_profile

HOME = Home(environment="live", namespace="home")
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def provider(name="one", generation=1, **spec):
    document = {
        "metadata": {"name": name, "uid": "u-1", "generation": generation},
        "spec": {"image": "registry.example/p:v1", **spec},
    }
    return msgspec.convert(document, ClusterProvider)


# -- the contract -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "command", "words"),
    [
        ({}, Command.INIT, ["init", "--environment=live", "--verbosity=INFO", "--provider-name=one"]),
        (
            {},
            Command.RUN,
            [
                "run",
                "--environment=live",
                "--verbosity=INFO",
                "--provider-name=one",
                "--metrics-bind-address=:8080",
                "--metrics-secure=false",
            ],
        ),
        (
            {"initCommand": ["set", "up"], "verbosity": "error"},
            Command.INIT,
            ["set", "up", "--environment=live", "--verbosity=error", "--provider-name=one"],
        ),
        (
            {"runCommand": ["work"], "runReplicas": 2, "metrics": {"disabled": True}},
            Command.RUN,
            ["work", "--environment=live", "--verbosity=INFO", "--provider-name=one", "--leader-elect=true"],
        ),
    ],
)
def test_arguments(spec, command, words):
    assert arguments(provider(**spec), HOME, command) == words


def test_names():
    one = provider("garden")
    assert [name_of(one, command) for command in Command] == ["cp-garden-init", "cp-garden"]
    assert cluster_name_of(one, Command.INIT) == "openmcp.cloud:cp-garden-init"
    assert metrics_service_of(one) == "cp-garden-metrics"
    assert webhook_secret_of(one) == "garden-webhook-tls"
    assert labels_of(one, Command.RUN) == {
        "app.kubernetes.io/managed-by": "mooring",
        "app.kubernetes.io/name": "ClusterProvider",
        "app.kubernetes.io/instance": "garden",
        "app.kubernetes.io/component": "controller",
    }


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?){0,6}", fullmatch=True))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_every_name_of_a_provider_makes_names_that_servers_take(name):
    one = provider(name)
    names = [name_of(one, Command.RUN), name_of(one, Command.INIT), metrics_service_of(one), webhook_secret_of(one)]
    assert all(len(text) <= 63 for text in [*names, labels_of(one)["app.kubernetes.io/instance"]])
    assert "." not in metrics_service_of(one) + container_of(one, Command.RUN)
    assert len({*names}) == len(names)


def test_names_with_dots_stay_different():
    assert metrics_service_of(provider("a.b")) != metrics_service_of(provider("a-b"))


def test_a_variable_is_set_once():
    assert own_variables(provider(env=[{"name": "A", "value": "b"}, {"name": "B"}])) == {"A": "b", "B": ""}
    for name in ("POD_NAME", "POD_NAMESPACE", "POD_IP", "POD_SERVICE_ACCOUNT_NAME"):
        with pytest.raises(Unfit, match=name):
            own_variables(provider(env=[{"name": name, "value": "x"}]))
    with pytest.raises(Unfit, match="A is set twice"):
        own_variables(provider(env=[{"name": "A"}, {"name": "A"}]))


# -- objects ----------------------------------------------------------------------------------------------------------


def kinds(documents):
    return [(one["kind"], one["metadata"]["name"]) for one in documents]


def test_everything_where_rights_are_not_known():
    run, init = (access(provider(), HOME, command, None) for command in (Command.RUN, Command.INIT))
    assert kinds(run) == [("ClusterRoleBinding", "openmcp.cloud:cp-one")]
    assert run[0]["roleRef"]["name"] == "cluster-admin"
    assert kinds(init) == [
        ("ClusterRoleBinding", "openmcp.cloud:cp-one-init"),
        ("Role", "cp-one-init"),
        ("RoleBinding", "cp-one-init"),
    ]


def test_exactly_the_rights_where_they_are():
    rights = ProviderRights(run=(PolicyRule(verbs=("get",), api_groups=("",), resources=("pods",)),))
    run, init = (access(provider(), HOME, command, rights) for command in (Command.RUN, Command.INIT))
    assert kinds(run) == [
        ("ClusterRole", "openmcp.cloud:cp-one"),
        ("ClusterRoleBinding", "openmcp.cloud:cp-one"),
        ("Role", "cp-one"),
        ("RoleBinding", "cp-one"),
    ]
    assert kinds(init) == [
        ("ClusterRole", "openmcp.cloud:cp-one-init"),
        ("ClusterRoleBinding", "openmcp.cloud:cp-one-init"),
    ]
    assert init[0]["rules"] == []
    (rule,) = run[0]["rules"]
    assert {name: value for name, value in rule.items() if value} == {
        "verbs": ["get"],
        "apiGroups": [""],
        "resources": ["pods"],
    }
    named = [rule["resourceNames"] for rule in run[2]["rules"]]
    assert named == [None, ["cluster-provider-one"]]


def test_everything_is_owned_and_labelled():
    one = provider()
    documents = [
        job(one, HOME),
        deployment(one, HOME),
        metrics_service(one, HOME),
        *access(one, HOME, Command.INIT, None),
    ]
    for document in documents:
        (owner,) = document["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("ClusterProvider", "u-1", True)
        assert labels_of(one).items() <= document["metadata"]["labels"].items()


def test_certificates_are_not_put_over_what_the_owner_mounts():
    where = "/tmp/k8s-webhook-server/serving-certs"
    own = provider(extraVolumes=[{"name": "mine"}], extraVolumeMounts=[{"name": "mine", "mountPath": where}])
    pod = deployment(own, HOME, [{"name": "mine", "emptyDir": {}}])["spec"]["template"]["spec"]
    assert [one["name"] for one in pod["volumes"]] == ["mine"]
    pod = deployment(provider(), HOME)["spec"]["template"]["spec"]
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == where


# -- comparing --------------------------------------------------------------------------------------------------------

THERE = {"spec": {"replicas": 1, "paused": True, "of": "others", "list": [{"name": "a", "default": "x"}]}, "status": 1}


def test_what_says_the_same_is_left():
    wanted = {"spec": {"replicas": 1, "list": [{"name": "a", "value": "", "gone": None}], "none": None, "empty": []}}
    assert says(THERE, wanted)
    assert overlaid(THERE, wanted, whole=False) == THERE


def test_what_differs_is_ours_and_the_rest_is_others():
    wanted = {"spec": {"replicas": 2, "paused": None, "list": [{"name": "b"}]}}
    assert overlaid(THERE, wanted, whole=False) == {
        "spec": {"replicas": 2, "of": "others", "list": [{"name": "b"}]},
        "status": 1,
    }


def test_a_whole_list_loses_what_was_taken_out_of_it():
    wanted = {"spec": {"list": [{"name": "a"}]}}
    assert overlaid(THERE, wanted, whole=True)["spec"]["list"] == [{"name": "a"}]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), json_values, max_size=3)


@given(objects, objects, st.booleans())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_what_was_mended_is_not_mended_again(there, wanted, whole):
    once = overlaid(there, wanted, whole=whole)
    assert says(once, wanted)
    assert overlaid(once, wanted, whole=False) == once


# -- verdicts ---------------------------------------------------------------------------------------------------------


def pod(name="p", **state):
    return {"metadata": {"name": name, "creationTimestamp": NOW}, "status": state}


def container(**state):
    return {"containerStatuses": [{"name": "c", **state}]}


ENDED = {"exitCode": 3, "reason": "Error", "message": "boom"}


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        (container(state={"terminated": ENDED}), "Error", ["code 3", "boom"]),
        (container(state={"waiting": {"reason": "ErrImagePull", "message": "no such"}}), "ErrImagePull", ["no such"]),
        (
            container(
                state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
                lastState={"terminated": ENDED},
            ),
            "CrashLoopBackOff",
            ["code 3", "boom"],
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted", ["low on memory"]),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}]},
            "Unschedulable",
            ["full"],
        ),
        (container(state={"terminated": {**ENDED, "message": "x" * 9000}}), "Error", ["… xxx"]),
    ],
)
def test_what_is_wrong_with_a_pod(state, reason, words):
    trouble = trouble_of([pod(**state)])
    assert trouble.reason == reason
    assert all(word in trouble.message for word in words)
    assert len(trouble.message) < 1_300


@pytest.mark.parametrize(
    "state",
    [
        {},
        container(state={"running": {}}),
        container(state={"terminated": {"exitCode": 0}}),
        container(state={"waiting": {"reason": "ContainerCreating"}}),
    ],
)
def test_nothing_is_wrong_with_a_pod(state):
    assert trouble_of([pod(**state)]) is None


def test_a_pod_that_is_removed_may_end_as_it_likes():
    going = pod(**container(state={"terminated": ENDED}))
    going["metadata"]["deletionTimestamp"] = NOW
    assert trouble_of([going]) is None


def a_job(attempt="1", **state):
    return {"metadata": {"name": "j", "annotations": {"mooring.dev/attempt": attempt}}, "status": state}


FAILED = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": NOW}


def test_how_a_job_does():
    assert job_progress(a_job(succeeded=1), ()).done
    running = job_progress(a_job(active=1), ())
    assert (running.done, running.failed, running.reason) == (False, False, "JobRunning")
    failed = job_progress(a_job(conditions=[FAILED]), [pod(**container(state={"terminated": ENDED}))])
    assert failed.failed
    assert "code 3" in failed.message
    assert "2026-01-01T00:00:30Z" in failed.message


def test_pauses_grow_and_end_somewhere():
    def pause(attempt):
        due = next_attempt(a_job(attempt, conditions=[FAILED]))
        return (due - next_attempt(a_job("1", conditions=[FAILED]))).total_seconds() + 30

    assert [pause(str(one)) for one in (1, 2, 3)] == [30, 60, 120]
    assert pause("99999") == LONGEST_PAUSE
    assert pause("nonsense") == 30
    assert next_attempt(a_job(conditions=[])) is None


def a_deployment(generation=2, **state):
    return {"metadata": {"name": "d", "generation": generation}, "spec": {"replicas": 2}, "status": state}


WELL = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}


@pytest.mark.parametrize("field", WELL)
def test_a_deployment_is_done_when_all_replicas_are(field):
    assert deployment_progress(a_deployment(**WELL), ()).done
    assert not deployment_progress(a_deployment(**WELL | {field: 1}), ()).done
    assert not deployment_progress(a_deployment(**WELL | {field: 3}), ()).done


def test_a_deployment_tells_what_it_complains_of():
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late"}
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}
    told = deployment_progress(a_deployment(**WELL | {"availableReplicas": 1, "conditions": [late]}), ())
    assert told.reason == "ProgressDeadlineExceeded"
    told = deployment_progress(a_deployment(**WELL | {"availableReplicas": 1, "conditions": [late, refused]}), ())
    assert told.reason == "FailedCreate"
    assert "1 of 2 replicas" in told.message


# -- the status -------------------------------------------------------------------------------------------------------

DONE = Progress(done=True)


@pytest.mark.parametrize(
    ("progress", "truth", "reason"),
    [
        (DONE, Truth.TRUE, reasons.INIT_COMPLETED),
        (Progress(done=False, reason="JobRunning"), Truth.FALSE, reasons.INIT_RUNNING),
        (Progress(done=False, reason=reasons.PENDING), Truth.UNKNOWN, reasons.INIT_PENDING),
        (Progress(done=False, failed=True, reason="Error"), Truth.FALSE, reasons.INIT_FAILED),
    ],
)
def test_initialized(progress, truth, reason):
    said = status.initialized(progress)
    assert (said.truth, said.reason) == (truth, reason)


@pytest.mark.parametrize(
    ("progress", "truth", "reason"),
    [
        (None, Truth.UNKNOWN, reasons.INSTALLATION_PENDING),
        (DONE, Truth.TRUE, reasons.PROVIDER_READY),
        (Progress(done=False, reason="RollingOut"), Truth.FALSE, reasons.NOT_READY),
        (Progress(done=False, failed=True, reason="Gone"), Truth.FALSE, reasons.INSTALLATION_FAILED),
    ],
)
def test_ready(progress, truth, reason):
    said = status.ready(progress)
    assert (said.truth, said.reason) == (truth, reason)
    assert said.message


def test_remaining_clusters_are_named_up_to_a_few():
    keys = [ObjectKey("team", f"c{number}") for number in range(7)]
    text = status.clusters_remain(keys).message
    assert text.startswith("7 Clusters are")
    assert "team/c4" in text
    assert "team/c5" not in text
    assert "and 2 more" in text
    assert status.clusters_remain(keys[:1]).message.startswith("One Cluster is")


def profile(name):
    return msgspec.convert(cluster_profile(name, provider="one"), ClusterProfile)


def test_a_status_changes_only_when_something_does():
    report = Report(initialized=status.initialized(DONE), ready=status.ready(DONE))
    first = status_of(provider(), report, [profile("b"), profile("a")], now=NOW)
    assert (first.last_reconcile_time, first.phase, first.ready) == (NOW, "Ready", True)
    assert [one.name for one in first.profiles] == ["a", "b"]
    told = msgspec.structs.replace(provider(), status=first)
    assert status_of(told, report, [profile("a"), profile("b")], now=LATER) == first
    changed = status_of(told, report, [profile("a")], now=LATER)
    assert changed.last_reconcile_time == LATER
    assert found(changed.conditions, READY).last_transition_time == NOW


def test_conditions_of_others_and_bounds_are_kept():
    theirs = Condition(type="Theirs", status=Truth.TRUE, last_transition_time=NOW, reason="A", message="")
    old = status_of(provider(), Report(ready=status.ready(None)), (), now=NOW)
    old = msgspec.structs.replace(old, conditions=(*old.conditions, theirs))
    told = msgspec.structs.replace(provider(), status=old)
    long = Report(ready=status.not_installed("x" * 100_000), uninstalled=status.uninstalling())
    new = status_of(told, long, [profile(f"p{number:04}") for number in range(600)], now=LATER)
    assert found(new.conditions, "Theirs") == theirs
    assert len(found(new.conditions, READY).message) <= 4_096
    assert len(new.profiles) == 512
    assert found(new.conditions, reasons.UNINSTALLED) is not None
    told = msgspec.structs.replace(told, status=new)
    assert (
        found(status_of(told, Report(ready=status.ready(DONE)), (), now=LATER).conditions, reasons.UNINSTALLED) is None
    )

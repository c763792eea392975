"""Components with ``--compat v1alpha3``, beside the last clusterctl of those days.

DEVIATION compat-newer-fields: it knows the fields of Kubernetes 1.17, and drops those that have come since.
"""

from __future__ import annotations

import pytest
from components_kit import RBAC, Case, Desk, account, binding, container, namespace, thing, workload, written
from old_releases import CONTRACT, WEBHOOKS, shipyard

from mooring.clusterctl.providers import LIFECYCLE_LABEL, PROVIDER_LABEL

YAML = ("-o", "yaml")
OTHER = ("-o", "yaml", "--target-namespace", "other")
WATCHING = (*YAML, "--watching-namespace", "fleet")


@pytest.fixture
def desk(old_judge, ours, tmp_path) -> Desk:
    ours_only = ("--compat", CONTRACT)
    return Desk(old_judge, ours, tmp_path / "repository", CONTRACT, ("config", "provider"), ours_only)


def test_an_instance_is_parted_from_what_all_share(desk):
    only_shared = [one for one in shipyard() if one["metadata"].get("name") == WEBHOOKS]
    cases = {
        "as it is": Case(shipyard(), YAML),
        "elsewhere": Case(shipyard(), OTHER),
        "elsewhere, for one namespace": Case(shipyard(), (*OTHER, "--watching-namespace", "fleet")),
        "into the namespace of webhooks": Case(shipyard(), (*YAML, "--target-namespace", WEBHOOKS)),
        "overridden": Case(shipyard(), YAML, {"images": {"all": {"repository": "mirror.example.com"}}}),
        "with labels": Case(
            [
                namespace(labels={PROVIDER_LABEL: "another"}),
                namespace(WEBHOOKS, labels={"app": "webhooks", PROVIDER_LABEL: "another"}),
                thing("v1", "ConfigMap", "one", home=WEBHOOKS),
                thing("v1", "ConfigMap", "two", home="anywhere", data={"a": "${A}"}),
                thing("v1", "ConfigMap", "three", home=None),
            ],
            YAML,
        ),
        "two namespaces": Case([namespace("one"), namespace("two")], YAML),
        "no namespace of its own": Case(only_shared, YAML),
        "versions of old": Case(
            [
                namespace(),
                *(workload(api_version=version) for version in ("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1")),
                *(workload("DaemonSet", api_version=version) for version in ("apps/v1beta2", "extensions/v1beta1")),
                {**binding("RoleBinding", "b", [account()]), "apiVersion": f"{RBAC}/v1beta1"},
                {**binding("ClusterRoleBinding", "b", [account()]), "apiVersion": f"{RBAC}/v1beta1"},
            ],
            YAML,
        ),
        "a Deployment of no version": Case([namespace(), workload(api_version="apps/v2")], YAML),
        "a binding of an older version": Case(
            [namespace(), {**binding("RoleBinding", "b", [account()]), "apiVersion": f"{RBAC}/v1alpha1"}], YAML
        ),
        "a variable that is not closed": Case(written([namespace()]) + "---\na: ${B\n", YAML),
    }
    refused = (
        "two namespaces",
        "no namespace of its own",
        "a Deployment of no version",
        "a binding of an older version",
        "a variable that is not closed",
    )
    assert desk.differences(cases, refused=refused) == []
    kinds = [
        (one["kind"], one["metadata"]["labels"].get(LIFECYCLE_LABEL))
        for one in desk.both(cases["elsewhere"])[1].documents
    ]
    assert kinds[:4] == [
        ("Namespace", "shared"),
        ("CustomResourceDefinition", "shared"),
        ("MutatingWebhookConfiguration", "shared"),
        ("ValidatingWebhookConfiguration", "shared"),
    ]
    assert ("Deployment", "shared") in kinds
    assert kinds[-1] == ("Deployment", None)


def test_a_namespace_that_is_missing_can_be_created(desk):
    """DEVIATION compat-namespace-version: the Namespace that the judge adds has no apiVersion: no server takes it."""
    theirs, mine = desk.both(Case([thing("v1", "Secret", "one")], OTHER))
    assert theirs.code == mine.code == 0
    assert theirs.documents[0] == mine.documents[0]
    added = theirs.documents[1]
    assert added.get("apiVersion") is None
    assert mine.documents[1] == {"apiVersion": "v1", **added}


def test_cluster_roles_are_of_one_instance(desk):
    role = thing(f"{RBAC}/v1", "ClusterRole", "manager-role", home=None)
    subjects = [account(), account("hook", WEBHOOKS), account("far", "elsewhere"), {"kind": "User", "name": "jane"}]
    made = [
        binding("ClusterRoleBinding", "ours", subjects),
        binding("ClusterRoleBinding", "theirs", subjects, role="cluster-admin"),
        binding("ClusterRoleBinding", "nobodys", None),
        binding("RoleBinding", "to-a-cluster-role", subjects)
        | {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "manager-role"}},
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "bare"}},
    ]
    cases = {
        "the role first": Case([namespace(), role, *made], YAML),
        "the role last, elsewhere": Case([*made, role, namespace()], OTHER),
        "a prefix more": Case([namespace("a"), {**role, "metadata": {"name": "a-manager-role"}}, *made], YAML),
    }
    assert desk.differences(cases) == []


def test_controllers_watch_a_namespace(desk):
    def told(*arguments: str) -> dict:
        return workload(containers=[container("proxy", args=["--namespace=proxy"]), container(args=list(arguments))])

    several = [namespace(), told("--v=2"), told("--namespace=fleet", "--v=2")]
    mute = [namespace(), workload()]
    files = {
        "told": [namespace(), told("--a", "--namespace=home", "--b")],
        "told last": [namespace(), told("--namespace=home")],
        "told the same": [namespace(), told("--namespace=fleet")],
        "not told": [namespace(), told("--a")],
        "mute": mute,
        "one of several": several,
        "otherwise": [namespace(), told("--namespace", "home", "-namespace=home")],
        "no Deployment": [namespace(), workload("DaemonSet", containers=[container(args=["--namespace=home"])])],
        "nobody is called manager": [namespace(), workload(containers=[container("other", args=["--namespace=home"])])],
        "in the namespace of webhooks": [
            namespace(),
            workload(home=WEBHOOKS, containers=[container(args=["--namespace=home"])]),
        ],
    }
    cases = {f"{name}, {flags[2:]}": Case(file, flags) for name, file in files.items() for flags in (YAML, WATCHING)}
    cases["they differ"] = Case([namespace(), told("--namespace=a"), told("--namespace=b")], YAML)
    assert desk.differences(cases, refused=["they differ"]) == []


def test_what_there_is_to_know(desk):
    for flags in ((), ("-o", "text"), ("--target-namespace", "other", "--watching-namespace", "fleet")):
        theirs, mine = desk.both(Case(shipyard(manager=container(args=["--v=${LEVEL:=2}", "${NAME}"])), flags))
        assert theirs.code == mine.code == 0
        assert theirs.out == mine.out
    theirs, mine = desk.both(Case(shipyard(), ("-o", "json")))
    assert theirs.code == mine.code == 1


def test_variables_are_filled_in_by_the_newer_word(desk, ours):
    """``generate provider`` is what fills them in today; with --compat it does, too."""
    case = Case(shipyard(manager=container(args=["--level=${LEVEL}"])), YAML)
    desk.both(case)
    config = desk.folder / "clusterctl.yaml"
    words = ("generate", "provider", "-i", "shipyard:v1.0.0", "--compat", CONTRACT)
    ended = ours(*words, config=config)
    assert (ended.code, "[LEVEL]" in ended.err) == (1, True)
    ended = ours(*words, "--watching-namespace", "fleet", config=config, LEVEL="7")
    assert ended.code == 0
    manager = ended.documents[-1]["spec"]["template"]["spec"]["containers"][0]
    assert manager["args"] == ["--level=7", "--namespace=fleet"]


def test_fields_that_have_come_since_stay(desk):
    """DEVIATION compat-newer-fields: what the judge does not know it drops, and the program would run otherwise."""
    newer = container(securityContext={"seccompProfile": {"type": "RuntimeDefault"}})
    theirs, mine = desk.both(Case([namespace(), workload(containers=[newer])], YAML))
    (_, judged), (_, kept) = theirs.documents, mine.documents
    assert judged["spec"]["template"]["spec"]["containers"][0]["securityContext"] == {}
    assert kept["spec"]["template"]["spec"]["containers"][0]["securityContext"] == newer["securityContext"]


def test_watching_a_namespace_needs_those_days(desk, ours):
    desk.both(Case(shipyard(), YAML))
    config = desk.folder / "clusterctl.yaml"
    for words in (("--watching-namespace", "fleet"), ("--compat", "v1alpha4"), ()):
        ended = ours("generate", "provider", "-i", "shipyard:v1.0.0", *words, config=config)
        assert ended.code == 1
        assert "v1alpha3" in ended.err
        assert ended.out == ""

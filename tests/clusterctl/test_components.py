"""Components made fit, by the real clusterctl and by ours: the same documents in the same order, or both refuse."""

from __future__ import annotations

import random
import stat
from itertools import pairwise

import pytest
import releases
from components_kit import (
    HOME,
    MANAGER,
    RBAC,
    Case,
    Desk,
    account,
    binding,
    container,
    differing,
    missing,
    namespace,
    thing,
    unlike,
    workload,
    written,
)
from lifecycle_kit import webhook

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.images import Image

ADMISSION, EXTENSIONS, CERTIFICATES = "admissionregistration.k8s.io", "apiextensions.k8s.io", "cert-manager.io"
INJECT = f"{CERTIFICATES}/inject-ca-from"
OTHER = ("--target-namespace", "other")


@pytest.fixture
def desk(judge, ours, tmp_path) -> Desk:
    return Desk(judge, ours, tmp_path / "repository")


def test_a_release_goes_into_its_namespace_or_another(desk):
    release = releases.infrastructure(extra=[webhook("shipyard-validation", "infrastructure-shipyard-system")])
    nameless = [one for one in release.objects() if one["kind"] != "Namespace"]
    empty = {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}
    cases = {
        "as it is": Case(release.components),
        "elsewhere": Case(release.components, OTHER),
        "by the short flag": Case(release.components, ("-n", "other")),
        "without a Namespace": Case(nameless),
        "without a Namespace, elsewhere": Case(nameless, OTHER),
        "two Namespaces": Case([namespace("one"), *nameless, namespace("two")]),
        "two Namespaces, elsewhere": Case([namespace("one"), *nameless, namespace("two")], OTHER),
        "the same Namespace twice": Case([namespace("one"), namespace("one")]),
        "a Namespace without a name counts for nothing": Case([empty, namespace("two"), *nameless]),
        "only such a Namespace": Case([empty, *nameless]),
        "only such a Namespace, elsewhere": Case([empty, *nameless], OTHER),
        "a Namespace of another group": Case([thing("example.com/v1", "Namespace", "odd", home=None), *nameless]),
        "nothing": Case(""),
        "nothing, elsewhere": Case("", OTHER),
        "only comments": Case("# one\n---\n# two\n---\n---\n", OTHER),
    }
    refused = (
        "without a Namespace",
        "two Namespaces",
        "two Namespaces, elsewhere",
        "the same Namespace twice",
        "only such a Namespace",
        "nothing",
    )
    assert desk.differences(cases, refused=refused) == []


def test_objects_of_every_form_pass(desk):
    cases = {
        "a List is an object, and its items stay": Case(
            [namespace(), {"apiVersion": "v1", "kind": "List", "items": [thing("v1", "ConfigMap", "inside")]}]
        ),
        "twice the same": Case([namespace(), *[thing("v1", "Secret", "twice", data={"a": "Yg=="})] * 2]),
        "empty mappings": Case(f"{{}}\n---\n{written([namespace()])}---\n{{}}\n"),
        "no kind": Case([namespace(), {"apiVersion": "v1", "metadata": {"name": "what"}}]),
        "no apiVersion": Case([namespace(), {"kind": "ConfigMap", "metadata": {"name": "what"}}]),
        "no name": Case([namespace(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}]),
        "no metadata": Case([namespace(), {"apiVersion": "v1", "kind": "ConfigMap"}]),
        "metadata that is nothing": Case([namespace(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None}]),
        "metadata that is a list": Case([namespace(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": ["a"]}]),
        "a kind that is a number": Case([namespace(), {"apiVersion": "v1", "kind": 7, "metadata": {"name": "what"}}]),
        "kinds that are nowhere special": Case(
            [
                namespace(),
                *(thing("batch/v1", kind, kind.lower(), spec={"image": "any thing"}) for kind in ("Job", "CronJob")),
                thing("apps/v1", "StatefulSet", "set", spec={"template": {"spec": {"containers": [{"image": "A B"}]}}}),
                *(thing("v1", "PersistentVolume", name, home=home) for name, home in (("a", None), ("b", HOME))),
                *(thing("scheduling.k8s.io/v1", "PriorityClass", "high", home=None, value=number) for number in (1, 2)),
            ]
        ),
        "a list": Case(f"{written([namespace()])}---\n- a\n- b\n"),
        "a text": Case(f"{written([namespace()])}---\njust text\n"),
        "no YAML": Case(f"{written([namespace()])}---\na: [b\n"),
    }
    assert desk.differences(cases, refused=("a list", "a text", "no YAML")) == []


def test_everything_is_labelled(desk):
    forms = {
        "own": {"app": "shipyard"},
        "of another provider": {"cluster.x-k8s.io/provider": "another", "clusterctl.cluster.x-k8s.io": "yes"},
        "none": None,
        "empty": {},
        "a number": {"app": "shipyard", "replicas": 3},
        "a list": ["app"],
    }
    labelled = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name.replace(" ", "-"), "labels": labels}}
        for name, labels in forms.items()
    ]
    assert desk.differences({"all": Case([namespace(labels={"mine": "stays"}), *labelled])}) == []


def test_certificates_come_early(desk):
    """Upstream's order contradicts itself and leaves it to its sort what becomes of that: the same has to come out."""
    chance = random.Random(8)
    kinds = (
        (f"{CERTIFICATES}/v1", "Certificate"),
        (f"{CERTIFICATES}/v1", "Issuer"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
    )
    cases = {}
    for count in (3, 21, 45, 110):
        made = [thing(*chance.choice(kinds), name=f"thing-{place}") for place in range(count)]
        cases[f"{count} of them"] = Case([*made[: count // 2], namespace(), *made[count // 2 :]])
    mostly = [thing(f"{CERTIFICATES}/v1", "Certificate", f"one-{place}") for place in range(50)]
    assert desk.differences({**cases, "only Certificates": Case(mostly, OTHER)}) == []


def test_bindings_name_accounts_of_the_target(desk):
    subjects = [
        account(),
        account(home="elsewhere"),
        {"kind": "ServiceAccount", "name": "without"},
        {"kind": "User", "name": "jane", "apiGroup": RBAC},
        {"kind": "Group", "name": "all", "apiGroup": RBAC, "namespace": "odd", "unknown": 1},
        None,
    ]
    made = [
        binding(kind, f"{kind.lower()}-{place}", some)
        for kind in ("RoleBinding", "ClusterRoleBinding")
        for place, some in enumerate((subjects, [], None))
    ]
    bare = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "bare"}}
    cases = {
        "bindings": Case([namespace(), *made, bare, thing(f"{RBAC}/v1", "ClusterRole", "role", home=None)], OTHER),
        "of another version": Case([namespace(), {**made[0], "apiVersion": f"{RBAC}/v1beta1"}]),
        "of another group": Case([namespace(), {**made[0], "apiVersion": "example.com/v1"}]),
        "without a version": Case([namespace(), {**made[0], "apiVersion": ""}]),
        "subjects that are a mapping": Case([namespace(), binding("RoleBinding", "odd", {"kind": "User"})]),
        "a name that is a number": Case([namespace(), binding("RoleBinding", "odd", [{"kind": "User", "name": 7}])]),
    }
    assert desk.differences(cases, refused=[name for name in cases if name != "bindings"]) == []


def test_webhooks_and_conversions_call_the_target(desk):
    service = {"name": "webhook-service", "namespace": "old", "path": "/convert"}
    clients = ({"service": service}, {"service": {"name": "s"}, "caBundle": "Cg=="}, {"url": "https://x/"}, {}, None)
    hooks = [{"name": f"h{place}.example.com", "clientConfig": one} for place, one in enumerate(clients)]
    made = [
        thing(
            f"{ADMISSION}/{version}",
            f"{kind}WebhookConfiguration",
            f"{kind.lower()}-{version}",
            home=None,
            webhooks=some,
        )
        for kind in ("Mutating", "Validating")
        for version in ("v1", "v1beta1")
        for some in (hooks, [], None)
    ]
    definitions = [_definition(version, conversion) for version, conversion in _conversions(service)]
    places = ("old/cert", "/cert", "old/", "/")
    injected = [_injected(place) for place in places]
    bad = ("cert", "a/b/c", "")
    newer = {**made[0], "apiVersion": f"{ADMISSION}/v1alpha1"}
    refused = {
        **{f"a certificate called {place!r}": Case([namespace(), _injected(place)]) for place in bad},
        "a version that nobody knows": Case([namespace(), newer]),
        "a definition that nobody knows": Case([namespace(), _definition("v2", None)]),
        "an annotation that is a number": Case([namespace(), _injected(7)]),
    }
    cases = {
        "all": Case([namespace(), *made, *definitions, *injected], OTHER),
        "where they are": Case([namespace("old"), *made, *definitions, *injected]),
        "an annotation elsewhere": Case([namespace(annotations={INJECT: "a"}), thing("v1", "Secret", "s")]),
        **refused,
    }
    assert desk.differences(cases, refused=list(refused)) == []


def _injected(place: object) -> releases.Object:
    one = thing(f"{ADMISSION}/v1", "MutatingWebhookConfiguration", "injected", home=None)
    one["metadata"]["annotations"] = {INJECT: place, "other": "stays"}
    return one


def _definition(version: str, conversion: object) -> releases.Object:
    one = releases.definition("infrastructure.cluster.x-k8s.io", "ShipyardCluster")
    one["apiVersion"] = f"{EXTENSIONS}/{version}"
    one["spec"]["conversion"] = conversion
    one["spec"]["unknown"] = "goes"
    one["metadata"]["annotations"] = {INJECT: "old/cert"}
    return one


def _conversions(service: releases.Object) -> list[tuple[str, object]]:
    client = {"service": {**service, "port": 443}, "caBundle": "aGVsbG8="}
    webhooks = (
        {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        {"clientConfig": {"url": "https://x"}},
        {},
    )
    return [
        *(("v1", {"strategy": "Webhook", "webhook": one}) for one in webhooks),
        ("v1", {"strategy": "None"}),
        ("v1", None),
        ("v1beta1", {"strategy": "Webhook", "webhookClientConfig": client}),
        ("v1beta1", {"strategy": "Webhook", "webhookClientConfig": {}}),
        ("v1beta1", None),
    ]


def test_certificates_are_for_hosts_of_the_target(desk):
    def certificate(
        spec: object, *, home: str | None = HOME, api_version: str = f"{CERTIFICATES}/v1"
    ) -> releases.Object:
        return thing(api_version, "Certificate", "serving-cert", home=home, spec=spec)

    hosts = [f"service.{HOME}.svc", f"a.{HOME}.{HOME}.svc", f"{HOME}.svc", f"x.{HOME}", "plain", "a..b", "a...b", ""]
    fine = {
        "hosts": Case([namespace(), certificate({"dnsNames": hosts, "secretName": "s"})], OTHER),
        "hosts, where they are": Case([namespace(), certificate({"dnsNames": hosts})]),
        "of no namespace": Case([namespace(), certificate({"dnsNames": hosts}, home=None)], OTHER),
        "of another namespace": Case([namespace(), certificate({"dnsNames": hosts}, home="service")], OTHER),
        "of another group": Case([namespace(), certificate({"dnsNames": hosts}, api_version="a.b/v1")], OTHER),
        "no hosts": Case([namespace(), certificate({"dnsNames": []}), certificate({}), certificate(None)]),
        "no spec": Case([namespace(), thing(f"{CERTIFICATES}/v1", "Certificate", "bare")]),
    }
    bad = {
        "hosts that are null": Case([namespace(), certificate({"dnsNames": None})]),
        "hosts that are text": Case([namespace(), certificate({"dnsNames": "a"})]),
        "a host that is a number": Case([namespace(), certificate({"dnsNames": ["a", 1]})]),
        "a spec that is text": Case([namespace(), certificate("a")]),
        "a spec that is a list": Case([namespace(), certificate([])]),
    }
    assert desk.differences({**fine, **bad}, refused=list(bad)) == []


def test_workloads_are_read_as_kubernetes_knows_them(desk):
    amounts = [
        "1",
        "500m",
        "0.5",
        "1.5Gi",
        "1e3",
        "12E6",
        "1024Mi",
        "1048576",
        "100k",
        ".5",
        "+1",
        "0.0001u",
        "1E",
        "1000Ki",
    ]
    rich = container(
        resources={
            "limits": {f"a{place}": amount for place, amount in enumerate(amounts)},
            "requests": {"cpu": 1, "memory": 0.25, "large": 1e16, "larger": 1e22, "small": 1e-7, "null": None},
        },
        livenessProbe={"httpGet": {"path": "/healthz", "port": "healthz"}, "initialDelaySeconds": 0},
        readinessProbe={"httpGet": {"path": "/readyz", "port": 9440}, "unknown": True},
        env=[{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        ports=[{"containerPort": 9443, "name": "webhook-server", "protocol": "TCP"}, {"containerPort": 1e3}],
        volumeMounts=[{"mountPath": "/tmp/certs", "name": "cert", "readOnly": True}],
        securityContext={"capabilities": {"drop": ["ALL"]}, "runAsUser": 65532, "seccompProfile": {"type": "Default"}},
        args=["--leader-elect", "--feature-gates=A=${A:=false}"],
        command=[],
        soon={"unknown": [1, 2]},
    )
    pod = {
        "initContainers": [container("first", "registry.example.com:5000/a/b/init@sha256:" + "0" * 64)],
        "containers": [rich, container("proxy", "docker.io/library/proxy:v1")],
        "volumes": [{"name": "cert", "secret": {"secretName": "s", "defaultMode": 420}}, {"name": "e", "emptyDir": {}}],
        "tolerations": [{"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane"}],
        "terminationGracePeriodSeconds": 10,
        "affinity": {},
        "serviceAccountName": "manager",
    }
    made = [workload(kind, name, **pod) for kind, name in (("Deployment", "a"), ("DaemonSet", "b"))]
    made[0]["metadata"] |= {"creationTimestamp": None, "annotations": {}, "finalizers": []}
    made[0]["spec"] |= {"replicas": 1.0, "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}}
    made[0]["status"] = {"replicas": 7}
    bare = thing("apps/v1", "Deployment", "bare", spec={"template": {"spec": {"containers": []}}})
    fine = {
        "rich": Case([namespace(), *made, workload(), thing("apps/v1", "DaemonSet", "empty"), bare], OTHER),
        "as it is written": Case([namespace(), *made], ("--raw",)),
    }
    bad = {
        "replicas that are text": Case([namespace(), {**bare, "spec": {"replicas": "1"}}]),
        "replicas and a half": Case([namespace(), {**bare, "spec": {"replicas": 1.5}}]),
        "an argument that is a number": Case([namespace(), workload(containers=[container(args=["-v", 2])])]),
        "a variable that is a boolean": Case(
            [namespace(), workload(containers=[container(env=[{"name": "A", "value": True}])])]
        ),
        "an amount that is none": Case(
            [namespace(), workload(containers=[container(resources={"limits": {"cpu": "much"}})])]
        ),
        "a port that is a fraction": Case(
            [namespace(), workload(containers=[container(livenessProbe={"httpGet": {"port": 1.5}})])]
        ),
        "a label that is a number": Case([namespace(), {**bare, "metadata": {"name": "a", "labels": {"v": 1}}}]),
        "a DaemonSet of old": Case([namespace(), workload("DaemonSet", api_version="extensions/v1beta1")]),
        "a Deployment of another group": Case([namespace(), workload(api_version="example.com/v1")]),
        "a Deployment of old": Case([namespace(), workload(api_version="apps/v1beta2")]),
    }
    assert desk.differences({**fine, **bad}, refused=list(bad)) == []


def test_images_are_overridden(desk):
    digest = "sha256:" + "a" * 64
    images = [
        MANAGER,
        "registry.example.com/shipyard/proxy",
        f"registry.example.com:5000/a/b/c/d:v1@{digest}",
        f"registry.example.com/proxy@{digest}",
        "docker.io/library/nginx:1.29",
        "localhost/x:y",
        "[2001:db8::1]:5000/a/b__c.d-e:T_1.2-3",
    ]
    pods = {"containers": [container(f"c{place}", image) for place, image in enumerate(images)]}
    file = [
        namespace(),
        workload(**pods, initContainers=[container("init", "registry.example.com/shipyard/init:v2")]),
        workload("DaemonSet", "agent", **pods),
        thing("apps/v1", "StatefulSet", "untouched", spec={"template": {"spec": pods}}),
    ]
    label = "infrastructure-shipyard"
    overrides = {
        "none": None,
        "empty": {},
        "all": {"all": {"repository": "mirror.example.com/all/"}},
        "all of a component": {label: {"repository": "mirror.example.com", "tag": "v9"}},
        "of another component": {"infrastructure-other": {"tag": "v9"}, "cert-manager": {"tag": "v8"}},
        "one image": {f"{label}/manager": {"name": "captain", "tag": "v9"}, f"{label}/init": {"repository": "q.io//"}},
        "the narrower one counts": {
            "all": {"repository": "a.example.com", "tag": "all"},
            label: {"repository": "b.example.com/b"},
            f"{label}/manager": {"tag": "own"},
        },
        "a tag that looks like a number": {"all": {"tag": 1.5}},
        "not even a name": {"all": {"repository": "NOT A HOST", "tag": "!"}},
    }
    cases = {name: Case(file, settings={"images": one} if one is not None else {}) for name, one in overrides.items()}
    cases["described"] = Case(file, settings={"images": overrides["all"]}, flags=("--describe",))
    cases["a list of overrides"] = Case(file, settings={"images": ["all"]})
    cases["text instead of overrides"] = Case(file, settings={"images": {"all": "mirror"}})
    refused = ("a list of overrides", "text instead of overrides")
    assert [one for one in desk.differences(cases, refused=refused) if not one.startswith("described")] == []
    theirs, mine = desk.both(cases["described"])
    assert theirs.out == mine.out


@pytest.mark.parametrize("flags", [(), ("--describe",), ("--raw",)])
def test_an_image_is_a_reference_in_full(desk, flags):
    long = "registry.example.com/" + "/".join(["a" * 50] * 6)
    bad = [
        "",
        "UPPER/Case",
        "a b",
        "registry.example.com/A/b",
        "x//y",
        "r.io/a:",
        "r.io/a@sha256:abc",
        ":tag",
        "a" * 64,
        long,
    ]
    cases = {image: Case([namespace(), workload(containers=[container(image=image)])], flags) for image in bad}
    cases["none"] = Case([namespace(), workload(containers=[{"name": "manager"}])], flags)
    assert desk.differences(cases, refused=list(cases)) == []


def test_images_that_are_not_in_full_pass(desk):
    """DEVIATION images-not-in-full: the judge refuses them, although any container runtime takes them."""
    short = ["nginx", "nginx:1.29", "dev/kube-proxy:v1", "docker.io/nginx", "index.docker.io/library/nginx:1"]
    for image in short:
        theirs, mine = desk.both(Case([namespace(), workload(containers=[container(image=image)])]))
        assert (theirs.code, mine.code) == (1, 0), image
        assert "canonical" in theirs.err
        assert mine.documents[1]["spec"]["template"]["spec"]["containers"][0]["image"] == image
        with pytest.raises(ClusterctlError, match="in full: write docker"):
            Image.parse(image)
    overridden = {"images": {"all": {"tag": "v2"}}}
    theirs, mine = desk.both(Case([namespace(), workload(containers=[container(image="nginx")])], settings=overridden))
    assert theirs.code == mine.code == 1
    assert "write docker.io/library/nginx" in mine.err


def test_images_with_variables_are_shown_raw(desk):
    """DEVIATION images-not-in-full: nor does the judge show components whose images have variables."""
    file = [namespace(), workload(containers=[container(image="${REGISTRY:=example.com}/a:${TAG}")])]
    for flag in ("--raw", "--describe"):
        theirs, mine = desk.both(Case(file, (flag,)))
        assert (theirs.code, mine.code) == (1, 0)
        assert "${REGISTRY:=example.com}/a:${TAG}" in mine.out
    assert desk.differences({"filled in": Case(file, environ={"TAG": "v1"})}) == []


def test_a_kind_is_in_a_namespace_or_not(desk):
    """DEVIATION scope-of-kinds: the judge knows sixteen kinds that are in none, and gives all others a namespace."""
    custom = releases.definition("infrastructure.cluster.x-k8s.io", "ShipyardIdentity")
    custom["spec"]["scope"] = "Cluster"
    wide = [
        thing("infrastructure.cluster.x-k8s.io/v1beta2", "ShipyardIdentity", "default", home=None),
        thing("networking.k8s.io/v1", "IngressClass", "shipyard", home=None),
        thing("apiregistration.k8s.io/v1", "APIService", "v1.example.com", home=None),
        thing(f"{CERTIFICATES}/v1", "ClusterIssuer", "shipyard", home=None),
        thing(f"{ADMISSION}/v1", "ValidatingAdmissionPolicy", "shipyard", home=None),
    ]
    inside = thing("infrastructure.cluster.x-k8s.io/v1beta2", "ShipyardCluster", "one", home=None)
    theirs, mine = desk.both(Case([namespace(), custom, *wide, inside], OTHER))
    assert theirs.code == mine.code == 0
    places = {one["kind"]: one["metadata"].get("namespace") for one in mine.documents}
    assert places.pop("ShipyardCluster") == "other"
    assert set(places.values()) == {None}
    for one, other in zip(theirs.documents, mine.documents, strict=True):
        expected = [".metadata.namespace: the judge has 'other'"] if one["kind"] in {w["kind"] for w in wide} else []
        assert list(differing(one, other)) == expected


def test_variables_are_filled_in(desk):
    file = written(
        [namespace("${HOME_OF_IT:=shipyard-system}"), workload(containers=[container(args=["--a=${A}", "${B}"])])]
    )
    given = {"A": "1", "B": "two"}
    cases = {
        "all are missing": Case(file),
        "one is missing": Case(file, environ={"A": "1"}),
        "given": Case(file, environ=given),
        "given in the configuration": Case(file, settings={"A": "x", "b": "why", "HOME_OF_IT": "elsewhere"}),
        "left": Case(file, ("--raw",)),
        "an empty one": Case(file, environ={"A": "", "B": ""}),
        "bad": Case(file + "---\na: ${B\n", environ=given),
        "bad, and left": Case(file + "---\na: ${B\n", ("--raw",)),
        "YAML only afterwards": Case(file + "---\n${C}\n", environ={**given, "C": "{}"}),
        "YAML only afterwards, and left": Case(file + "---\n${C}\n", ("--raw",)),
    }
    refused = ("all are missing", "one is missing", "bad", "bad, and left", "YAML only afterwards, and left")
    assert desk.differences(cases, refused=refused) == []
    assert missing(desk.both(cases["all are missing"])[1]) == {"A", "B"}


def test_components_are_described(desk):
    file = written(
        [namespace(), workload(containers=[container(args=["${A}", "${C:=c}", "${B:-b}"])]), workload("DaemonSet")]
    )
    for case in (
        Case(file, ("--describe",)),
        Case(file, ("--describe", "--raw", *OTHER)),
        Case(written([namespace()]), ("--describe",)),
        Case(file, ("--describe", "--write-to", "nowhere.yaml")),
    ):
        theirs, mine = desk.both(case)
        assert theirs.code == mine.code == 0
        assert theirs.out == mine.out


def test_the_result_is_written_to_a_file(desk, tmp_path):
    case = Case([namespace(), thing("v1", "Secret", "credentials", stringData={"key": "${KEY}"})], environ={"KEY": "k"})
    printed, _ = desk.both(case)
    for name, runner in (("judge", desk.judge), ("ours", desk.ours)):
        target = tmp_path / f"{name}.yaml"
        config = desk.folder / "clusterctl.yaml"
        words = ("generate", "provider", "-i", "shipyard:v1.0.0", "--write-to")
        assert runner(*words, f" {target} ", config=config, KEY="k").out == ""
        assert target.read_text() == printed.out
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert runner(*words, "-", config=config, KEY="k").out == printed.out
        ended = runner(*words, str(tmp_path / "no" / "folder"), config=config, KEY="k")
        assert (ended.code, ended.out) == (1, "")


def test_one_provider_is_asked_for(desk):
    desk.both(Case([namespace()]))
    config = desk.folder / "clusterctl.yaml"
    flags = ("--core", "--bootstrap", "--control-plane", "--infrastructure", "--ipam", "--runtime-extension", "--addon")
    asked = [
        (),
        ("argument",),
        *([flag, "nobody-has-it:v1.0.0"] for flag in flags),
        *([one, "shipyard", other, "shipyard"] for one, other in pairwise(flags)),
        ("-i", "shipyard:v1.0.0", "-i", "shipyard:v1.0.0"),
        ("-i", "shipyard:v9.9.9"),
        ("-i", "shipyard:"),
        ("-i", "shipyard:v1.0.0:v1.0.0"),
        ("-i", ":v1.0.0"),
        ("-i", "Shipyard:v1.0.0"),
        ("-i", "ship_yard"),
        ("-i", ""),
        ("--infrastructure",),
    ]
    for flags_ in asked:
        theirs, mine = (runner("generate", "provider", *flags_, config=config) for runner in (desk.judge, desk.ours))
        assert list(unlike(theirs, mine)) == [], flags_

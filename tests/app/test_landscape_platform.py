"""The platform of a landscape as a cluster that requests can get, and whose door only its administrators open."""

import json

from landscape_kit import until

TENANTS = """
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: asks, namespace: team}
rules:
  - apiGroups: [clusters.openmcp.cloud]
    resources: [clusterrequests, accessrequests]
    verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: asks, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: asks}
subjects: [{kind: User, name: eve}, {kind: User, name: ada}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: enters, namespace: mooring-system}
rules: [{apiGroups: [clusters.openmcp.cloud], resources: [clusters], resourceNames: [platform], verbs: [access]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: enters, namespace: mooring-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: enters}
subjects: [{kind: User, name: ada}]
"""
REQUEST = """
apiVersion: clusters.openmcp.cloud/v1alpha1
kind: ClusterRequest
metadata: {name: theirs, namespace: team}
spec: {purpose: platform}
"""
ACCESS = """
apiVersion: clusters.openmcp.cloud/v1alpha1
kind: AccessRequest
metadata: {name: %s, namespace: team}
spec:
  requestRef: {name: theirs}
  token: {permissions: [{rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}]}
"""


def test_requests_get_the_platform_and_only_its_administrators_enter(running, tmp_path):
    def apply(text, *words):
        file = tmp_path / "objects.yaml"
        file.write_text(text)
        running.kubectl("apply", "-f", str(file), *words)

    def seen(kind, name, namespace="team"):
        return json.loads(running.kubectl("get", kind, name, "-n", namespace, "-o", "json", code=None).out or "{}")

    def status(kind, name):
        return seen(kind, name).get("status", {})

    def refusal(*words):
        return running.kubectl("delete", "--wait=false", *words, code=1).err

    until(lambda: "status" in seen("cluster", "platform", "mooring-system"), "the platform is a cluster")
    apply(TENANTS)
    apply(REQUEST, "--as=eve")
    until(lambda: status("clusterrequest", "theirs").get("phase") == "Granted", "the request has a cluster")
    assert status("clusterrequest", "theirs")["cluster"] == {"namespace": "mooring-system", "name": "platform"}

    # Both want to be administrators. Eve may do nothing outside of her namespace, and Ada may enter the platform.
    for name in ("eve", "ada"):
        apply(ACCESS % name, f"--as={name}")
    until(lambda: status("accessrequest", "eve").get("phase") == "Denied", "Eve is not let in")
    assert status("accessrequest", "eve")["reason"] == "CreatorMayNot"
    until(lambda: status("accessrequest", "ada").get("phase") == "Granted", "Ada is")
    secrets = running.kubectl("get", "secrets", "-n", "team", "-o", "name").out.split()
    assert secrets == ["secret/ada.kubeconfig"]
    entry = tmp_path / "entry.kubeconfig"
    entry.write_text(running.run("access", "kubeconfig", "ada", "-n", "team").out)
    assert "mooring-system" in running.kubectl("--kubeconfig", str(entry), "get", "namespaces", "-o", "name").out

    # Its provider keeps the contract of all providers, on a platform where everybody else is at work, too. Those are
    # checks that need few clusters; some cannot be made of what runs inside, or where requests are prepared.
    some = ("cluster", "status.conditions", "version.unset", "deletion.waits", "deletion.goes-on", "access.foreign")
    only = [word for one in (*some, "access.token") for word in ("--only", one)]
    kubeconfig = running.run("kubeconfig").out.strip()
    told = running.run("conformance", "--running", "local", "--kubeconfig", kubeconfig, *only, "-o", "json", code=None)
    results = {one["check"]: one["outcome"] for one in json.loads(told.out)["results"]}
    not_passed = {one: outcome for one, outcome in results.items() if outcome != "passed"}
    assert not_passed == {"program.init": "skipped", "access.foreign": "skipped"}, told.err
    assert {*some[1:], "cluster.ready", "cluster.finalizer", "access.token"} <= results.keys()

    # What the platform needs is kept; what others can be made of is the owner's.
    assert "mooring down --purge" in refusal("localconfig", "platform")
    assert "runs inside Mooring" in refusal("clusterprovider", "local")
    running.kubectl("delete", "localconfig", "default", "--timeout=60s")

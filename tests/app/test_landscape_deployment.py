"""A provider that a ClusterProvider brings to a landscape: as a process, with its own rights; gone without a trace."""

import json

from landscape_kit import until

CONFIG = """
apiVersion: external.clusters.openmcp.cloud/v1alpha1
kind: ExternalConfig
metadata: {name: mine}
spec:
  providerRef: {name: external}
  kubeconfigSecretRef: {namespace: default, name: mine}
---
apiVersion: clusters.openmcp.cloud/v1alpha1
kind: Cluster
metadata: {name: brought, namespace: default}
spec: {profile: default.external.mine, tenancy: Exclusive, purposes: [mcp]}
"""


def test_a_cluster_of_ones_own_is_adopted_entered_and_left_as_it_was(running, tmp_path):
    def apply(text):
        file = tmp_path / "objects.yaml"
        file.write_text(text)
        running.kubectl("apply", "-f", str(file))

    def ready(kind, name):
        path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
        return running.kubectl("get", kind, name, "-n", "default", "-o", path).out == "True"

    def providers():
        rows = json.loads(running.run("provider", "list", "-o", "json").out)["items"]
        return {one["name"]: one for one in rows}

    def inside(*words, code=0):
        return running.kubectl("--kubeconfig", str(own), *words, code=code).out

    def belongings():
        """What is in the cluster, but for what its own controllers keep changing."""
        kinds = "namespaces,serviceaccounts,secrets,roles,rolebindings,clusterroles,clusterrolebindings"
        return sorted(inside("get", kinds, "-A", "-o", "name").split())

    apply(running.run("provider", "manifest", "external").out)
    until(lambda: providers()["external"]["ready"] == "True", "the provider is at work")
    assert "external/run" in {one["name"] for one in running.status()["components"]}
    assert "working" in running.run("logs", "external").out

    # Somebody's cluster: one that the landscape has made, and that is brought along by its kubeconfig.
    running.run("request", "create", "theirs", "--purpose", "mcp", "--wait")
    own = tmp_path / "own.kubeconfig"
    running.run("kubeconfig", "--request", "theirs", "--kubeconfig", str(own))
    before = belongings()
    running.kubectl("create", "secret", "generic", "mine", f"--from-file=kubeconfig={own}")
    until(
        lambda: running.kubectl("get", "crd", "externalconfigs.external.clusters.openmcp.cloud"), "its kinds are there"
    )
    apply(CONFIG)
    until(lambda: ready("cluster", "brought"), "the cluster is adopted")
    until(lambda: providers()["external"]["profiles"] == ["default.external.mine"], "its profile is told")
    offered = running.kubectl("get", "clusterprovider", "external", "-o", "jsonpath={.status.profiles[0].name}").out
    assert offered == "default.external.mine"

    entry = tmp_path / "entry.kubeconfig"
    given = running.run("access", "create", "--cluster", "brought", "--rule", "list:nodes", "-o", "kubeconfig").out
    entry.write_text(given)
    running.kubectl("--kubeconfig", str(entry), "get", "nodes")
    assert belongings() != before

    # It stays while it has clusters to look after, and goes when they are gone.
    running.kubectl("delete", "clusterprovider", "external", "--wait=false")
    path = 'jsonpath={.status.conditions[?(@.type=="Uninstalled")].reason}'
    until(
        lambda: running.kubectl("get", "clusterprovider", "external", "-o", path).out == "ClustersRemain",
        "it is not uninstalled while there are clusters",
    )
    running.run("cluster", "delete", "brought", "--yes", "--wait")
    until(lambda: belongings() == before, "the cluster is as it was, also without the access request being deleted")
    until(lambda: "external" not in providers(), "the provider is gone")
    running.kubectl("delete", "externalconfig", "mine", "--timeout=30s")  # nobody is left who could let go of it
    assert not (running.directory / "providers" / "external").exists()
    assert "external/run" not in {one["name"] for one in running.status()["components"]}
    left = running.kubectl("get", "clusterroles,clusterrolebindings", "-o", "name").out
    assert "cp-external" not in left
    assert (
        "cp-external" not in running.kubectl("get", "serviceaccounts,roles", "-n", "mooring-system", "-o", "name").out
    )

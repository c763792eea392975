"""A landscape as ``mooring up`` brings it: requests get real clusters, and controllers have their own rights."""

import json

from landscape_kit import COMPONENTS, until

REQUEST = """
apiVersion: clusters.openmcp.cloud/v1alpha1
kind: ClusterRequest
metadata: {name: mine, namespace: default}
spec: {purpose: mcp, waitForClusterDeletion: true}
"""
ACCESS = """
apiVersion: clusters.openmcp.cloud/v1alpha1
kind: AccessRequest
metadata: {name: mine, namespace: default}
spec: {requestRef: {name: mine, namespace: default}, token: {}}
"""


def test_a_landscape_answers_requests_with_real_clusters(running, tmp_path):
    def names(kind):
        listed = running.kubectl("get", kind, "-A", "-o", "json").out
        return {one["metadata"]["name"] for one in json.loads(listed)["items"]}

    def clusters():
        return names("clusters") - {"platform"}

    def apply(text):
        file = tmp_path / "object.yaml"
        file.write_text(text)
        running.kubectl("apply", "-f", str(file))

    def ready(kind, name, *where):
        path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
        return running.kubectl("get", kind, name, *where, "-o", path).out == "True"

    until(lambda: names("purposes") == {"platform", "onboarding", "workload", "mcp"}, "the purposes are there")
    until(lambda: "platform" in names("clusters"), "the platform is a cluster")
    until(lambda: ready("cluster", "platform", "-n", "mooring-system"), "and ready")
    refused = running.kubectl("delete", "cluster", "platform", "-n", "mooring-system", code=1)
    assert "mooring down --purge" in refused.err

    # Every right that the controllers have is needed in this life of a request.
    running.kubectl("patch", "purpose", "mcp", "--type=merge", "-p", '{"spec": {"warm": 1}}')
    until(lambda: len(clusters()) == 1, "a cluster is kept warm")
    running.kubectl("patch", "purpose", "mcp", "--type=merge", "-p", '{"spec": {"warm": 0}}')
    until(lambda: not clusters(), "and no more")
    apply(REQUEST)
    until(lambda: ready("clusterrequest", "mine"), "the request has a cluster that is ready")
    assert len(clusters()) == 1
    assert names("clusterrequestgrants") == {"mine"}
    apply(ACCESS)
    running.kubectl("annotate", "clusterrequest", "mine", "openmcp.cloud/operation=reconcile")
    annotated = ("get", "clusterrequest", "mine", "-o", "jsonpath={.metadata.annotations}")
    until(lambda: "operation" not in running.kubectl(*annotated).out, "the annotation is taken away")
    events = json.loads(running.kubectl("get", "events", "-o", "json").out)["items"]
    assert any(one["reason"] == "Granted" for one in events)

    # What was made is there again after a stop; and the purposes are the owner's: what was changed stays so.
    running.kubectl("delete", "purpose", "onboarding")
    running.kubectl("patch", "purpose", "workload", "--type=merge", "-p", '{"spec": {"tenancyCount": 7}}')
    running.run("down")
    running.run("up", "--detach")
    processes = sorted((*COMPONENTS, "kube-apiserver", "kube-controller-manager"))
    until(lambda: running.processes() == processes, "the cluster's processes run again")
    until(lambda: ready("clusterrequest", "mine"), "the request's cluster is ready again")
    assert names("purposes") == {"platform", "workload", "mcp"}
    assert running.kubectl("get", "purpose", "workload", "-o", "jsonpath={.spec.tenancyCount}").out == "7"

    running.kubectl("delete", "clusterrequest", "mine", "--wait=false")
    until(lambda: not names("clusterrequests") and not names("accessrequests"), "request and access are gone")
    until(lambda: not clusters(), "its cluster is gone")
    running.assert_each_runs_once()

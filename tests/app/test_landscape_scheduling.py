"""Scheduling as ``mooring up`` runs it: with the operator's own rights, and with the purposes to begin with."""

import json

from landscape_kit import until

PROFILE = """
apiVersion: clusters.openmcp.cloud/v1alpha1
kind: ClusterProfile
metadata: {name: by-hand}
spec:
  providerRef: {name: nobody}
  providerConfigRef: {name: by-hand}
  supportedVersions: [{version: 1.33.3}]
"""
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


def test_a_landscape_has_purposes_and_answers_requests(running, tmp_path):
    def names(kind):
        listed = running.kubectl("get", kind, "-A", "-o", "json").out
        return {one["metadata"]["name"] for one in json.loads(listed)["items"]}

    def apply(text):
        file = tmp_path / "object.yaml"
        file.write_text(text)
        running.kubectl("apply", "-f", str(file))

    def phase():
        return running.kubectl("get", "clusterrequest", "mine", "-o", "jsonpath={.status.phase}").out

    until(lambda: names("purposes") == {"platform", "onboarding", "workload", "mcp"}, "the purposes are there")

    # Every right that scheduling has is needed in this life of a request.
    apply(PROFILE)
    running.kubectl("patch", "purpose", "workload", "--type=merge", "-p", '{"spec": {"warm": 1}}')
    until(lambda: len(names("clusters")) == 1, "a warm cluster is there")
    apply(REQUEST)
    until(lambda: phase() == "Granted", "the request is granted")
    assert len(names("clusters")) == 2
    assert names("clusterrequestgrants") == {"mine"}
    apply(ACCESS)
    running.kubectl("annotate", "clusterrequest", "mine", "openmcp.cloud/operation=reconcile")
    annotated = ("get", "clusterrequest", "mine", "-o", "jsonpath={.metadata.annotations}")
    until(lambda: "operation" not in running.kubectl(*annotated).out, "the annotation is taken away")
    running.kubectl("delete", "clusterrequest", "mine", "--wait=false")
    until(lambda: not names("clusterrequests") and not names("accessrequests"), "request and access are gone")
    until(lambda: len(names("clusters")) == 1, "its cluster is gone")
    events = json.loads(running.kubectl("get", "events", "-o", "json").out)["items"]
    assert any(one["reason"] == "Granted" for one in events)

    # The purposes are the owner's: what was changed or deleted stays so.
    running.kubectl("delete", "purpose", "onboarding")
    running.kubectl("patch", "purpose", "workload", "--type=merge", "-p", '{"spec": {"warm": 0, "tenancyCount": 7}}')
    until(lambda: not names("clusters"), "no cluster is kept warm")
    running.run("down")
    running.run("up", "--detach")
    seats = ("get", "purpose", "workload", "-o", "jsonpath={.spec.tenancyCount}")
    apply(REQUEST)
    until(lambda: phase() == "Granted", "the controllers work again")
    assert names("purposes") == {"platform", "workload", "mcp"}
    assert running.kubectl(*seats).out == "7"

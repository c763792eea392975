"""A provider without the SDK: a loop over plain HTTP, as anybody could write it in any language.

``plain_provider.py [FAULTS] init|run …``: each of the faults, parted by commas, breaks one rule of the contract.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import signal
import ssl
import sys
import time
from urllib.parse import urlsplit

import yaml
from plain_access import Doors

CLUSTERS = "/apis/clusters.openmcp.cloud/v1alpha1"
FINALIZER = "plain.example.com/cluster"
PROVIDER, VERSION = "clusters.openmcp.cloud/provider", "clusters.openmcp.cloud/k8sversion"
OPERATION = "openmcp.cloud/operation"
NEWEST, KNOWN = "1.34.0", ("1.33.3", "1.34.0")
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl"


class Refusal(Exception):
    """The server said no."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Server:
    """An API server, by the kubeconfig that a deployment gives."""

    def __init__(self, kubeconfig: str) -> None:
        with open(kubeconfig, encoding="utf-8") as file:
            document = yaml.safe_load(file)
        cluster = document["clusters"][0]["cluster"]
        self._token = document["users"][0]["user"]["token"]
        self.address, self.authority = cluster["server"], cluster["certificate-authority-data"]
        context = ssl.create_default_context(cadata=base64.b64decode(self.authority).decode())
        self._connection = http.client.HTTPSConnection(urlsplit(self.address).netloc, context=context)

    def ask(self, method: str, path: str, body: object = None, kind: str = "application/json") -> dict:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise Refusal(answer.status, text.decode())
        return json.loads(text)

    def patch(self, path: str, body: object) -> dict:
        return self.ask("PATCH", path, body, "application/merge-patch+json")


class Provider:
    """One instance."""

    def __init__(self, server: Server, name: str, environment: str, faults: set[str]) -> None:
        self.server, self.name, self.faults = server, name, faults
        self.profile = "plain" if "fixed-profile" in faults else f"{environment}.{name}"
        if "long-name" in faults:
            self.profile += ".long" * 12
        self.known: set[tuple[str, int]] = set()
        self.told: set[str] = set()
        self.doors = Doors(server, name, self.has, Refusal)

    def has(self, fault: str) -> bool:
        return fault in self.faults

    # -- profiles -----------------------------------------------------------------------------------------------

    def publish(self, there: dict[str, dict]) -> None:
        if self.profile in there and self.profile in self.told:
            return
        if self.profile in self.told and self.has("publishes-once"):
            return
        if self.has("publishes-nothing"):
            return
        versions = ["1.100"] if self.has("partial-versions") else [] if self.has("no-versions") else KNOWN
        spec = {
            "providerRef": {"name": "plain" if self.has("wrong-ref") else self.name},
            "providerConfigRef": {"name": "-no-label-" if self.has("odd-config") else "static"},
            "supportedVersions": [{"version": text} for text in versions],
        }
        head = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterProfile"}
        try:
            self.server.ask(
                "POST", f"{CLUSTERS}/clusterprofiles", {**head, "metadata": {"name": self.profile}, "spec": spec}
            )
        except Refusal as refusal:
            # After a restart it is there, and ours.
            if refusal.code != 409 or there.get(self.profile, {}).get("providerRef", {}).get("name") != self.name:
                raise
        self.told.add(self.profile)

    # -- clusters -----------------------------------------------------------------------------------------------

    def look(self) -> None:
        found = self.server.ask("GET", f"{CLUSTERS}/clusterprofiles")["items"]
        profiles = {one["metadata"]["name"]: one["spec"] for one in found}
        self.publish(profiles)
        for cluster in self.server.ask("GET", f"{CLUSTERS}/clusters")["items"]:
            try:
                if self.is_responsible(profiles.get(cluster["spec"]["profile"])):
                    self.reconcile(cluster)
            except Refusal as refusal:
                if refusal.code not in (404, 409, 422):  # gone, or changed: the next look tells
                    raise
        if self.has("answers-everybody"):
            self.answer_everybody()
        else:
            self.doors.look(profiles)

    def is_responsible(self, profile: dict | None) -> bool:
        if profile is None:
            return self.has("serves-unknown")
        return profile["providerRef"]["name"] == self.name or self.has("serves-foreign")

    def reconcile(self, cluster: dict) -> None:
        metadata = cluster["metadata"]
        annotations = metadata.get("annotations") or {}
        if annotations.get(OPERATION) == "ignore" and not self.has("serves-ignored"):
            return
        if annotations.get(OPERATION) == "reconcile" and not self.has("deaf-to-operations"):
            self.server.patch(path_of(cluster), {"metadata": {"annotations": {OPERATION: None}}})
        if metadata.get("deletionTimestamp"):
            if not self.has("ignores-deletion"):
                self.end(cluster)
        else:
            self.make(cluster)

    def make(self, cluster: dict) -> None:
        metadata = cluster["metadata"]
        wanted = (cluster["spec"].get("kubernetes") or {}).get("version", "")
        if wanted and wanted not in KNOWN and self.has("silent-about-versions"):
            return
        if wanted and wanted != NEWEST and self.has("one-version"):
            self.report(cluster, "Progressing", "False", "NoSuchVersion", now())
            return
        if self.has("remembers-too-much"):
            if (metadata["uid"], metadata["generation"]) in self.known:
                return
            self.known.add((metadata["uid"], metadata["generation"]))
        finalizers = metadata.get("finalizers") or []
        if FINALIZER not in finalizers and not self.has("no-finalizer"):
            cluster = self.hold(cluster, [*finalizers, FINALIZER])
        if self.has("leaves-things"):
            self.leave_something(metadata)
        if self.has("leaks-event") and metadata["uid"] not in self.told:
            self.tell(metadata)
        marks = {"labels": self.labels(wanted, metadata)}
        if self.has("leaks-annotation"):
            marks["annotations"] = {"clusters.openmcp.cloud/providerinfo": f"token: {TOKEN}"}
        if any((metadata.get(part) or {}).get(name) != text for part in marks for name, text in marks[part].items()):
            cluster = self.server.patch(path_of(cluster), {"metadata": marks})
        if self.has("never-ready"):
            self.report(cluster, "Progressing", "False", "Making", now())
            return
        if self.has("restless") and not cluster.get("status"):
            for second in (1, 2):
                self.report(cluster, "Progressing", "False", "Making", f"2020-01-01T00:00:0{second}Z")
        if self.has("late-address") and not cluster.get("status"):
            self.report(cluster, "Ready", "True", "Made", now(), address=None)
        self.report(cluster, "Ready", "True", "made" if self.has("odd-reason") else "Made", now())

    def labels(self, wanted: str, metadata: dict) -> dict[str, str]:
        if self.has("labels-once") and (metadata["uid"], 0) in self.known:
            return {}
        self.known.add((metadata["uid"], 0))
        labels = {PROVIDER: "somebody" if self.has("wrong-label") else self.name}
        if not self.has("no-version-label"):
            labels[VERSION] = wanted if wanted in KNOWN and not self.has("newest-only") else NEWEST
        if not wanted and self.has("odd-version"):
            labels[VERSION] = "9.9.9"
        return labels

    def end(self, cluster: dict) -> None:
        uid, others = cluster["metadata"]["uid"], len(cluster["metadata"]["finalizers"]) > 1
        if self.has("looks-once"):
            if (uid, -1) in self.known:
                return
            if others:
                self.known.add((uid, -1))
        if not self.has("silent-deletion"):
            self.report(cluster, "Terminating", "False", "Deleting", now())
        there = self.server.ask("GET", path_of(cluster))
        others = [one for one in there["metadata"].get("finalizers") or [] if one != FINALIZER]
        if FINALIZER in there["metadata"]["finalizers"] and (not others or self.has("impatient")):
            self.hold(there, others)

    def hold(self, cluster: dict, finalizers: list[str]) -> dict:
        metadata = {"finalizers": finalizers, "resourceVersion": cluster["metadata"]["resourceVersion"]}
        return self.server.patch(path_of(cluster), {"metadata": metadata})

    def report(self, cluster: dict, phase: str, ready: str, reason: str, when: str, address: str | None = "") -> None:
        condition = {"type": "Ready", "status": ready, "reason": reason, "message": f"It is {phase}."}
        old = next((one for one in (cluster.get("status") or {}).get("conditions", ()) if one["type"] == "Ready"), {})
        if old.get("status") == ready and not self.has("restless"):
            when = old["lastTransitionTime"]
        conditions = [{**condition, "lastTransitionTime": when}]
        if self.has("own-condition"):
            conditions[0]["type"] = "Made"
        if self.has("lying-phase"):
            conditions.append({**conditions[0], "type": "Network", "status": "False"})
        status = {
            "observedGeneration": 1 if self.has("deaf") else cluster["metadata"]["generation"],
            "phase": "Running" if self.has("odd-phase") and phase == "Ready" else phase,
            "conditions": conditions,
        }
        if address is not None and not self.has("no-address"):
            mine = f"https://{os.getpid()}.example.com" if self.has("makes-anew") else self.server.address
            status["apiServer"] = mine
        if self.has("leaks-status"):
            status["providerStatus"] = {"admin": {"kubeconfig": "apiVersion: v1"}}
        if {**(cluster.get("status") or {}), **status} != cluster.get("status"):
            self.server.patch(f"{path_of(cluster)}/status", {"status": status})

    # -- mischief -----------------------------------------------------------------------------------------------

    def leave_something(self, metadata: dict) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"of-{metadata['name']}"}}
        try:
            self.server.ask("POST", f"/api/v1/namespaces/{metadata['namespace']}/configmaps", body)
        except Refusal as refusal:
            if refusal.code != 409:
                raise

    def tell(self, metadata: dict) -> None:
        where = metadata["namespace"]
        about = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster", "name": metadata["name"]}
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"of-{metadata['name']}"},
            "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
            "type": "Normal",
            "reason": "Made",
            "action": "Make",
            "note": f"Enter with the password: {TOKEN}",
            "reportingController": "plain.example.com/provider",
            "reportingInstance": self.name,
            "regarding": {**about, "namespace": where, "uid": metadata["uid"]},
        }
        self.server.ask("POST", f"/apis/events.k8s.io/v1/namespaces/{where}/events", body)
        self.told.add(metadata["uid"])

    def answer_everybody(self) -> None:
        for access in self.server.ask("GET", f"{CLUSTERS}/accessrequests")["items"]:
            status = {"observedGeneration": 1, "phase": "Granted"}
            if not access.get("status"):
                where = f"{CLUSTERS}/namespaces/{access['metadata']['namespace']}/accessrequests"
                self.server.patch(f"{where}/{access['metadata']['name']}/status", {"status": status})


def path_of(cluster: dict) -> str:
    metadata = cluster["metadata"]
    return f"{CLUSTERS}/namespaces/{metadata['namespace']}/clusters/{metadata['name']}"


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def words(faults: set[str], argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("init", "run"))
    for flag in ("environment", "provider-name", "verbosity"):
        parser.add_argument(f"--{flag}", required=True)
    if "few-flags" not in faults:
        for flag in ("leader-elect", "metrics-bind-address", "metrics-secure"):
            parser.add_argument(f"--{flag}")
    return parser.parse_args(argv)


def init(server: Server, faults: set[str]) -> None:
    if "init-fails" in faults:
        sys.exit("This cannot be installed.")
    if "init-once" in faults:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "installed"}}
        server.ask("POST", f"/api/v1/namespaces/{os.environ['POD_NAMESPACE']}/configmaps", body)


def main(argv: list[str]) -> None:
    faults = set(argv.pop(0).split(",")) if argv[0] not in ("init", "run") else set()
    given = words(faults, argv)
    code = 3 if "bad-end" in faults else 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(code))
    server = Server(os.environ["KUBECONFIG"])
    if given.command == "init":
        init(server, faults)
        return
    provider = Provider(server, given.provider_name, given.environment, faults)
    while True:
        provider.look()
        time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1:])

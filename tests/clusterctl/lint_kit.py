"""A provider repository that keeps every rule, to be spoilt by tests of the linter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from releases import Release, infrastructure, write_repository

TEMPLATE = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: ${CLUSTER_NAME}
  namespace: ${NAMESPACE}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: ShipyardCluster, name: "${CLUSTER_NAME}"}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: ShipyardCluster
metadata:
  name: ${CLUSTER_NAME}
  namespace: ${NAMESPACE}
spec:
  berths: ${SHIPYARD_BERTHS:=3}
  version: ${KUBERNETES_VERSION}
  counts: ["${CONTROL_PLANE_MACHINE_COUNT}", "${WORKER_MACHINE_COUNT:=0}"]
"""
RELEASE = infrastructure("v1.0.0", files={"cluster-template.yaml": TEMPLATE})


def labelled(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for one in objects:
        one["metadata"].setdefault("labels", {})["cluster.x-k8s.io/provider"] = "infrastructure-shipyard"
    return objects


class Yard:
    """A repository with one good release, to be spoilt."""

    def __init__(self, base: Path, release: Release = RELEASE) -> None:
        self.folder = base / release.label
        self.release = self.folder / release.version
        write_repository(base, [release])
        self.write(labelled(release.objects()))

    @property
    def components(self) -> Path:
        return self.release / "infrastructure-components.yaml"

    @property
    def template(self) -> Path:
        return self.release / "cluster-template.yaml"

    def objects(self) -> list[dict[str, Any]]:
        return list(yaml.load_all(self.components.read_text(), yaml.CSafeLoader))

    def write(self, objects: list[dict[str, Any]]) -> None:
        self.components.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper, sort_keys=False))

    def change(self, kind: str, change: Callable[[dict[str, Any]], None]) -> None:
        objects = self.objects()
        for one in objects:
            if one["kind"] == kind:
                change(one)
        self.write(objects)

    def drop(self, *kinds: str) -> None:
        self.write([one for one in self.objects() if one["kind"] not in kinds])

    def add(self, *objects: dict[str, Any]) -> None:
        self.write([*self.objects(), *labelled(list(objects))])

    def replace(self, old: str, new: str, file: Path | None = None) -> None:
        path = file or self.template
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def metadata(self, text: str) -> None:
        (self.release / "metadata.yaml").write_text(text)


def manager(one: dict[str, Any]) -> dict[str, Any]:
    return one["spec"]["template"]["spec"]["containers"][0]


METADATA = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n"
OLD = f"{METADATA}- {{major: 1, minor: 0, contract: v1alpha3}}\n"


def webhooks(namespace: str) -> dict[str, Any]:
    hook = {"name": "a.b.c", "clientConfig": {"service": {"name": "hooks", "namespace": namespace}}}
    metadata = {"name": "hooks"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": [hook],
    }


def unlabel(one: dict[str, Any]) -> None:
    del one["metadata"]["labels"]


def old_contract_with(yard: Yard, namespace: str) -> None:
    yard.metadata(OLD)
    yard.add(webhooks(namespace))


SHARED = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "capi-webhook-system"}}

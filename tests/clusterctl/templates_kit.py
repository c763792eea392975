"""Templates of workload clusters of all sorts, and a repository that has them: for tests of ``generate``."""

from __future__ import annotations

import re
from pathlib import Path

from releases import infrastructure, write_config, write_repository
from runners import Ended

HEAD = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: ${CLUSTER_NAME}\n"
TEMPLATE = f"""
{HEAD}  namespace: ${{ NAMESPACE }}
spec:
  clusterNetwork:
    pods: {{cidrBlocks: [${{POD_CIDR:="192.168.0.0/16"}}]}}
  controlPlaneRef: {{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: ${{ CLUSTER_NAME}}-cp}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata:
  name: ${{CLUSTER_NAME }}-cp
spec:
  replicas: ${{CONTROL_PLANE_MACHINE_COUNT}}
  version: ${{KUBERNETES_VERSION:-v1.30.0}}
  note: ${{NOTE:=${{CLUSTER_NAME^^}}-${{NAMESPACE}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {{name: "${{CLUSTER_NAME}}-md", namespace: elsewhere}}
spec: {{replicas: ${{WORKER_MACHINE_COUNT=3}}, size: "${{SIZE:-small & <cheap>}}", on: y}}
"""
MANY = """
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: binding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role}
subjects:
- {kind: ServiceAccount, name: one, namespace: other}
- {kind: User, name: two}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: binding, namespace: other}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: role}
subjects: [{kind: ServiceAccount, name: one, namespace: other}]
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: certificate, namespace: other}
spec: {dnsNames: [service.other.svc, service.other.svc.cluster.local, elsewhere]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hooks, annotations: {cert-manager.io/inject-ca-from: other/certificate}}
webhooks:
- name: a.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: service, namespace: other, path: /a}}
---
apiVersion: v1
kind: Secret
metadata: {name: "${CLUSTER_NAME}-secret"}
stringData: {key: "${SECRET_VALUE}"}
---
apiVersion: v1
kind: List
items: [{kind: ConfigMap}]
"""
ODD = """
kind: Thing
---
apiVersion: v1
metadata: {}
---
{}
---
just: data
---
apiVersion: v1
kind: ConfigMap
metadata: null
---
apiVersion: 1
kind: 2
metadata: text
"""
LISTED = """
a: ${PLAIN} ${WITH_DEFAULT:=default} ${QUOTED:="already"} ${EMPTY:=} ${TRIMMED#x} ${UPPER^^} ${LENGTH} ${#LENGTH}
b: ${HTML:=a<b} ${LONG_NAME_OF_A_VARIABLE:-x} ${ENTITY:=a&b} ${CLUSTER_NAME} ${NAMESPACE:=n} ${KUBERNETES_VERSION}
c: ${CONTROL_PLANE_MACHINE_COUNT:=7} ${WORKER_MACHINE_COUNT} ${NESTED:=${INNER}-${OTHER:=x}}
d: ${ESCAPED:=a\\b'c} ${é:=ü\u200b€}
e: ${LINES:=a
b} ${QUOTED_LINES:="a
b	c"} ${AFTER:=1} ${ENDED:=>;} ${LAST:=z} $${NOT_ONE} ${ SPACED } ${ SPACED_TOO} ${PLAIN:=later}
"""
CLASS = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick, namespace: somewhere}
spec: {size: "${CLASS_SIZE:=large}"}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: ShipyardClusterTemplate
metadata: {name: quick-cluster}
"""


def of_class(topology: str, version: str = "v1beta2") -> str:
    head = HEAD.replace("v1beta2", version)
    return f"{head}spec:\n  topology: {topology}\n"


FLAVORS = {
    "": TEMPLATE,
    "many": MANY,
    "odd": ODD,
    "listed": LISTED,
    "missing": "a: ${B} ${A} ${B} ${C:=} ${D:=x} ${E#x} ${F^} ${#G} ${H:-${I}} ${J}",
    "escaped": "a: $${A} $$ $A $ ${B:=\\}} \\$",
    "bad": "a: ${A",
    "nonsense": "a: [",
    "scalar": "text",
    "empty": "",
    "cased": "a: ${mixedCase} ${MIXEDCASE} ${from_file} ${FROM_FILE} ${number} ${list} ${dashed_name} ${flag}",
    "class": of_class("{classRef: {name: quick}, version: v1}") + "---\na: ${CLASS_SIZE:=small}",
    "class-elsewhere": of_class("{classRef: {name: quick, namespace: far}}"),
    "class-old": of_class("{class: quick, classNamespace: old}", "v1beta1"),
    "class-twice": of_class("{classRef: {name: quick}}") + "---\n" + of_class("{classRef: {name: quick}}"),
    "class-none": of_class("{}") + "---\n" + of_class("", "v1beta1") + "---\n" + of_class("{controlPlane: {}}"),
    "class-ancient": of_class("{class: quick}", "v1alpha4"),
    "class-absent": of_class("{classRef: {name: nowhere}}"),
    "class-nameless": of_class("{version: v1}"),
    "class-old-empty": of_class("{}", "v1beta1"),
    "class-nothing": of_class("{classRef: {name: ''}, workers: {}, controlPlane: {metadata: {}, unknown: 1}}"),
    "class-replicas": of_class("{controlPlane: {replicas: 0}}"),
    "class-text": of_class("{classRef: {name: quick}, controlPlane: {replicas: '3'}}"),
    "class-number": of_class("{classRef: {name: 1}}"),
    "class-fraction": of_class("{class: quick, controlPlane: {replicas: 1.5}}", "v1beta1"),
    "class-whole": of_class("{class: quick, controlPlane: {replicas: 2.0}, unknown: [], version: ~}", "v1beta1"),
    "class-time": of_class("{class: quick, controlPlane: {nodeDrainTimeout: 1h2.5m}, rolloutAfter: x}", "v1beta1"),
    "class-no-time": of_class("{class: quick, controlPlane: {nodeDrainTimeout: soon}}", "v1beta1"),
    "class-variables": of_class("{classRef: {name: quick}, variables: [{name: a, value: {b: [1, y]}}]}"),
    "class-no-list": of_class("{classRef: {name: quick}, variables: {a: b}}"),
    "class-needy": of_class("{classRef: {name: needy}}") + "---\na: ${ALSO_NEEDED:=1}",
    "class-broken": of_class("{classRef: {name: broken}}"),
    "class-several": of_class("{classRef: {name: quick}}") + "---\n" + of_class("{class: plain}", "v1beta1"),
    "no-spec": HEAD + "spec: text\n",
    "paused": HEAD + "spec: {paused: 'true'}\n",
    "ports": HEAD + "spec: {clusterNetwork: {apiServerPort: '6443'}}\n",
    "labels": HEAD.replace("metadata:", "metadata:\n  labels: {a: 1}") + "spec: {}\n",
}
IN_HARBOUR = ("-n", "harbour", "-i", "shipyard:v1.1.0")


def write_templates(base: Path) -> Path:
    """A configuration with a repository of two versions, and variables of all sorts."""
    files = {
        f"cluster-template-{name}.yaml" if name else "cluster-template.yaml": text for name, text in FLAVORS.items()
    }
    files["clusterclass-quick.yaml"] = CLASS
    files["clusterclass-plain.yaml"] = (
        "kind: Namespace\n---\nkind: Role\nmetadata: {name: '${CLUSTER_NAME}-${NAMESPACE}'}\n"
    )
    files["clusterclass-needy.yaml"] = "a: ${NEEDED} ${ALSO_NEEDED} ${DEFAULTED:=x}\n"
    files["clusterclass-broken.yaml"] = "a: [\n"
    releases = [
        infrastructure("v1.0.0", files={"cluster-template.yaml": "a: older"}),
        infrastructure("v1.1.0", files=files),
    ]
    write_repository(base, releases)
    variables = {
        "mixedCase": "mixed",
        "FROM_FILE": "file",
        "number": 1.50,
        "list": [1],
        "dashed-name": "d",
        "flag": True,
    }
    return write_config(base / "clusterctl.yaml", base, releases, **variables, overridesFolder=str(base / "overrides"))


def outcome(ended: Ended) -> tuple[int, str, list[str]]:
    """What counts. In front of some errors the judge prints its help, and we do not."""
    return ended.code, "" if ended.code else ended.out, missing(ended)


def missing(ended: Ended) -> list[str]:
    """The variables that an error names."""
    found = re.search(r"value for variables \[([^\]]*)\] is not set", ended.err)
    return sorted(found[1].split(", ")) if found else []

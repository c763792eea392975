"""Provider repositories in the style of real releases, written by tests.

``Release(provider, version)`` is a folder with components, metadata and templates; ``write_repository`` puts releases
where a ``file:`` repository has them, and ``write_config`` names them all in a configuration file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mooring.clusterctl.providers import Provider, ProviderType

Object = dict[str, Any]
CORE, KUBEADM_BOOTSTRAP, KUBEADM_CONTROL_PLANE, INFRASTRUCTURE = (
    ("cluster-api", ProviderType.CORE),
    ("kubeadm", ProviderType.BOOTSTRAP),
    ("kubeadm", ProviderType.CONTROL_PLANE),
    ("shipyard", ProviderType.INFRASTRUCTURE),  # made up
)
COMPONENTS = {
    ProviderType.CORE: "core-components.yaml",
    ProviderType.BOOTSTRAP: "bootstrap-components.yaml",
    ProviderType.CONTROL_PLANE: "control-plane-components.yaml",
    ProviderType.INFRASTRUCTURE: "infrastructure-components.yaml",
    ProviderType.IPAM: "ipam-components.yaml",
    ProviderType.RUNTIME_EXTENSION: "runtime-extension-components.yaml",
    ProviderType.ADDON: "addon-components.yaml",
}


@dataclass(frozen=True)
class Release:
    """One version of one provider."""

    name: str
    type: ProviderType
    version: str
    namespace: str = ""  # default: <prefix>-system
    contract: str = "v1beta2"
    series: Sequence[tuple[int, int, str]] = ()  # default: that of the version
    kinds: Sequence[tuple[str, str]] = ()  # (group, kind) of its definitions
    arguments: Sequence[str] = ("--leader-elect", "--v=2")
    image: str = ""
    extra: Sequence[Object] = ()  # further objects of the components
    files: Mapping[str, str] = field(default_factory=dict)  # further files, such as cluster-template.yaml

    @property
    def label(self) -> str:
        return Provider(self.name, self.type, "").label

    @property
    def home(self) -> str:
        return self.namespace or f"{_short(self)}-system"

    @property
    def metadata(self) -> str:
        major, minor, *_ = self.version.removeprefix("v").split(".")
        series = self.series or [(int(major), int(minor), self.contract)]
        return yaml.safe_dump(
            {
                "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
                "kind": "Metadata",
                "releaseSeries": [{"major": one, "minor": two, "contract": contract} for one, two, contract in series],
            }
        )

    @property
    def components(self) -> str:
        return yaml.safe_dump_all([*self.objects(), *self.extra], sort_keys=False)

    def objects(self) -> list[Object]:
        """What such a release has: a namespace, definitions, an account with rights, a manager, a certificate."""
        short, home = _short(self), self.home
        label = {"cluster.x-k8s.io/provider": self.label}
        inside = {"namespace": home, "labels": label}
        subject = [{"kind": "ServiceAccount", "name": f"{short}-manager", "namespace": home}]
        rbac = "rbac.authorization.k8s.io"
        return [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home, "labels": label}},
            *(definition(group, kind, self, self.contract) for group, kind in self.kinds),
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": f"{short}-manager", **inside}},
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "Role",
                "metadata": {"name": f"{short}-leader-election-role", **inside},
                "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update"]}],
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": f"{short}-manager-role", "labels": label},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}],
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": f"{short}-leader-election-rolebinding", **inside},
                "roleRef": {"apiGroup": rbac, "kind": "Role", "name": f"{short}-leader-election-role"},
                "subjects": subject,
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{short}-manager-rolebinding", "labels": label},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": f"{short}-manager-role"},
                "subjects": subject,
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": f"{short}-webhook-service", **inside},
                "spec": {"ports": [{"port": 443, "targetPort": "webhook-server"}], "selector": label},
            },
            self.deployment(),
            {
                "apiVersion": "cert-manager.io/v1",
                "kind": "Certificate",
                "metadata": {"name": f"{short}-serving-cert", **inside},
                "spec": {
                    "dnsNames": [
                        f"{short}-webhook-service.{home}.svc",
                        f"{short}-webhook-service.{home}.svc.cluster.local",
                    ],
                    "issuerRef": {"kind": "Issuer", "name": f"{short}-selfsigned-issuer"},
                    "secretName": f"{short}-webhook-service-cert",
                },
            },
            {
                "apiVersion": "cert-manager.io/v1",
                "kind": "Issuer",
                "metadata": {"name": f"{short}-selfsigned-issuer", **inside},
                "spec": {"selfSigned": {}},
            },
        ]

    def deployment(self) -> Object:
        short, label = _short(self), {"cluster.x-k8s.io/provider": self.label}
        image = self.image or f"registry.example.com/{short}/manager:{self.version}"
        manager = {"name": "manager", "image": image, "command": ["/manager"], "args": list(self.arguments)}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"{short}-controller-manager", "namespace": self.home, "labels": label},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": label},
                "template": {
                    "metadata": {"labels": label},
                    "spec": {"containers": [manager], "serviceAccountName": f"{short}-manager"},
                },
            },
        }


def _short(release: Release) -> str:
    return {"cluster-api": "capi"}.get(release.name, f"{release.type.prefix}{release.name}")


def definition(group: str, kind: str, release: Release | None = None, contract: str = "v1beta2") -> Object:
    """A CustomResourceDefinition that takes everything."""
    plural = f"{kind.lower()}s" if not kind.endswith("s") else f"{kind.lower()}es"
    labels = {f"cluster.x-k8s.io/{contract}": contract}
    if release is not None:
        labels["cluster.x-k8s.io/provider"] = release.label
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": contract,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "labels": labels},
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def cert_manager_definitions() -> list[Object]:
    """As much of cert-manager as its probe asks for: bare definitions of what it creates."""
    made = []
    for kind in ("Issuer", "Certificate"):
        one = definition("cert-manager.io", kind)
        one["metadata"]["labels"] = {}
        one["spec"]["versions"][0]["name"] = "v1"
        made.append(one)
    return made


def core(version: str = "v1.14.2", **given: Any) -> Release:
    kinds = [("cluster.x-k8s.io", kind) for kind in ("Cluster", "Machine")]
    return Release(*CORE, version, kinds=given.pop("kinds", kinds), **given)


def bootstrap(version: str = "v1.14.2", **given: Any) -> Release:
    kinds = [("bootstrap.cluster.x-k8s.io", "KubeadmConfig")]
    return Release(*KUBEADM_BOOTSTRAP, version, kinds=given.pop("kinds", kinds), **given)


def control_plane(version: str = "v1.14.2", **given: Any) -> Release:
    kinds = [("controlplane.cluster.x-k8s.io", "KubeadmControlPlane")]
    return Release(*KUBEADM_CONTROL_PLANE, version, kinds=given.pop("kinds", kinds), **given)


def infrastructure(version: str = "v1.0.0", **given: Any) -> Release:
    kinds = [("infrastructure.cluster.x-k8s.io", kind) for kind in ("ShipyardCluster", "ShipyardMachine")]
    return Release(*INFRASTRUCTURE, version, kinds=given.pop("kinds", kinds), **given)


def write_repository(base: Path, releases: Sequence[Release]) -> None:
    """As the seed says: <base>/<provider label>/<version>/ with the files of that version."""
    for release in releases:
        folder = base / release.label / release.version
        folder.mkdir(parents=True, exist_ok=True)
        (folder / COMPONENTS[release.type]).write_text(release.components)
        (folder / "metadata.yaml").write_text(release.metadata)
        for name, text in release.files.items():
            (folder / name).write_text(text)


def write_config(file: Path, base: Path, releases: Sequence[Release], **variables: Any) -> Path:
    """A configuration that names the repositories of these releases, always at their latest version."""
    known = {(one.name, one.type): one for one in releases}
    providers = [
        {
            "name": name,
            "type": str(type_),
            "url": str(base / one.label / "latest" / COMPONENTS[type_]),
        }
        for (name, type_), one in known.items()
    ]
    file.write_text(yaml.safe_dump({"providers": providers, **variables}))
    return file

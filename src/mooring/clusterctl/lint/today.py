"""Checks of what today's clusterctl and API servers ask for besides: what breaks, though the contract was kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mooring.clusterctl.images import BadImage, Image
from mooring.clusterctl.lint.contents import WORKLOADS, containers_of, definitions_in, is_old
from mooring.clusterctl.lint.material import Release, placeholder
from mooring.clusterctl.lint.releases import readable
from mooring.clusterctl.objects import described, group_of, kind_of, name_of, text_at, texts_at
from mooring.clusterctl.providers import COMPATIBLE_CONTRACTS

# Versions that API servers and cert-manager do not have any more, with the kinds that they had; None stands for all.
_GONE: Final[dict[str, str | None]] = {
    "admissionregistration.k8s.io/v1beta1": "ValidatingWebhookConfiguration MutatingWebhookConfiguration",
    "apiextensions.k8s.io/v1beta1": None,
    "apiregistration.k8s.io/v1beta1": None,
    "apps/v1beta1": None,
    "apps/v1beta2": None,
    "autoscaling/v2beta1": None,
    "autoscaling/v2beta2": None,
    "batch/v1beta1": None,
    "batch/v2alpha1": None,
    "cert-manager.io/v1alpha2": None,
    "cert-manager.io/v1alpha3": None,
    "cert-manager.io/v1beta1": None,
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "certmanager.k8s.io/v1alpha1": None,
    "coordination.k8s.io/v1beta1": "Lease",
    "discovery.k8s.io/v1beta1": None,
    "events.k8s.io/v1beta1": None,
    "extensions/v1beta1": None,
    "flowcontrol.apiserver.k8s.io/v1beta1": None,
    "flowcontrol.apiserver.k8s.io/v1beta2": None,
    "flowcontrol.apiserver.k8s.io/v1beta3": None,
    "networking.k8s.io/v1beta1": "Ingress IngressClass",
    "node.k8s.io/v1beta1": None,
    "policy/v1beta1": None,
    "rbac.authorization.k8s.io/v1alpha1": None,
    "rbac.authorization.k8s.io/v1beta1": None,
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1beta1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment",
}


def accepted_contract(release: Release) -> Iterator[str]:
    contract = readable(release).contract_of(release.version)
    if contract and contract not in COMPATIBLE_CONTRACTS:
        yield f"the contract {contract} is not {' or '.join(sorted(COMPATIBLE_CONTRACTS))}"


def all_in_one_namespace(release: Release) -> Iterator[str]:
    """In the days of v1alpha3 there could be a second one for what instances share."""
    found = [name_of(one) for one in release.objects if kind_of(one) == "Namespace" and not group_of(one)]
    if is_old(release) and len(found) > 1:
        yield f"there are {len(found)} Namespace objects: {', '.join(found)}"


def definitions(release: Release) -> Iterator[str]:
    for one in definitions_in(release.objects):
        group, plural = text_at(one, "spec", "group"), text_at(one, "spec", "names", "plural")
        if name_of(one) != f"{plural}.{group}":
            yield f"{described(one)} should be called {plural}.{group}"
        if not group.endswith("cluster.x-k8s.io") or text_at(one, "spec", "scope") == "Cluster":
            continue
        contracts = {
            label.partition("/")[2] for label in texts_at(one, "labels") if label.startswith("cluster.x-k8s.io/v")
        }
        if not contracts & COMPATIBLE_CONTRACTS:
            wanted = " or ".join(f"cluster.x-k8s.io/{name}" for name in sorted(COMPATIBLE_CONTRACTS))
            yield f"{described(one)} has no label {wanted} that lists its versions of that contract"


def versions(release: Release) -> Iterator[str]:
    for file in release.files:
        for one in file.objects:
            version = text_at(one, "apiVersion")
            if version in _GONE and kind_of(one) in (_GONE[version] or kind_of(one)).split():
                yield f"{file.name}: {described(one)} is of {version}, which is gone from today's servers"


def canonical_images(release: Release) -> Iterator[str]:
    for one in release.objects:
        for container in containers_of(one) if kind_of(one) in WORKLOADS else []:
            image = text_at(container, "image")
            if image and placeholder("") not in image and not _is_canonical(image):
                yield f"{described(one)}: the image {image!r} is not canonical: write it with its registry"


def _is_canonical(image: str) -> bool:
    try:
        Image.parse(image)
    except BadImage:
        return False
    return True

"""Checks of what today's clusterctl and API servers ask for besides: what breaks, though the contract was kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mooring.clusterctl.images import BadImage, Image
from mooring.clusterctl.lint.contents import WORKLOADS, containers_of, definitions_in, is_old
from mooring.clusterctl.lint.material import Release, placeholder
from mooring.clusterctl.lint.releases import readable
from mooring.clusterctl.objects import described, group_of, kind_of, name_of, text_at, texts_at
from mooring.clusterctl.providers import COMPATIBLE_CONTRACTS

# Group versions that API servers of today do not have any more.
_GONE: Final = re.compile(
    r"(?:extensions|(?:admissionregistration|apiextensions|apiregistration|rbac\.authorization|networking|policy|storage"
    r"|scheduling|coordination|certificates|discovery|node|batch|events)(?:\.k8s\.io)?)/v\d+(?:alpha|beta)\d+"
    r"|apps/v1beta[12]|cert-manager\.io/v1(?:alpha|beta)\d+|certmanager\.k8s\.io/.*|policy/v1beta1|batch/v1beta1"
)


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
            if _GONE.fullmatch(version):
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

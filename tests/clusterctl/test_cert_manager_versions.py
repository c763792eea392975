"""When a cert-manager is upgraded: decided from the annotations and images of its parts."""

from __future__ import annotations

import pytest

from mooring.clusterctl.cert_manager_versions import VERSION_ANNOTATION, Upgrade, upgrade_of
from mooring.clusterctl.errors import ClusterctlError
from mooring.kube import Object


def part(version: str | None, name: str = "one", kind: str = "Service") -> Object:
    annotations = {} if version is None else {VERSION_ANNOTATION: version}
    return {"kind": kind, "metadata": {"name": name, "annotations": annotations}}


def program(image: str) -> Object:
    spec = {"template": {"spec": {"containers": [{"name": "controller", "image": image}]}}}
    return {**part("v1.2.0", kind="Deployment"), "spec": spec}


@pytest.mark.parametrize(
    ("there", "wanted", "needed"),
    [
        ("v1.2.0", "v1.3.0", True),
        ("v1.3.0", "v1.2.0", False),
        ("v1.2.0", "v1.2.0", False),
        ("v1.2.0-rc.1", "v1.2.0", True),
        ("v1.2.0", "v1.2.0-rc.1", False),
        ("v1.2.0+1", "v1.2.0+2", True),
        ("v1.2.0+2", "v1.2.0+1", False),
        ("v1.2.0+9", "v1.2.0+10", True),
        ("v1.2.0", "v1.2.0+1", True),
        ("v1.2.0+1", "v1.2.0", False),
        ("v1.2.0+a", "v1.2.0+b", True),  # which is newer, nobody knows
        ("v1.2.0+b", "v1.2.0+a", True),
        ("v1.2.0+1", "v1.2.0+a", True),
        ("v1.2.0+a", "v1.2.0+1", False),
        ("1.2", "v1.2.0", False),
        ("v01.2.0", "v1.2.0", False),
        (None, "v0.1.0", True),  # from before there were annotations
    ],
)
def test_versions(there: str | None, wanted: str, needed: bool):
    assert upgrade_of([part(there)], [part(wanted)], wanted) == Upgrade(there or "v0.11.0", wanted, needed=needed)


def test_the_same_version_in_another_form():
    assert upgrade_of([part("v1.2.0")], [part("v1.2.0"), part("v1.2.0", "two")], "v1.2.0").needed
    endpoints = part("v1.2.0", kind="EndpointSlice")  # the server's own
    assert not upgrade_of([part("v1.2.0"), endpoints], [part("v1.2.0")], "v1.2.0").needed
    assert upgrade_of([program("here/x:v1")], [program("there/x:v1")], "v1.2.0").needed
    assert not upgrade_of([program("here/x:v1")], [program("here/x:v1")], "v1.2.0").needed


@pytest.mark.parametrize("wrong", ["", "one", "v1.2.3.4", "v1.2-rc.1", "v1..2"])
def test_no_versions(wrong: str):
    with pytest.raises(ClusterctlError, match=r"cert-manager\.version in the configuration file"):
        upgrade_of([part("v1.2.0")], [], wrong)
    with pytest.raises(ClusterctlError, match="of Service one"):
        upgrade_of([part(wrong)], [], "v1.2.0")

"""metadata.yaml: read as the judge reads it, and which contract a version speaks."""

from __future__ import annotations

import pytest
from repository_kit import Local, compared, metadata

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.metadata import Metadata, Series, accepted_contract

# Two releases and the series 1.1 of today's contract: a file that can be read makes `latest` v1.1.0.
GOOD = metadata((1, 1, "v1beta2"))
HEAD = metadata()
ROW = "- {major: 1, minor: 1, contract: v1beta2}\n"
AS_JSON = (
    '{"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata", '
    '"releaseSeries": [{"major": 1, "minor": 1, "contract": "v1beta2"}]}'
)
TEXTS = {
    "as it should be": GOOD,
    "not YAML": "{{{",
    "nothing": "",
    "a list": "- 1\n",
    "no apiVersion": GOOD.replace("apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\n", ""),
    "no kind": GOOD.replace("kind: Metadata\n", ""),
    "another kind": GOOD.replace("kind: Metadata\n", "kind: Provider\n"),
    "another version": GOOD.replace("v1alpha3", "v1beta1", 1),
    "no group": GOOD.replace("clusterctl.cluster.x-k8s.io/v1alpha3", "v1alpha3", 1),
    "no series": HEAD,
    "series in other letters": GOOD.replace("releaseSeries", "releaseseries"),
    "series twice": GOOD + "releaseSeries: []\n",
    "text for a number": metadata(('"1"', 1, "v1beta2")),
    "a round fraction": metadata(("1.0", 1, "v1beta2")),
    "an exponent": metadata(("1e0", 1, "v1beta2")),
    "octal": metadata(("01", "0o1", "v1beta2")),
    "too large": metadata((1, 1, "v1beta2"), ("99999999999", 1, "v1beta1")),
    "negative": metadata((1, 1, "v1beta2"), ("-1", 1, "v1beta2")),
    "fields in other letters": HEAD + "- {Major: 1, Minor: 1, contract: v1beta2}\n",
    "an empty row": HEAD + "- null\n" + ROW,
    "a row of text": HEAD + "- foo\n" + ROW,
    "a contract that is a boolean": HEAD + "- {major: 1, minor: 1, contract: yes}\n" + ROW,
    "two documents": GOOD + "---\nfoo: bar\n",
    "an empty document first": "---\n---\n" + GOOD,
    "metadata that are text": GOOD + "metadata: foo\n",
    "a name that is a number": GOOD + "metadata: {name: 3}\n",
    "labels that are numbers": GOOD + "metadata: {labels: {a: 3}}\n",
    "labels that are nothing": GOOD + "metadata: {labels: {a: null}, creationTimestamp: null}\n",
    "a time that is none": GOOD + "metadata: {creationTimestamp: 2024-01-01}\n",
    "a list that is none": GOOD + "metadata: {finalizers: a}\n",
    "an owner that is none": GOOD + "metadata: {ownerReferences: [{kind: 1}]}\n",
    "a key that is a number": GOOD + "3: foo\n",
    "more fields": GOOD + "foo: bar\n",
    "JSON": AS_JSON,
    "JSON with more behind": AS_JSON + "\n---\nfoo",
    "JSON with a fraction": AS_JSON.replace('"major": 1', '"major": 1.0'),
    "a byte order mark": "\ufeff" + GOOD,
    "an old contract": metadata((1, 2, "v1alpha3"), (1, 1, "v1alpha3")),
    "a contract of yesterday": metadata((1, 2, "v1beta1"), (1, 1, "v1beta1")),
    "a contract of tomorrow": metadata((1, 2, "v1beta3"), (1, 1, "v1beta3")),
    "a series twice": metadata((1, 2, "v1beta2"), (1, 2, "v1alpha3")),
    "a series that is not listed": metadata((1, 7, "v1beta1")),
}


def test_metadata_mean_what_they_mean_to_the_judge(judge, tmp_path):
    local = Local(tmp_path)
    urls = {about: local.repository(about, {"v1.2.0": text, "v1.1.0": text}) for about, text in TEXTS.items()}
    assert compared(judge, local, urls) == []


def test_metadata_say_what_is_wrong():
    with pytest.raises(ClusterctlError, match=r"m\.yaml: apiVersion is 'v1', and must be clusterctl\.cluster"):
        Metadata.read(GOOD.replace("clusterctl.cluster.x-k8s.io/v1alpha3", "v1"), where="m.yaml")
    with pytest.raises(ClusterctlError, match=r"m\.yaml: apiVersion is missing"):
        Metadata.read("kind: Metadata", where="m.yaml")
    with pytest.raises(ClusterctlError, match=r"releaseSeries is empty"):
        Metadata.read(HEAD, where="m.yaml")
    with pytest.raises(ClusterctlError, match=r"releaseSeries\[0\]\.minor is 'two', and must be a whole number"):
        Metadata.read(metadata((1, "two", "v1beta2")), where="m.yaml")
    with pytest.raises(ClusterctlError, match=r"releaseSeries\[0\]\.contract is True"):
        Metadata.read(metadata((1, 2, "yes")), where="m.yaml")


def test_a_version_speaks_the_contract_of_its_series():
    found = Metadata.read(metadata((1, 10, "v1beta2"), (1, 9, "v1beta1"), (0, 3, "v1alpha3")), where="m.yaml")
    assert found.series == (Series(1, 10, "v1beta2"), Series(1, 9, "v1beta1"), Series(0, 3, "v1alpha3"))
    assert [found.contract_of(one) for one in ("v1.10.3", "1.9.0-rc.1", "v2.0.0")] == ["v1beta2", "v1beta1", None]
    assert found.newest_of("v1beta2") == Series(1, 10, "v1beta2")
    assert found.newest_of("v1beta3") is None


def test_the_contract_of_old_is_accepted_only_if_asked_for():
    found = Metadata.read(metadata((1, 0, "v1beta2"), (0, 3, "v1alpha3"), (0, 4, "v1alpha4")), where="m.yaml")

    def asked(version: str, compat: str = "") -> str:
        return accepted_contract(found, version, label="infrastructure-x", compat=compat)

    assert asked("v1.0.1") == "v1beta2"
    assert asked("v0.3.9", "v1alpha3") == "v1alpha3"
    with pytest.raises(
        ClusterctlError, match=r"v0\.3\.9 .* speaks the contract v1alpha3.*--compat v1alpha3 accepts it"
    ):
        asked("v0.3.9")
    with pytest.raises(
        ClusterctlError, match=r"speaks the contract v1alpha4, and this can only work with v1beta1, v1beta2$"
    ):
        asked("v0.4.0")
    with pytest.raises(ClusterctlError, match=r"speaks the contract v1beta2, and this can only work with v1alpha3$"):
        asked("v1.0.0", "v1alpha3")
    with pytest.raises(ClusterctlError, match=r"do not list .* v7\.0\.0 \(listed: 1\.0, 0\.3, 0\.4\)"):
        asked("v7.0.0")
    with pytest.raises(ClusterctlError, match="not a semantic version"):
        asked("latest")


def test_metadata_of_old_need_not_name_their_version():
    text = "releaseSeries:\n- {major: 0, minor: 3, contract: v1alpha3}\n"
    assert Metadata.read(text, where="m.yaml", compat="v1alpha3").contract_of("v0.3.0") == "v1alpha3"
    assert Metadata.read("", where="m.yaml", compat="v1alpha3").series == ()

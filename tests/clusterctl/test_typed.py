"""Objects that are read into a type and written again: by chance, all at once, and as the real clusterctl does it."""

from __future__ import annotations

import json
import os

import pytest
from components_kit import Case, Desk, container, documents, namespace, unlike, workload
from random_objects import Chance

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.typed import as_typed
from mooring.clusterctl.typed.quantities import BadQuantity, canonical

ROUNDS = 60 if os.environ.get("MOORING_LONG_RUN") else 2
WRONG = 400 if os.environ.get("MOORING_LONG_RUN") else 16
NO_AMOUNTS = ("", "e", "1ee5", "1e+", "1Kii", "1K", "1ki", "1 m", "0x10", "1_0", "1,5", "--1", "1.2.3", "١")


@pytest.fixture
def desk(judge, ours, tmp_path) -> Desk:
    return Desk(judge, ours, tmp_path / "repository")


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_what_is_right_comes_out_alike(desk, seed):
    chance = Chance(seed)
    made = [chance.object(f"object-{place}") for place in range(60)]
    assert desk.differences({f"seed {seed}": Case([namespace(), *made])}) == []


def test_what_is_wrong_is_refused_alike(desk):
    chance = Chance(1)
    refused = 0
    for _ in range(WRONG):
        one = chance.object("spoilt")
        where = chance.spoil(one)
        theirs, mine = desk.both(Case([namespace(), one]))
        assert list(unlike(theirs, mine)) == [], where
        refused += theirs.code
    assert refused  # or it tries nothing


def test_amounts_come_out_alike(desk):
    chance = Chance(2)
    amounts = sorted({chance.amount() for _ in range(600)} | {"+", "m", ".", "010", "-0", "8Ei", "1000000E", " 1 "})
    limits = {f"n{place}": amount for place, amount in enumerate(amounts)}
    one = workload(containers=[container(resources={"limits": limits})])
    theirs, mine = desk.both(Case("---\n".join(f"{json.dumps(each)}\n" for each in (namespace(), one))))
    assert list(unlike(theirs, mine)) == []
    written = documents(mine)[1]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert len(written) == len(amounts) > 300


@pytest.mark.parametrize("text", NO_AMOUNTS)
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(BadQuantity):
        canonical(text)


def test_the_judge_takes_none_of_them_either(desk):
    cases = {
        text: Case([namespace(), workload(containers=[container(resources={"limits": {"cpu": text}})])])
        for text in NO_AMOUNTS[::3]
    }
    assert desk.differences(cases, refused=list(cases)) == []


def test_numbers_that_do_not_fit_are_refused(desk):
    """DEVIATION numbers-beyond-their-bits: the judge cuts them off, to something that nobody has written."""
    one = workload()
    one["spec"]["replicas"] = 3_000_000_000
    theirs, mine = desk.both(Case([namespace(), one]))
    assert (theirs.code, mine.code) == (0, 1)
    assert documents(theirs)[1]["spec"]["replicas"] == 3_000_000_000 - 2**32
    assert "spec.replicas: must be a number of 32 bits" in mine.err
    one["spec"]["replicas"] = 2**31 - 1
    one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 3_000_000_000
    probe = {"httpGet": {"port": 3_000_000_000}}
    both = {
        "fitting": Case([namespace(), one]),
        "a port": Case([namespace(), workload(containers=[container(livenessProbe=probe)])]),
    }
    assert desk.differences(both, refused=["a port"]) == []


def test_the_field_is_named():
    one = workload(containers=[container(), container("proxy", ports=[{"containerPort": "web"}])])
    with pytest.raises(ClusterctlError, match=r"Deployment manager: spec\.template\.spec\.containers\[1\]\.ports\[0\]"):
        as_typed(one)


def test_too_deep_is_a_sentence():
    schema: dict = {"type": "object"}
    for _ in range(400):
        schema = {"properties": {"a": schema}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    one = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"versions": versions}}
    with pytest.raises(ClusterctlError, match="too deep"):
        as_typed(one)

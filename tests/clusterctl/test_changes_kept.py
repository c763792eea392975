"""What people changed on controllers, carried from one release to the next: tables, without any server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.clusterctl.upgrading.keeping import carried, wishes
from mooring.clusterctl.upgrading.settings import settings_of, with_settings
from mooring.kube import Object

NAME = "shipyard-controller-manager"


def deployment(*args: str, image: str = "manager:v1", replicas: int = 1, **container: Any) -> Object:
    manager = {"name": "manager", "image": image, "args": list(args), **container}
    return {
        "kind": "Deployment",
        "metadata": {"name": NAME},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [manager]}}},
    }


def upgraded(released: Object, live: Object, new: Object, **given: Any) -> Any:
    found = wishes({NAME: released}, {NAME: live}, {NAME: new})
    return carried([new], found, **given)


def args_of(kept: Any) -> list[str]:
    return kept.objects[0]["spec"]["template"]["spec"]["containers"][0].get("args", [])


@pytest.mark.parametrize(
    ("about", "released", "live", "new", "expected"),
    [
        ("nothing changed", ["--v=2"], ["--v=2"], ["--v=3", "--new"], ["--v=3", "--new"]),
        ("a value", ["--v=2"], ["--v=7"], ["--v=3", "--new"], ["--v=7", "--new"]),
        ("as the new one has it", ["--v=2"], ["--v=3"], ["--v=3"], ["--v=3"]),
        ("a flag of one's own", ["--v=2"], ["--v=2", "--mine"], ["--v=3"], ["--v=3", "--mine"]),
        ("a flag taken away", ["--v=2", "--x"], ["--v=2"], ["--v=3", "--x"], ["--v=3"]),
        ("another order", ["--a=1", "--b=2"], ["--b=2", "--a=1"], ["--a=3", "--b=4"], ["--a=3", "--b=4"]),
        ("one that is unknown by now", ["--old=1"], ["--old=2"], ["--v=3"], ["--v=3"]),
        ("a value as a word of its own", ["--v", "2"], ["--v", "9"], ["--v", "3", "--x"], ["--v", "9", "--x"]),
        ("spelt otherwise", ["--v=2"], ["--v", "2"], ["--v=3"], ["--v", "2"]),
        ("one gate", ["--g=A=1,B=2"], ["--g=A=9,B=2"], ["--g=A=1,B=3,C=4"], ["--g=A=9,B=3,C=4"]),
        ("a gate of one's own", ["--g=A=1"], ["--g=A=1,Z=1"], ["--g=A=2"], ["--g=A=2,Z=1"]),
        ("a gate that is unknown by now", ["--g=A=1,B=1"], ["--g=A=1,B=2"], ["--g=A=1"], ["--g=A=1"]),
        ("a gate taken away", ["--g=A=1,B=1"], ["--g=A=1"], ["--g=A=1,B=1"], ["--g=A=1"]),
        ("repeated flags", ["--w=a", "--w=b"], ["--w=a", "--w=c"], ["--w=a", "--w=b"], ["--w=a", "--w=c"]),
        ("words that are no flags", ["run", "--v=2"], ["run", "--v=3"], ["start", "--v=2"], ["start", "--v=3"]),
    ],
)
def test_flags(about: str, released: list[str], live: list[str], new: list[str], expected: list[str]):
    kept = upgraded(deployment(*released), deployment(*live), deployment(*new, image="manager:v2"))
    assert args_of(kept) == expected
    assert kept.objects[0]["spec"]["template"]["spec"]["containers"][0]["image"] == "manager:v2"


def test_replicas_environment_and_resources():
    told = {"name": "TOKEN", "value": "secret"}
    proxy, other = {"name": "PROXY", "value": "none"}, {"name": "PROXY", "value": "http://here"}
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    kept = upgraded(
        deployment(env=[proxy], resources={"limits": {"cpu": "1"}}),
        deployment(env=[other, told], resources={"limits": {"cpu": "2"}}, replicas=3),
        deployment(env=[proxy], resources=limits, image="manager:v2"),
    )
    manager = kept.objects[0]["spec"]["template"]["spec"]["containers"][0]
    assert kept.objects[0]["spec"]["replicas"] == 3
    assert manager["env"] == [other, told]
    assert manager["resources"] == {"limits": {"cpu": "2", "memory": "1Gi"}}
    assert len(kept.kept) == 4
    assert not any("secret" in line for line in kept.kept)


def test_stopped_controllers_start_again():
    kept = upgraded(deployment(replicas=2), deployment(replicas=0), deployment(replicas=2))
    assert kept.objects[0]["spec"]["replicas"] == 2


def test_what_an_interrupted_upgrade_left_is_compared_with_its_own_release():
    released, new = deployment("--v=2", "--gone=1"), deployment("--v=3", "--new", image="manager:v2")
    live = deployment("--v=3", "--new", "--mine", image="manager:v2")
    assert args_of(upgraded(released, live, new)) == ["--v=3", "--new", "--mine"]


def test_variables_that_are_set_today_win():
    released, new = deployment("--v=2"), deployment("--v=5", image="manager:v2")
    template = {NAME: deployment("--v=${LEVEL:=3}")}
    for is_set, expected in ((True, ["--v=5"]), (False, ["--v=9"])):
        kept = upgraded(released, deployment("--v=9"), new, templates=template, is_set_today=lambda _: is_set)  # noqa: B023
        assert args_of(kept) == expected
        assert bool(kept.dropped) is is_set


def test_what_has_gone_is_told():
    found = wishes({NAME: deployment("--v=2")}, {NAME: deployment("--v=9")}, {})
    kept = carried([], found)
    assert kept.dropped == [f"--v=9 in container manager of Deployment {NAME}: the new version has no such Deployment"]


FLAGS = [["--a=1"], ["--a=2"], ["--b"], ["--g=A=1"], ["--g=A=1,B=2"], ["--g=A"], ["--d", "7"], ["--d", "-"]]
words = st.builds(
    lambda first, flags: first + [word for flag in flags for word in flag],
    st.lists(st.sampled_from(["run", "-"]), max_size=2),
    st.lists(st.sampled_from(FLAGS), max_size=6),
)


@given(words, words)
def test_an_upgrade_to_the_same_release_changes_nothing(released: list[str], live: list[str]):
    """Whatever was changed by hand, it says the same afterwards."""
    kept = upgraded(deployment(*released), deployment(*live), deployment(*released))
    assert settings_of(kept.objects[0]) == settings_of(deployment(*live))


@given(words)
def test_written_as_read(args: list[str]):
    one = deployment(*args)
    assert settings_of(with_settings(one, settings_of(one))) == settings_of(one)

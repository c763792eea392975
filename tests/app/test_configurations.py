"""Configurations out of files, directories and ConfigMaps: read, changed, spoilt and mended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mooring.app.configurations import (
    ConfigurationChoice,
    ConfigurationFiles,
    ConfigurationMap,
    ConfigurationSource,
    FixedConfiguration,
    UnusableConfiguration,
    configuration_choice,
    read_files,
)
from mooring.app.installing import NAMESPACE
from mooring.app.settings import SettingError
from mooring.kube import Client, Connection, Impersonation, MergePatch, ObjectKey, untyped
from mooring.kube.errors import Forbidden
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration, configuration_of
from mooring.testing.builders import CONFIG_MAPS, config_map
from mooring.testing.clock import SimulatedClock
from mooring.testing.faults import FaultProxy

MOORING = Path(sys.executable).with_name("mooring")
PAGE = Path(__file__).parents[2] / "docs/reference/configuration.md"
PATIENCE = 120.0


def strategy(word: str) -> str:
    return f"scheduler: {{strategy: {word}}}\n"


def a_purpose(name: str) -> str:
    mapping = {"template": {"spec": {"profile": "local", "tenancy": "Exclusive"}}}
    return yaml.safe_dump({"scheduler": {"purposeMappings": {name: mapping}}})


def files_in(directory: Path, contents: dict[str, str]) -> Path:
    for name, content in contents.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return directory


def problems_of(*paths: Path) -> tuple[str, ...]:
    with pytest.raises(UnusableConfiguration) as caught:
        read_files(paths)
    return caught.value.problems


# Reading


def test_the_example_of_the_page() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), flags=re.S)
    found = configuration_of(yaml.safe_load(example))
    assert set(found.purposes) == {"mcp", "workload"}
    assert found.purposes["workload"].tenancy_count == 20


def test_every_field_is_on_the_page() -> None:
    text = PAGE.read_text()
    fields = ["scope", "strategy", "selectors.clusters", "selectors.requests", "purposeMappings.<purpose>"]
    fields += ["….tenancyCount", "….selector"]
    fields += [f"….template.metadata.{one}" for one in ("name", "generateName", "namespace", "labels", "annotations")]
    fields += [f"….template.spec.{one}" for one in ("profile", "tenancy", "purposes", "kubernetes.version")]
    for field in [*fields, "….template.spec.clusterConfigs[].name"]:
        assert f"| `{field}` |" in text


def test_the_problems_on_the_page_are_told_so(tmp_path: Path) -> None:
    path = tmp_path / "base.yaml"
    path.write_text("scheduler: {strategy: Best, purposeMappings: {mcp: {template: {spec: {profile: local}}}}}")
    (shown,) = re.findall(r"```text\nmooring: (.*?)\n```", PAGE.read_text(), flags=re.S)
    with pytest.raises(SettingError) as caught:
        asyncio.run(ConfigurationFiles([path]).first())
    assert str(caught.value).replace(str(path), "base.yaml") == shown


def test_directories_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    files_in(
        tmp_path,
        {
            "a.yaml": "order: first\nkept: {a: 1}",
            "b/inner.yml": "order: second\nkept: {b: 1}",
            "b/deep/er.yaml": "kept: {deep: 1}\ninner: deeper",
            "b/inner.yaml": "inner: later",
            "c.json": json.dumps({"order": "third", "kept": {"c": 1}}, indent="\t"),
            "d.txt": "order: never",
            "e.yaml.bak": "order: never",
        },
    )
    assert read_files([tmp_path]) == {
        "order": "third",
        "kept": {"a": 1, "b": 1, "deep": 1, "c": 1},
        "inner": "later",
    }


def test_paths_are_read_as_they_are_given(tmp_path: Path) -> None:
    files_in(tmp_path, {"a.yaml": "x: a", "b.yaml": "x: b", "other.conf": "x: c"})
    assert read_files([tmp_path / "b.yaml", tmp_path / "a.yaml"]) == {"x": "a"}
    assert read_files([tmp_path / "other.conf"]) == {"x": "c"}
    assert read_files([]) == {}


def test_a_file_may_hold_several_documents_or_none(tmp_path: Path) -> None:
    files_in(tmp_path, {"a.yaml": "---\nx: 1\ny: {a: 1}\n---\n---\ny: {b: 2}\n", "b.yaml": "", "c.yaml": "# nothing\n"})
    assert read_files([tmp_path]) == {"x": 1, "y": {"a": 1, "b": 2}}


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfx: 1")
    assert read_files([tmp_path]) == {"x": 1}


def test_anchors_can_be_used(tmp_path: Path) -> None:
    files_in(tmp_path, {"a.yaml": "a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}"})
    assert read_files([tmp_path]) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


def bomb(join: str) -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} " + join.format(a=f"*a{n - 1}") for n in range(1, 40)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x: [", ["line"]),
        ("x: 1\n\ty: 2", ["line 2"]),
        ("- a", ["map of fields", "document 1"]),
        ("x: 1\n---\njust a text", ["map of fields", "document 2"]),
        ("x: !!python/object/apply:os.getcwd []", ["line 1"]),
        ("x: 2026-99-99", ["not YAML"]),
        ("x: " + "9" * 5_000, ["not YAML"]),
        (b"x: \xff\xfe", ["UTF-8", "byte 3"]),
        (b"x: \x01", ["not YAML"]),
        ("[" * 500_000, ["nested deeper"]),
        ("x: " + "y" * 1_048_577, ["larger than"]),
        ("x: &a [*a]", ["*a"]),
        ("x: *nothing", ["*nothing"]),
        (bomb("[{a}, {a}]"), ["too many"]),
        (bomb("{{<<: [{a}, {a}]}}"), ["too many"]),
    ],
    ids=range(15),
)
def test_texts_that_cannot_be_read_are_named(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (problem,) = problems_of(path)
    assert problem.startswith(str(path))
    for word in words:
        assert word in problem


def test_all_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    files_in(tmp_path, {"a.yaml": "[", "b.yaml": "x: 1", "c/d.yaml": "- 1"})
    told = problems_of(tmp_path / "missing.yaml", tmp_path)
    assert [problem.split(" ")[0] for problem in told] == [
        str(tmp_path / name) for name in ("missing.yaml", "a.yaml", "c/d.yaml")
    ]
    assert "No such file" in told[0]


def test_links_that_lead_nowhere_and_pipes_are_named(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    broken, pipe = problems_of(tmp_path, tmp_path / "pipe")
    assert "broken.yaml cannot be read: No such file" in broken
    assert pipe.endswith("pipe is not a regular file")


def test_links_to_directories_are_not_followed_but_for_the_given_one(tmp_path: Path) -> None:
    files_in(tmp_path, {"real/a.yaml": "x: 1"})
    (tmp_path / "real" / "loop").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to("real")
    assert read_files([tmp_path / "link"]) == {"x": 1}


# Watching


@contextlib.asynccontextmanager
async def watched(source: ConfigurationSource) -> AsyncIterator[list[Configuration]]:
    """What the source tells while it is watched."""
    told: list[Configuration] = []
    task = asyncio.create_task(source.watch(told.append))
    try:
        yield told
        assert not task.done()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def eventually(question: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not question():
            await asyncio.sleep(0.02)


async def test_the_default_needs_no_source() -> None:
    source: ConfigurationSource = FixedConfiguration()
    assert await source.first() == DEFAULT_CONFIGURATION
    await source.watch(lambda _: pytest.fail("nothing changes"))
    assert source.problems == ()


async def test_a_changed_file_is_told_once_it_stands_still(tmp_path: Path) -> None:
    clock, path = SimulatedClock(), tmp_path / "a.yaml"
    path.write_text(strategy("Simple"))
    source = ConfigurationFiles([path], clock=clock)
    assert (await source.first()).strategy == "Simple"
    async with watched(source) as told:
        await clock.advance(10)
        assert told == []
        path.write_text(strategy("Random"))
        await clock.advance(2)
        assert told == []
        path.write_text(strategy("Packed"))
        await clock.advance(2)
        assert told == []
        await clock.advance(2)
        assert [one.strategy for one in told] == ["Packed"]
        path.write_text("# the same in other words\n" + strategy("Packed"))
        await clock.advance(10)
        assert len(told) == 1
    assert (await source.first()).strategy == "Packed"


async def test_a_bad_change_keeps_the_last_good_configuration(tmp_path: Path) -> None:
    clock, path = SimulatedClock(), tmp_path / "a.yaml"
    path.write_text(strategy("Simple"))
    source = ConfigurationFiles([path], clock=clock)
    await source.first()
    async with watched(source) as told:
        path.write_text("scheduler: {strategy: Best, scope: Here}")
        await clock.advance(10)
        assert told == []
        assert len(source.problems) == 2
        path.unlink()
        await clock.advance(10)
        assert told == []
        assert "No such file" in source.problems[0]
        assert (await source.first()).strategy == "Simple"
        path.write_text(strategy("Simple"))
        await clock.advance(10)
        assert (told, source.problems) == ([], ())
        path.write_text(strategy("Random"))
        await clock.advance(10)
        assert [one.strategy for one in told] == ["Random"]


async def test_files_come_into_a_directory_and_go(tmp_path: Path) -> None:
    clock = SimulatedClock()
    source = ConfigurationFiles([tmp_path], clock=clock)
    assert await source.first() == DEFAULT_CONFIGURATION
    async with watched(source) as told:
        files_in(tmp_path, {"sub/a.yaml": a_purpose("one"), "b.yaml": a_purpose("two")})
        await clock.advance(10)
        (tmp_path / "b.yaml").unlink()
        await clock.advance(10)
    assert [set(one.purposes) for one in told] == [{"one", "two"}, {"one"}]


async def test_a_mounted_config_map_changes_by_a_swapped_link(tmp_path: Path) -> None:
    """As a kubelet does it: files are links into ``..data``, which is a link to a directory that is exchanged."""
    clock = SimulatedClock()
    files_in(tmp_path, {"..first/a.yaml": a_purpose("old")})
    (tmp_path / "..data").symlink_to("..first")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    source = ConfigurationFiles([tmp_path], clock=clock)
    assert set((await source.first()).purposes) == {"old"}
    async with watched(source) as told:
        files_in(tmp_path, {"..second/a.yaml": a_purpose("new")})
        (tmp_path / "..data_tmp").symlink_to("..second")
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")
        await clock.advance(10)
        assert [set(one.purposes) for one in told] == [{"new"}]


async def test_what_changed_before_the_watch_began_is_told(tmp_path: Path) -> None:
    clock, path = SimulatedClock(), tmp_path / "a.yaml"
    path.write_text(strategy("Simple"))
    source = ConfigurationFiles([path], clock=clock)
    await source.first()
    path.write_text(strategy("Random"))
    async with watched(source) as told:
        await clock.advance(10)
        assert [one.strategy for one in told] == ["Random"]
    async with watched(source) as told:  # begun anew, it does not tell again
        await clock.advance(10)
        assert told == []
    assert (await source.first()).strategy == "Random"


async def test_a_listener_that_fails_is_told_again(tmp_path: Path) -> None:
    clock, path = SimulatedClock(), tmp_path / "a.yaml"
    path.write_text(strategy("Simple"))
    source = ConfigurationFiles([path], clock=clock)
    await source.first()
    path.write_text(strategy("Random"))

    def failing(_: Configuration) -> None:
        raise RuntimeError("not now")

    task = asyncio.create_task(source.watch(failing))
    await clock.advance(10)
    with pytest.raises(RuntimeError, match="not now"):
        await task
    async with watched(source) as told:
        await clock.advance(10)
    assert [one.strategy for one in told] == ["Random"]


async def test_a_bad_file_at_the_start_is_an_error_with_all_problems(tmp_path: Path) -> None:
    files_in(tmp_path, {"a.yaml": "scheduler: {strategy: Best, scope: Here}"})
    with pytest.raises(UnusableConfiguration) as caught:
        await ConfigurationFiles([tmp_path]).first()
    assert len(caught.value.problems) == 2
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(UnusableConfiguration, match="No such file"):
        await ConfigurationFiles([tmp_path / "none"]).first()


# ConfigMaps


async def changed(kube: Client, namespace: str, data: dict[str, str | None]) -> None:
    await kube.patch(CONFIG_MAPS, "scheduling", MergePatch({"data": data}), namespace=namespace)


async def test_a_config_map_through_its_life(kube: Client, connection: Connection, namespace: str) -> None:
    source = ConfigurationMap(connection, ObjectKey(namespace, "scheduling"))
    with pytest.raises(UnusableConfiguration, match=f"ConfigMap {namespace}/scheduling does not exist"):
        await source.first()

    data = {"b": strategy("Random"), "a": strategy("Simple") + "---\n" + a_purpose("mcp")}
    await kube.create(CONFIG_MAPS, config_map("scheduling", namespace, data))
    await kube.create(CONFIG_MAPS, config_map("another", namespace, {"a": strategy("Packed")}))
    first = await source.first()
    assert (first.strategy, set(first.purposes)) == ("Random", {"mcp"})

    await changed(kube, namespace, {"c": strategy("Packed")})  # before it is watched
    async with watched(source) as told:
        await eventually(lambda: len(told) == 1)
        await changed(kube, namespace, {"c": strategy("Best")})
        await eventually(lambda: source.problems)
        assert 'scheduler.strategy is "Best"' in source.problems[0]
        await changed(kube, namespace, {"c": "["})
        await eventually(lambda: "key c, is not YAML" in source.problems[0])
        await changed(kube, namespace, {"c": strategy("Packed")})
        await eventually(lambda: not source.problems)
        assert len(told) == 1

        await kube.delete(CONFIG_MAPS, "scheduling", namespace=namespace)
        await eventually(lambda: "does not exist" in "".join(source.problems))
        assert (await source.first()).strategy == "Packed"
        await kube.create(CONFIG_MAPS, config_map("scheduling", namespace, {"a": strategy("Simple")}))
        await eventually(lambda: len(told) == 2)
        await changed(kube, namespace, {"a": None})
        await eventually(lambda: len(told) == 3)
    assert [one.strategy for one in told] == ["Packed", "Simple", "Balanced"]
    assert told[-1] == DEFAULT_CONFIGURATION
    assert source.problems == ()


async def test_a_bad_config_map_at_the_start_is_an_error(kube: Client, connection: Connection, namespace: str) -> None:
    data = {"a": "- x", "b": strategy("Best")}
    await kube.create(CONFIG_MAPS, config_map("scheduling", namespace, data))
    with pytest.raises(UnusableConfiguration, match="key a, is not a map of fields"):
        await ConfigurationMap(connection, ObjectKey(namespace, "scheduling")).first()


async def test_a_config_map_that_went_while_nobody_watched(
    kube: Client, connection: Connection, namespace: str
) -> None:
    await kube.create(CONFIG_MAPS, config_map("scheduling", namespace, {"a": strategy("Simple")}))
    source = ConfigurationMap(connection, ObjectKey(namespace, "scheduling"))
    await source.first()
    await kube.delete(CONFIG_MAPS, "scheduling", namespace=namespace)
    async with watched(source) as told:
        await eventually(lambda: source.problems)
        assert (await source.first()).strategy == "Simple"
    assert told == []


def rbac(kind: str, namespace: str, **fields: object) -> dict:
    metadata = {"name": "configured", "namespace": namespace}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, **fields}


async def test_reading_the_config_maps_of_the_namespace_is_all_the_right_it_needs(
    kube: Client, fault_proxy: FaultProxy, namespace: str
) -> None:
    """Also after its watch was cut, when it has to ask where the server stands."""
    group = "rbac.authorization.k8s.io"
    reader = {"kind": "User", "name": f"reader-{namespace}", "apiGroup": group}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    role = {"kind": "Role", "name": "configured", "apiGroup": group}
    await kube.create(untyped(group=group, plural="roles", kind="Role"), rbac("Role", namespace, rules=[rule]))
    await kube.create(
        untyped(group=group, plural="rolebindings", kind="RoleBinding"),
        rbac("RoleBinding", namespace, subjects=[reader], roleRef=role),
    )
    await kube.create(CONFIG_MAPS, config_map("scheduling", namespace, {"a": strategy("Simple")}))
    connection = replace(fault_proxy.connection, impersonation=Impersonation(user=reader["name"]))
    source = ConfigurationMap(connection, ObjectKey(namespace, "scheduling"))
    async with asyncio.timeout(PATIENCE):
        while True:  # the server learns of new rights by a watch of its own
            with contextlib.suppress(Forbidden):
                await source.first()
                break
            await asyncio.sleep(0.05)
    async with watched(source) as told:
        await changed(kube, namespace, {"a": strategy("Random")})
        await eventually(lambda: len(told) == 1)
        await eventually(lambda: fault_proxy.open_watches)
        fault_proxy.cut_watches()
        await changed(kube, namespace, {"a": strategy("Packed")})
        await eventually(lambda: len(told) == 2)
    assert [one.strategy for one in told] == ["Random", "Packed"]


# The command line


def test_what_is_chosen_on_the_command_line(connection: Connection) -> None:
    assert configuration_choice([], None, None) == ConfigurationChoice()
    files = configuration_choice(["a,b.yaml", "c"], None, None)
    assert files == ConfigurationChoice((Path("a"), Path("b.yaml"), Path("c")))
    by_name = configuration_choice([], "scheduling", None)
    assert by_name.config_map == ObjectKey(NAMESPACE, "scheduling")
    assert configuration_choice([], "scheduling", "x").config_map == ObjectKey("x", "scheduling")
    assert isinstance(ConfigurationChoice().source(connection), FixedConfiguration)
    assert isinstance(files.source(connection), ConfigurationFiles)
    assert isinstance(by_name.source(connection), ConfigurationMap)


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (["--config", "a.yaml", "--configmap-name", "x"], ["--config and --configmap-name exclude each other"]),
        (["--configmap-namespace", "x"], ["--configmap-name"]),
        (["--config", ","], ["--config names no file"]),
        (["--config", "{tmp}/missing.yaml"], ["{tmp}/missing.yaml", "No such file"]),
        (["--config", "{tmp}/good.yaml,{tmp}/bad.yaml"], ["scheduler.strategy", "scheduler.scope"]),
    ],
)
def test_mooring_run_says_what_is_wrong(tmp_path: Path, words: list[str], phrases: list[str]) -> None:
    files_in(tmp_path, {"good.yaml": strategy("Simple"), "bad.yaml": "scheduler: {strategy: Best, scope: Here}"})
    cluster = {"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "none", "context": {"cluster": "none", "user": "none"}}
    user = {"name": "none", "user": {"token": "none"}}
    kubeconfig = {"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "none"}
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    given = [word.replace("{tmp}", str(tmp_path)) for word in words]
    ended = subprocess.run(
        [MOORING, "run", "--kubeconfig", str(tmp_path / "kubeconfig"), "--listen", "", *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("mooring: ")
    for phrase in phrases:
        assert phrase.replace("{tmp}", str(tmp_path)) in ended.stderr

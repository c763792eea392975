"""Moves into files and out of them: what one clusterctl writes, the other reads."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import clusters as capi
from clusters import put
from moving_kit import (
    READY,
    Pair,
    a_fleet,
    a_namespace,
    a_small_cluster,
    config_map,
    difference,
    fresh,
    is_untouched,
    seen,
)

from mooring.kube import Client


def out_of(pair: Pair, namespace: str, directory: Path) -> tuple[str, ...]:
    return ("move", "--kubeconfig", str(pair.source.kubeconfig), "-n", namespace, "--to-directory", str(directory))


def into(pair: Pair, directory: Path) -> tuple[str, ...]:
    return ("move", "--to-kubeconfig", str(pair.target.kubeconfig), "--from-directory", str(directory))


def contents(directory: Path, namespace: str) -> dict[str, dict]:
    """What is in the files, without what changes from one reading to the next."""
    found = {}
    for path in directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text()
        if namespace not in text:
            continue  # what is in no namespace, for another fleet
        one = json.loads(text.replace(namespace, "HERE"))
        for own in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
            one["metadata"].pop(own, None)
        for owner in one["metadata"].get("ownerReferences", ()):
            owner.pop("uid")
        found[path.name.replace(namespace, "HERE")] = one
    return found


async def test_what_one_writes_the_other_reads(pair: Pair, source: Client, target: Client, judge, ours, tmp_path: Path):
    names = theirs, mine = fresh(), fresh()
    await asyncio.gather(*(a_fleet(source, name) for name in names))
    for name in names:
        (tmp_path / name).mkdir()
    before = await seen(source, only=mine)
    judged = await judge.beside(*out_of(pair, theirs, tmp_path / theirs))
    done = await ours.beside(*out_of(pair, mine, tmp_path / mine))
    assert (judged.code, done.code) == (0, 0), judged.err + done.err
    # Nothing has changed at the source, and both have written the same.
    assert difference(before, await seen(source, only=mine)) == []
    assert_same_files(contents(tmp_path / theirs, theirs), contents(tmp_path / mine, mine))

    done = await ours.beside(*into(pair, tmp_path / theirs))
    judged = await judge.beside(*into(pair, tmp_path / mine))
    assert (judged.code, done.code) == (0, 0), judged.err + done.err
    # The judge is one more owner of each field (DEVIATION from-directory-managers).
    there = await seen(target, only=theirs, managers=False)
    assert is_untouched(await seen(target, only=theirs)) == []
    # Two kinds of one name came out of our files; out of the judge's, one of them.
    (lost,) = difference(there, await seen(target, only=mine, managers=False))
    assert lost.startswith("only the second has")
    assert lost.endswith("HarborMachine HERE/first-cp-0")

    # Once more: everything is there, and stays as it is.
    again = await ours.beside(*into(pair, tmp_path / theirs))
    assert again.code == 0
    assert "was there already, and stays as it is" in again.out
    assert difference(there, await seen(target, only=theirs, managers=False)) == []


def assert_same_files(theirs: dict[str, dict], mine: dict[str, dict]) -> None:
    """Where two kinds have one name the judge writes them into one file, one over the other.

    DEVIATION to-directory-two-kinds.
    """
    twins = {name for name in mine if "HarborMachine." in name}
    assert twins == {
        "HarborMachine.infrastructure.cluster.x-k8s.io_HERE_first-cp-0.yaml",
        "HarborMachine.yard.example.com_HERE_first-cp-0.yaml",
    }
    met = "HarborMachine_HERE_first-cp-0.yaml"
    assert theirs.keys() - {met} == mine.keys() - twins
    assert theirs[met] in [mine[name] for name in twins]
    assert {name: theirs[name] for name in theirs if name != met} == {
        name: mine[name] for name in mine if name not in twins
    }


async def test_a_pause_of_somebody_else_at_the_target_stays(
    pair: Pair, source: Client, target: Client, judge, ours, tmp_path: Path
):
    """The judge resumes whatever has a name out of the files: DEVIATION from-directory-resumes."""
    files = tmp_path / "files"
    files.mkdir()
    paused = []
    for runner in (judge, ours):
        namespace = fresh()
        await a_namespace(target, namespace)
        made = await put(target, capi.cluster("held", namespace, paused=True))
        (files / "held.yaml").write_text(json.dumps(made))
        done = await runner.beside(*into(pair, files))
        assert done.code == 0, done.err
        kind = await target.resource(made["apiVersion"], "Cluster")
        paused.append((await target.get(kind, "held", namespace=namespace))["spec"].get("paused"))
    assert paused == [None, True]
    assert "was there already, and stays as it is" in done.out


async def test_dry_runs_write_nothing(pair: Pair, source: Client, target: Client, ours, tmp_path: Path):
    """The judge takes no notice of --dry-run where files are concerned (DEVIATION move-directory-dry-run)."""
    namespace = fresh()
    await a_namespace(source, namespace)
    await a_small_cluster(source, "one", namespace)
    before = await seen(source, only=namespace)
    done = await ours.beside(*out_of(pair, namespace, tmp_path), "--dry-run")
    assert done.code == 0
    assert "would be moved: 5" in done.out
    assert [one.name for one in tmp_path.iterdir() if "home-" not in one.name] == []
    (tmp_path / "files").mkdir()
    assert (await ours.beside(*out_of(pair, namespace, tmp_path / "files"))).code == 0
    done = await ours.beside(*into(pair, tmp_path / "files"), "--dry-run")
    assert done.code == 0
    assert "would be moved: 5" in done.out
    assert await seen(target, only=namespace) == {}
    assert difference(before, await seen(source, only=namespace)) == []


async def test_one_cluster_out_of_a_directory(pair: Pair, source: Client, target: Client, ours, tmp_path: Path):
    namespace = fresh()
    await a_namespace(source, namespace)
    for name in ("one", "two"):
        await a_small_cluster(source, name, namespace)
    files = tmp_path / "files"
    files.mkdir()
    assert (await ours.beside(*out_of(pair, namespace, files))).code == 0
    done = await ours.beside(*into(pair, files), "--cluster", "three")
    assert done.code == 1
    assert "three" in done.err
    done = await ours.beside(*into(pair, files), "--cluster", "two")
    assert done.code == 0, done.err
    there = [name.rpartition("/")[2] for name in await seen(target, only=namespace)]
    assert sorted(there) == sorted(["HERE", "two", "two", "two", "two-ca", "two-bootstrap"])


async def test_a_paused_cluster_comes_out_paused(pair: Pair, source: Client, target: Client, ours, tmp_path: Path):
    namespace = fresh()
    await a_namespace(source, namespace)
    await put(source, capi.cluster("held", namespace, status=READY, paused=True))
    await put(source, capi.cluster("free", namespace, status=READY))
    files = tmp_path / "files"
    files.mkdir()
    refused = await ours.beside(*out_of(pair, namespace, files))
    assert refused.code == 1
    assert list(files.iterdir()) == []
    for words in (out_of(pair, namespace, files), into(pair, files)):
        done = await ours.beside(*words, "--include-paused")
        assert done.code == 0, done.err
    there = await seen(target, only=namespace)
    assert there["cluster.x-k8s.io/v1beta2 Cluster HERE/held"]["spec"] == {"paused": True}
    assert there["cluster.x-k8s.io/v1beta2 Cluster HERE/free"]["spec"] == {}
    assert is_untouched(there) == []


async def test_files_that_hold_no_objects(pair: Pair, target: Client, ours, tmp_path: Path):
    namespace = fresh()
    files = tmp_path / "files"
    files.mkdir()
    (files / "good.yaml").write_text(json.dumps(config_map("good", namespace)))
    for text in ("- a list\n", "kind: Nothing\n", "{", "\x00"):
        (files / "bad.yaml").write_text(text)
        done = await ours.beside(*into(pair, files))
        assert (done.code, len(done.err.splitlines())) == (1, 1), (text, done.err)
        assert str(files / "bad.yaml") in done.err
    (files / "bad.yaml").unlink()
    (files / "folder").mkdir()
    done = await ours.beside(*into(pair, files))
    assert done.code == 1
    assert str(files / "folder") in done.err
    assert await seen(target, only=namespace) == {}


async def test_files_written_by_hand(pair: Pair, target: Client, ours, tmp_path: Path):
    """Without uids, several in one file, as a person would write them."""
    namespace = fresh()
    files = tmp_path / "files"
    files.mkdir()
    cluster = capi.cluster("hand", namespace)
    label = {"clusterctl.cluster.x-k8s.io/move": ""}
    both = [cluster, config_map("hand", namespace, labels=label), config_map("left", namespace)]
    (files / "both.yaml").write_text("\n---\n".join(map(json.dumps, both)))
    done = await ours.beside(*into(pair, files))
    assert done.code == 0, done.err
    there = await seen(target, only=namespace)
    assert sorted(name.partition(" ")[2] for name in there) == [
        "Cluster HERE/hand",
        "ConfigMap HERE/hand",
        "Namespace /HERE",
    ]
    assert f"skip  ConfigMap  {namespace}  left".split() == done.out.split()[5:9] or "left" in done.out

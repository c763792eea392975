"""A move into files, and out of them: a copy of everything that would move, to be kept or carried elsewhere.

One file for each object, ``<Kind>_<namespace>_<name>.yaml`` with JSON in it, readable by its owner only, as the other
clusterctl writes and reads them. Where two kinds of one name would meet in one file, the name has the group in it; the
reader takes every file, whatever it is called.

A move to a directory changes nothing at the source: Clusters are paused while they are read, so that the files belong
together. A move from a directory creates what is not there, and leaves what is there alone. Its point of no return is
where everything has been created; a failure before that removes what was created.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.move import checks
from mooring.clusterctl.move.carrying import Carrier
from mooring.clusterctl.move.copies import managed_fields, was_paused
from mooring.clusterctl.move.discovery import View, known_kinds, survey
from mooring.clusterctl.move.finishing import finish
from mooring.clusterctl.move.graph import CLUSTER, Graph, Node, build
from mooring.clusterctl.move.landing import Shore, land
from mooring.clusterctl.move.mover import Options, identity_of
from mooring.clusterctl.move.pausing import pause_all, resume_all
from mooring.clusterctl.move.progress import OURS, STAYS_PAUSED, Run
from mooring.clusterctl.move.report import Report, Tell, report_of, silent
from mooring.clusterctl.move.sequence import arrange
from mooring.clusterctl.move.undoing import clear
from mooring.clusterctl.move.writing import each
from mooring.clusterctl.objects import kind_of, name_of, namespace_of, text_at
from mooring.clusterctl.yamls import documents
from mooring.kube import Client, KubeError, Object

_LONGEST_NAME: Final = 255  # of a file


async def to_directory(
    source: Client, directory: Path, options: Options, tell: Tell = silent, *, dry_run: bool = False
) -> Report:
    """Write everything that would move into files. With ``dry_run`` nothing is paused, and nothing written."""
    _check_directory(directory)
    await Inventory(source).check_contract()
    run = Run(await identity_of(source), f"{options.choice.words} to-directory")
    view = await survey(source, options.choice)
    if view.lacking:
        raise ClusterctlError(view.lacking)
    checks.check_other_runs(view, run)
    checks.check_provisioned(view)
    checks.check_not_paused(view, include_paused=options.include_paused)
    if not dry_run:
        view = await _read_at_rest(source, view, run, options)
        tell(0, f"Saving {len(view.order.nodes)} objects to {directory}")
        names = file_names(view.order.nodes)
        for node in view.order.nodes:
            tell(1, f'Saving {node.kind}="{node.name}" Namespace="{node.namespace}"')
            _write(directory / names[node.uid], _contents(node))
    report = report_of(view.order, dry_run=dry_run)
    strange = sorted({one.name for one in directory.iterdir()} - set(file_names(view.order.nodes).values()))
    if strange:
        report.notes.append(f"{directory} has other files, which would be read from there, too: {', '.join(strange)}")
    return report


async def _read_at_rest(source: Client, view: View, run: Run, options: Options) -> View:
    """Everything as it is while it is paused; then it goes on, whatever happened."""
    try:
        await pause_all(source, view, run)
        return await survey(source, options.choice)
    finally:
        await resume_all(source, view, run)


def _check_directory(directory: Path) -> None:
    if not directory.is_dir():
        raise ClusterctlError(f"{directory} is not a directory: create it first")


def file_names(nodes: Iterable[Node]) -> dict[str, str]:
    """The name of each object's file, by uid; no two are the same."""
    nodes = list(nodes)
    plain = Counter((one.kind, one.namespace, one.name) for one in nodes)
    found = {}
    for one in nodes:
        group, kind = one.group_kind
        first = f"{kind}.{group}" if plain[kind, one.namespace, one.name] > 1 and group else kind
        found[one.uid] = _short_enough(f"{first}_{one.namespace}_{one.name}.yaml")
    return found


def _short_enough(name: str) -> str:
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{name[:200]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}.yaml"


def _contents(node: Node) -> bytes:
    """The object as it is, without what we wrote on it."""
    body = dict(node.body or {})
    metadata = {**body["metadata"], "managedFields": [one for one in managed_fields(body) if one]}
    annotations = {key: value for key, value in node.annotations.items() if key not in OURS}
    if was_paused(node):
        annotations[STAYS_PAUSED] = "true"
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return msgspec.json.encode({**body, "metadata": metadata}, order="sorted") + b"\n"


def _write(path: Path, contents: bytes) -> None:
    """Whole or not at all, for its owner only, and never through somebody's link."""
    new = path.with_name(f".{hashlib.sha256(path.name.encode()).hexdigest()[:32]}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(contents)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def read_directory(directory: Path) -> list[Object]:
    """All objects in all files. One without a uid, written by hand, gets one of its own."""
    found: list[Object] = []
    for path in sorted(directory.iterdir()):
        try:
            objects = documents(path.read_text(encoding="utf-8"))
        except (OSError, ClusterctlError, UnicodeDecodeError) as error:
            raise ClusterctlError(f"{path} cannot be read: {error}") from error
        for one in objects:
            if not kind_of(one) or not name_of(one):
                raise ClusterctlError(f"{path} holds something that is no Kubernetes object: kind or name is missing")
            if not text_at(one, "metadata", "uid"):
                one["metadata"]["uid"] = (
                    f"{text_at(one, 'apiVersion')} {kind_of(one)} {namespace_of(one)} {name_of(one)}"
                )
        found += objects
    return found


async def from_directory(
    target: Client, directory: Path, options: Options, tell: Tell = silent, *, dry_run: bool = False
) -> Report:
    """Create everything that is in the files and not in the cluster."""
    _check_directory(directory)
    await Inventory(target).check_contract()
    graph = build(read_directory(directory), await known_kinds(target))
    order = arrange(graph, _chosen(graph, options))
    report = report_of(order, dry_run=dry_run)
    run = Run(f"directory {directory.resolve()}", options.choice.words)
    landing = await land(target, run, order.nodes, Shore())
    for node in order.nodes:
        if (there := landing.objects.get(node.place)) is not None and there.origin is None:
            report.notes.append(f"{node} was there already, and stays as it is")
    if dry_run:
        return report
    stays = lambda node: STAYS_PAUSED in node.annotations  # noqa: E731 - one question, asked in one place
    carrier = Carrier(target, run, landing, lambda _: True, tell, stays_paused=stays)
    tell(0, f"Creating {len(order.nodes)} objects from {directory}")
    try:
        await carrier.copy(graph, order.groups)
    except BaseException as error:
        try:
            await clear(carrier, graph, order, Shore())
        except (ClusterctlError, KubeError) as second:
            raise ClusterctlError(f"{error}. Taking it back failed, too: {second}. Run the same again") from error
        raise
    for group in order.groups:
        await each(group, lambda node: carrier.take(None, node, graph))
    await finish(carrier, order.nodes)
    return report


def _chosen(graph: Graph, options: Options) -> frozenset[str] | None:
    choice = options.choice
    if choice.selector:
        raise ClusterctlError("--selector cannot be used with --from-directory: name Clusters with --cluster")
    if choice.is_everything:
        return None
    found = {one.name: one.uid for one in graph.of(CLUSTER)}
    if lacking := sorted(set(choice.clusters) - found.keys()):
        raise ClusterctlError(f"there is no Cluster {', '.join(lacking)} in the directory: there are {sorted(found)}")
    return frozenset(found[name] for name in choice.clusters)

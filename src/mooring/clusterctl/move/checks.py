"""What must be so before a move begins. Nothing is written here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory import Installed
from mooring.clusterctl.move.discovery import View
from mooring.clusterctl.move.graph import CLASS, CLUSTER, MACHINE, Node
from mooring.clusterctl.move.progress import DELETE_FOR_MOVE, PAUSED, Run, pause_in
from mooring.clusterctl.objects import at, text_at
from mooring.clusterctl.semver import Version
from mooring.clusterctl.waiting import has_condition


def check_providers(source: Iterable[Installed], target: Sequence[Installed]) -> None:
    """Every provider of the source is at the target, too, in the same version or a newer one."""
    wrong = []
    for one in source:
        versions = [_version(other, "target") for other in target if one.same_provider(other)]
        version = _version(one, "source")
        if not versions:
            wrong.append(f"provider {one.name} is not installed in the target cluster: run init there")
        elif max(versions) < version:
            wrong.append(
                f"provider {one.name} is older in the target cluster ({max(versions).tag}) than in the source cluster "
                f"({version.tag}): upgrade it there"
            )
    _refuse(wrong)


def _version(installed: Installed, where: str) -> Version:
    try:
        return Version.parse(installed.version)
    except ClusterctlError as error:
        raise ClusterctlError(f"provider {installed.instance} in the {where} cluster: {error}") from error


def concerned(view: View, kind: tuple[str, str]) -> list[Node]:
    """The Clusters, ClusterClasses or Machines that a move is about: all that were seen, or only the chosen ones'."""
    if view.chosen is None:
        return view.graph.of(kind)
    going = {one.uid for one in view.order.nodes}
    return [one for one in view.graph.of(kind) if one.uid in going]


def check_provisioned(view: View) -> None:
    """Nothing is half made: whoever makes it would go on at the source while we copy."""
    wrong = [found for one in concerned(view, CLUSTER) if (found := _unfinished(one))]
    wrong += [
        f"{one} is still being made (status.nodeRef is not set): wait until its node is there, then move"
        for one in concerned(view, MACHINE)
        if not text_at(one.body, "status", "nodeRef", "name")
    ]
    _refuse(wrong)


def _unfinished(node: Node) -> str:
    cluster, done = node.body or {}, at(node.body, "status", "initialization") or {}
    if done.get("infrastructureProvisioned") is not True:
        return (
            f"{node} is still being made (status.initialization.infrastructureProvisioned is not true): wait until its "
            f"infrastructure is there, then move"
        )
    reference = at(cluster, "spec", "controlPlaneRef") or {}
    has_reference = any(reference.get(part) for part in ("kind", "name", "apiGroup"))
    if not has_condition(cluster, "ControlPlaneInitialized") or (
        has_reference and done.get("controlPlaneInitialized") is not True
    ):
        return (
            f"the control plane of {node} is not initialized (condition ControlPlaneInitialized and "
            f"status.initialization.controlPlaneInitialized): wait until it is, then move"
        )
    return ""


def is_paused(node: Node) -> bool:
    """By somebody else than a move of ours."""
    if (pause := pause_in(node.annotations)) is not None:
        return pause.before is True or (node.group_kind == CLUSTER and PAUSED in node.annotations)
    paused = node.group_kind == CLUSTER and at(node.body, "spec", "paused") is True
    return paused or PAUSED in node.annotations


def check_not_paused(view: View, *, include_paused: bool) -> None:
    if include_paused:
        return
    for kind in (CLUSTER, CLASS):
        if paused := [str(one) for one in concerned(view, kind) if is_paused(one)]:
            raise ClusterctlError(
                f"cannot begin while these are paused: {', '.join(sorted(paused))}. Somebody may be at work: "
                f"let them be resumed first, or give --include-paused to move them and leave them paused"
            )


def check_other_runs(view: View, run: Run) -> None:
    """A move with other words that was interrupted has to be finished first."""
    for node in [*concerned(view, CLUSTER), *concerned(view, CLASS)]:
        pause = pause_in(node.annotations)
        if pause is not None and pause.words != run.words:
            raise ClusterctlError(
                f"{node} is part of another move that has not ended ({pause.words}; this one is {run.words}): run that "
                f"one again until it ends"
            )


def has_begun(view: View, run: Run) -> bool:
    """Whether a run with the same words has paused something."""
    notes = [pause_in(one.annotations) for kind in (CLUSTER, CLASS) for one in concerned(view, kind)]
    return any(one is not None and one.words == run.words for one in notes)


def check_nothing_leaves(view: View) -> None:
    """What is being deleted must not rise again somewhere else."""
    leaving = [str(one) for one in view.order.nodes if one.is_deleting and DELETE_FOR_MOVE not in one.annotations]
    if leaving:
        raise ClusterctlError(f"{', '.join(leaving)}: being deleted. Wait until nothing is, then move")


def _refuse(wrong: Sequence[str]) -> None:
    if wrong:
        raise ClusterctlError("; ".join(wrong))

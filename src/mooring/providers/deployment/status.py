"""The status of a ClusterProvider, as a function of what its ground tells.

Types and reasons are upstream's (``reasons``); beside them stands why. ``Ready`` is True only while the run command is
at work as the object says now, so a change of the object is not over before its init command is. Conditions of others
are kept, and the time of the status moves only when something else of it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from mooring.api.clusters import ClusterProfile
from mooring.api.conditions import READY, Condition, Truth, with_condition, without_condition
from mooring.api.providers import (
    ClusterProvider,
    ClusterProviderStatus,
    MetricsStatus,
    OfferedProfile,
    ProviderPhase,
)
from mooring.api.references import ObjectReference
from mooring.kube import ObjectKey
from mooring.providers.deployment import reasons
from mooring.providers.deployment.grounds import Progress

MOST_PROFILES: Final = 512
_LONGEST_MESSAGE = 4_096
_NAMED = 5  # clusters in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a condition says."""

    truth: Truth
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of one look at a provider. None: as it was before."""

    initialized: Said | None = None
    ready: Said
    uninstalled: Said | None = None  # only of one that is being deleted
    metrics: ObjectReference | None = None


# -- one function for each condition ----------------------------------------------------------------------------------


def initialized(progress: Progress) -> Said:
    if progress.done:
        return Said(truth=Truth.TRUE, reason=reasons.INIT_COMPLETED, message="The init command has completed.")
    if progress.failed:
        return Said(truth=Truth.FALSE, reason=reasons.INIT_FAILED, message=_words(progress))
    if progress.reason == reasons.PENDING:
        return Said(truth=Truth.UNKNOWN, reason=reasons.INIT_PENDING, message=progress.message)
    return Said(truth=Truth.FALSE, reason=reasons.INIT_RUNNING, message=_words(progress))


def init_not_created(why: str) -> Said:
    return Said(truth=Truth.FALSE, reason=reasons.INIT_NOT_CREATED, message=why)


def ready(progress: Progress | None) -> Said:
    """By how the run command does; None: its turn has not come."""
    if progress is None:
        waits = "The provider is installed when its init command has completed for this generation."
        return Said(truth=Truth.UNKNOWN, reason=reasons.INSTALLATION_PENDING, message=waits)
    if progress.done:
        text = progress.message or "The provider is at work."
        return Said(truth=Truth.TRUE, reason=reasons.PROVIDER_READY, message=text)
    reason = reasons.INSTALLATION_FAILED if progress.failed else reasons.NOT_READY
    return Said(truth=Truth.FALSE, reason=reason, message=_words(progress))


def not_installed(why: str) -> Said:
    return Said(truth=Truth.FALSE, reason=reasons.INSTALLATION_FAILED, message=why)


def going() -> Said:
    return Said(truth=Truth.FALSE, reason=reasons.NOT_READY, message="The provider is being uninstalled.")


def uninstalling(why: str = "") -> Said:
    return Said(truth=Truth.FALSE, reason=reasons.UNINSTALLING, message=why or "The provider is being uninstalled.")


def not_uninstalled(why: str) -> Said:
    return Said(truth=Truth.FALSE, reason=reasons.UNINSTALL_FAILED, message=why)


def clusters_remain(clusters: Sequence[ObjectKey]) -> Said:
    names = ", ".join(str(key) for key in sorted(clusters)[:_NAMED])
    more = len(clusters) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    count = "one Cluster is" if len(clusters) == 1 else f"{len(clusters)} Clusters are"
    text = (
        f"{count} still made by this provider: {names}{rest}. Delete the Clusters, or the requests that hold them; "
        f"the provider stays at work to remove them, and is uninstalled when the last one is gone."
    )
    return Said(truth=Truth.FALSE, reason=reasons.CLUSTERS_REMAIN, message=text[:1].upper() + text[1:])


# -- all of it --------------------------------------------------------------------------------------------------------


def status_of(
    provider: ClusterProvider, report: Report, profiles: Iterable[ClusterProfile], *, now: str
) -> ClusterProviderStatus:
    """The status to be written; the very same if nothing has changed."""
    generation, old = provider.metadata.generation, provider.status
    known = () if old is None else old.conditions
    conditions = _with(known, reasons.INITIALIZED, report.initialized, generation=generation, now=now)
    conditions = _with(conditions, READY, report.ready, generation=generation, now=now)
    if report.uninstalled is None:
        conditions = without_condition(conditions, reasons.UNINSTALLED)
    conditions = _with(conditions, reasons.UNINSTALLED, report.uninstalled, generation=generation, now=now)
    summary = report.uninstalled or report.ready
    new = ClusterProviderStatus(
        observed_generation=generation,
        phase=_phase(provider, report),
        ready=report.ready.truth is Truth.TRUE,
        reason=summary.reason,
        message=_bounded(summary.message),
        last_reconcile_time="" if old is None else old.last_reconcile_time,
        conditions=conditions,
        profiles=offered(profiles),
        metrics=None if report.metrics is None else MetricsStatus(service_ref=report.metrics),
    )
    return new if new == old else msgspec.structs.replace(new, last_reconcile_time=now)


def offered(profiles: Iterable[ClusterProfile]) -> tuple[OfferedProfile, ...]:
    """The profiles in short, by name."""
    short = [
        OfferedProfile(
            name=one.metadata.name,
            provider_config_ref=one.spec.provider_config_ref,
            supported_versions=one.spec.supported_versions,
            supported_traits=one.spec.supported_traits,
        )
        for one in profiles
        if not one.metadata.deleting
    ]
    return tuple(sorted(short, key=lambda one: one.name)[:MOST_PROFILES])


def _phase(provider: ClusterProvider, report: Report) -> str:
    if provider.metadata.deleting:
        return ProviderPhase.UNINSTALLING.value
    return (ProviderPhase.READY if report.ready.truth is Truth.TRUE else ProviderPhase.PROGRESSING).value


def _with(
    conditions: tuple[Condition, ...], kind: str, said: Said | None, *, generation: int, now: str
) -> tuple[Condition, ...]:
    if said is None:
        return conditions
    return with_condition(
        conditions,
        kind,
        said.truth,
        reason=said.reason,
        message=_bounded(said.message),
        generation=generation,
        now=now,
    )


def _words(progress: Progress) -> str:
    """The ground's own reason is told in front, unless its message has it."""
    if not progress.reason or progress.reason in progress.message:
        return progress.message
    return f"{progress.reason}: {progress.message}" if progress.message else progress.reason


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"

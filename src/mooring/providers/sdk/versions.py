"""Which version of Kubernetes a cluster shall have: a function of what is wanted, what can be had, and what runs."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.api.clusters import SupportedVersion
from mooring.api.versions import Version, is_full, newest, satisfies
from mooring.providers.sdk.provider import Refused

UNSUPPORTED, DOWNGRADE = "UnsupportedVersion", "DowngradeRefused"


def version_for(wanted: str, supported: Sequence[SupportedVersion], *, running: str = "") -> str:
    """The version in full; Refused if there is none.

    Nothing wanted means what runs, as long as it is offered, and else the newest that is not deprecated: nobody's
    cluster is upgraded because there is something newer. A part means the newest of those that begin with it. What
    runs already stays possible when it is no longer offered, and no cluster goes back to an older version. A profile
    that names no versions leaves it to its provider: then it may be empty.
    """
    if not supported or (not wanted and any(_is_same(running, one.version) for one in supported)):
        return wanted or running
    try:
        fitting = [one for one in supported if satisfies(wanted, one.version)]
        runs_what_is_wanted = bool(running) and satisfies(wanted, running)
        asked_in_full = is_full(wanted)
    except ValueError as error:
        raise Refused(f"spec.kubernetes.version: {error}.", reason=UNSUPPORTED) from error
    chosen = newest(one.version for one in fitting if asked_in_full or not one.deprecated)
    if runs_what_is_wanted and (chosen is None or _is_older(chosen, running)):
        return running
    if chosen is None:
        raise Refused(_not_supported(wanted, supported), reason=UNSUPPORTED)
    if _is_older(chosen, running):
        raise Refused(
            f"The cluster runs Kubernetes {running} and cannot go back to {chosen}; "
            f"set spec.kubernetes.version to {running} or newer.",
            reason=DOWNGRADE,
        )
    return chosen


def _is_same(running: str, offered: str) -> bool:
    return bool(running) and running.removeprefix("v") == offered.removeprefix("v")


def _is_older(version: str, running: str) -> bool:
    try:
        return bool(running) and Version.parse(version) < Version.parse(running)
    except ValueError:
        return False  # what runs says something else than a version: it forbids nothing


def _not_supported(wanted: str, supported: Sequence[SupportedVersion]) -> str:
    known = ", ".join(f"{one.version} (deprecated)" if one.deprecated else one.version for one in supported)
    if wanted:
        return (
            f"Kubernetes {wanted} is not supported by the profile; spec.kubernetes.version can be: {known or 'none'}."
        )
    return (
        f"The profile has no version of Kubernetes that is not deprecated; "
        f"name one in spec.kubernetes.version: {known or 'none'}."
    )

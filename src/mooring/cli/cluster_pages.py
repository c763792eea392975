"""The page of a cluster as text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mooring.api.texts import aligned, printable
from mooring.cli.listings import age, out_of
from mooring.inventory import ClusterPage, Holder, Standing
from mooring.scheduling.telling import wrapped


def page_text(page: ClusterPage) -> str:
    """All of it; chapters that have nothing to say are left out, except who holds it."""
    row = page.cluster
    chapters: list[tuple[str, Iterable[str]]] = [
        (f"The cluster {row.namespace}/{row.name} {_headline(page)}", _facts(page)),
        ("Conditions", _conditions(page)),
        ("Where its API server is", aligned((one.name, one.url) for one in page.endpoints)),
        (f"Who holds it ({out_of(row.taken, row.seats)})", _holders(page)),
        (f"Who asks for access ({len(page.access)})", _access(page)),
        ("What happened lately", _events(page)),
        ("What could not be seen", _unseen(page)),
    ]
    parts = []
    for title, lines in chapters:
        body = [f"  {printable(line)}".rstrip() for line in lines]
        if body:
            parts.append("\n".join([printable(title), *body]))
    return "\n\n".join(parts) + "\n"


def _headline(page: ClusterPage) -> str:
    row = page.cluster
    if page.leaving_since:
        return f"is being deleted, for {age(page.leaving_since)}."
    if not row.phase and not row.ready:
        return "waits: no provider has said anything about it yet."
    if row.ready == "True":
        return "is ready."
    why = f": {row.reason}" if row.reason else "."
    return f"is not ready ({row.phase or 'no phase'}){why}"


def _facts(page: ClusterPage) -> list[str]:
    row = page.cluster
    asked = f"{page.asked_version} was asked for" if page.asked_version != row.version else ""
    version = row.version + (f" ({asked})" if asked and page.asked_version else "")
    facts = {
        "for": ", ".join(row.purposes),
        "tenancy": row.tenancy,
        "version": version or "as its provider chooses",
        "profile": row.profile,
        "provider": row.provider,
        "configs": ", ".join(page.configs),
        "warm": f"kept ready for {row.warm}" if row.warm else "",
        "info": page.info,
        "end": "it goes with its last request" if page.goes_with_its_last_request else "",
        "waits for": ", ".join(page.kept_by) if page.leaving_since else "",
        "status": "" if page.observed or not page.conditions else "speaks of an older spec",
        "uid": page.uid,
        "age": age(row.created),
    }
    return aligned((name, text) for name, text in facts.items() if text)


def _conditions(page: ClusterPage) -> Iterator[str]:
    rows = [(one.type, str(one.status), age(one.last_transition_time), one.reason) for one in page.conditions]
    for line, one in zip(aligned(rows), page.conditions, strict=True):
        yield line
        if one.message:
            yield from (f"    {part}" for part in wrapped(one.message))


_STANDINGS = {
    Standing.THERE: "",
    Standing.LEAVING: "is being deleted",
    Standing.GONE: "is gone: scheduling gives the seat back",
    Standing.UNKNOWN: "could not be looked at",
}


def _holders(page: ClusterPage) -> list[str]:
    if not page.holders:
        return ["nobody"]
    return aligned((_name(one), _prefix(one), _since(one), _STANDINGS[one.request]) for one in page.holders)


def _name(holder: Holder) -> str:
    return f"{holder.namespace}/{holder.name}" if holder.name else f"(the request with the uid {holder.uid})"


def _prefix(holder: Holder) -> str:
    return f"prefix {holder.prefix}" if holder.prefix else ""


def _since(holder: Holder) -> str:
    return f"for {age(holder.since)}" if holder.since else ""


def _access(page: ClusterPage) -> list[str]:
    return aligned(
        (
            f"{one.namespace}/{one.name}",
            one.way,
            f"{one.phase} ({one.reason})" if one.reason and one.reason != one.phase else one.phase,
            f"through the request {one.through}" if one.through else "",
            f"for {one.ttl}" if one.ttl else "",
            age(one.created),
        )
        for one in page.access
    )


def _events(page: ClusterPage) -> Iterator[str]:
    rows = [
        (age(one.last), "Warning" if one.warning else "", one.reason, f"{one.count} times" if one.count > 1 else "")
        for one in page.events
    ]
    for line, one in zip(aligned(rows), page.events, strict=True):
        yield line
        yield from (f"    {part}" for part in wrapped(one.note) if one.note)


def _unseen(page: ClusterPage) -> list[str]:
    return [f"{one}: you may not read them" for one in page.unseen]

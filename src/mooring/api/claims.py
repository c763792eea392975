"""Claims: how requests hold a cluster, as it stands in the cluster's own metadata.

A claim is a finalizer, and an annotation of the same name that tells whose it is: ``{namespace, name, prefix}``. Both
are written in one patch. Upstream's scheduler writes the finalizer alone, so a claim without its annotation counts
as well: it takes a seat, and nobody can tell from it which request it belongs to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from mooring.api.kinds import Metadata
from mooring.api.marks import claim_of, claimant_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One request's hold on a cluster. Without an annotation, only the uid is known."""

    uid: str
    namespace: str = ""
    name: str = ""
    prefix: str = ""

    @property
    def signed(self) -> bool:
        """Whether it says which request it belongs to."""
        return bool(self.namespace and self.name)


class _Words(msgspec.Struct):
    """What the annotation holds."""

    namespace: str = ""
    name: str = ""
    prefix: str = ""


_read = msgspec.json.Decoder(_Words).decode


def claimants(metadata: Metadata) -> tuple[str, ...]:
    """The uids of all requests that hold the cluster."""
    # Each once: the server takes a list in which somebody has put the same finalizer twice.
    return tuple(dict.fromkeys(uid for uid in map(claimant_of, metadata.finalizers) if uid is not None))


def claims_on(metadata: Metadata) -> tuple[Claim, ...]:
    """All claims on the cluster, in the order in which they were made."""
    return tuple(_claim(metadata, uid) for uid in claimants(metadata))


def claim_on(metadata: Metadata, uid: str) -> Claim | None:
    """The claim of this request, if it is there."""
    return _claim(metadata, uid) if claim_of(uid) in metadata.finalizers else None


def prefixes_on(metadata: Metadata, *, but: str = "") -> list[str]:
    """The prefixes that are taken on the cluster; with ``but``, those of all other requests."""
    return [claim.prefix for claim in claims_on(metadata) if claim.prefix and claim.uid != but]


def with_claims(metadata: Metadata, claims: Iterable[Claim]) -> Metadata:
    """The metadata with these claims made; one that is there already is signed anew."""
    finalizers, annotations = list(metadata.finalizers), dict(metadata.annotations)
    for claim in claims:
        mark = claim_of(claim.uid)
        if mark not in finalizers:
            finalizers.append(mark)
        words = _Words(namespace=claim.namespace, name=claim.name, prefix=claim.prefix)
        annotations[mark] = msgspec.json.encode(words).decode()
    return msgspec.structs.replace(metadata, finalizers=tuple(finalizers), annotations=annotations)


def without_claims(metadata: Metadata, uids: Collection[str]) -> Metadata:
    """The metadata with the claims of these requests given up."""
    marks = {claim_of(uid) for uid in uids}
    return msgspec.structs.replace(
        metadata,
        finalizers=tuple(one for one in metadata.finalizers if one not in marks),
        annotations={name: value for name, value in metadata.annotations.items() if name not in marks},
    )


def _claim(metadata: Metadata, uid: str) -> Claim:
    try:
        words = _read(metadata.annotations.get(claim_of(uid), "{}"))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):  # somebody's hand: the claim still counts
        words = _Words()
    return Claim(uid=uid, namespace=words.namespace, name=words.name, prefix=words.prefix)

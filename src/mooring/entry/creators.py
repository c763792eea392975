"""Whether the creator of a request may enter: the server has noted down who that is, and is asked what they may do.

The note (*stamp*) is written by an admission policy on creation and on every change of the spec, and frozen by another
(``mooring.access.admission``). Rights change without a word to us, so whoever renews access asks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.kinds import EMPTY
from mooring.api.marks import CREATOR_ANNOTATION
from mooring.entry.policies import Denial, Verdict, judged
from mooring.entry.resolving import Target
from mooring.kube import Client, Object, ObjectKey, key_of, untyped
from mooring.kube.errors import NotFound, UnknownKind

VERB: Final = "access"
POLICY: Final = "creators.mooring.dev"  # the name of the admission policies and of their bindings
ADMISSION: Final = "admissionregistration.k8s.io/v1"
REVIEWS: Final = untyped(
    group="authorization.k8s.io", plural="subjectaccessreviews", kind="SubjectAccessReview", namespaced=False
)

_FREEZING: Final = [
    untyped(group="admissionregistration.k8s.io", plural=plural, kind=kind, namespaced=False)
    for kind, plural in (
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    )
]

# What whoever judges needs: a look at the policies, and the question what others may do, which changes nothing.
RIGHTS: Final[list[dict[str, Any]]] = [
    {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": [one.plural for one in _FREEZING],
        "resourceNames": [POLICY],
        "verbs": ["get"],
    },
    {"apiGroups": [REVIEWS.group], "resources": [REVIEWS.plural], "verbs": ["create"]},
]

# What is said of requests whose creators may not enter, or cannot be told.
DENIALS: Final = frozenset({Denial.NOT_CREATORS, Denial.CREATOR_UNKNOWN, Denial.CREATOR_UNSUPPORTED})

_LATER = "When that has changed, annotate the request with openmcp.cloud/operation=reconcile."


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """Who asked, as the server knew them."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = EMPTY  # type: ignore[assignment]


_read = msgspec.json.Decoder(Stamp).decode


def stamp_of(request: AccessRequest) -> Stamp | None:
    """The note on a request; None if there is none, or none that can be read."""
    try:
        stamp = _read(request.metadata.annotations.get(CREATOR_ANNOTATION, ""))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return stamp if stamp.user else None


async def stamps_are_written(client: Client) -> bool:
    """Whether the server can note down creators: it serves mutating admission policies."""
    try:
        await client.resource(ADMISSION, "MutatingAdmissionPolicy")
    except UnknownKind:
        return False
    return True


async def verdict_on(client: Client, request: AccessRequest, target: Target) -> Verdict:
    """The whole judgement on a request: the policy's, and its creator's rights where the policy leaves it to them."""
    verdict = judged(request, target.cluster, target.profile, holds=target.holds)
    return await may_enter(client, request, key_of(target.cluster)) if verdict.ask_creator else verdict


async def may_enter(client: Client, request: AccessRequest, cluster: ObjectKey) -> Verdict:
    """Whether the creator of a request may do the verb ``access`` on a Cluster, as of now."""
    if not await stamps_are_written(client):
        return _unsupported(
            "The policy Creator needs MutatingAdmissionPolicy in admissionregistration.k8s.io/v1, which this server "
            "does not serve. The platform's owner must choose another policy, or upgrade the server."
        )
    if not await _stamps_are_frozen(client):
        return _unsupported(
            f"The policy Creator needs the admission policies {POLICY}, which are not installed: without them anybody "
            f"can write down another's name. The platform's owner must install them, or choose another policy."
        )
    stamp = stamp_of(request)
    if stamp is None:
        return Verdict(
            allowed=False,
            reason=Denial.CREATOR_UNKNOWN,
            message="Nobody noted down who created this request: it is older than the admission policies that do. "
            "Change its spec, or create it anew.",
        )
    if await _is_allowed(client, stamp, cluster):
        return Verdict(allowed=True)
    return Verdict(
        allowed=False,
        reason=Denial.NOT_CREATORS,
        message=f"{stamp.user!r}, who created this request or last changed its spec, may not do the verb {VERB!r} on "
        f"the Cluster {cluster}: a Role in its namespace can allow it. {_LATER}",
    )


def _unsupported(message: str) -> Verdict:
    return Verdict(allowed=False, reason=Denial.CREATOR_UNSUPPORTED, message=message)


async def _stamps_are_frozen(client: Client) -> bool:
    """Whether stamps are what they say. Looked up each time: it is asked seldom, and the answer opens doors."""
    try:
        for resource in _FREEZING:
            await client.get(resource, POLICY)
    except NotFound:
        return False
    return True


async def _is_allowed(client: Client, stamp: Stamp, cluster: ObjectKey) -> bool:
    api = Cluster.API
    attributes = {
        "verb": VERB,
        "group": api.group,
        "version": api.version,
        "resource": api.plural,
        "namespace": cluster.namespace,
        "name": cluster.name,
    }
    spec = {
        "user": stamp.user,
        "uid": stamp.uid,
        "groups": list(stamp.groups),
        "extra": {name: list(values) for name, values in stamp.extra.items()},
        "resourceAttributes": attributes,
    }
    body: Object = {"apiVersion": "authorization.k8s.io/v1", "kind": REVIEWS.kind, "spec": spec}
    status = (await client.create(REVIEWS, body)).get("status") or {}
    return bool(status.get("allowed")) and not status.get("denied")

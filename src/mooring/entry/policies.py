"""Who may enter a cluster: the decision, as a function of values. Both sides of a grant make it for themselves.

The one who prepares a request can be passed by: anybody may write labels. So the one who opens the door judges again,
from the Cluster and its profile, before the first write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mooring.api.access import AccessRequest, AccessRequestSpec
from mooring.api.claims import Claim, claims_on
from mooring.api.clusters import Cluster, ClusterProfile, Tenancy
from mooring.api.durations import seconds_of
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.api.policies import AccessPolicy, AccessRules
from mooring.entry.doors import groups_prefix, username_prefix
from mooring.entry.entrants import ACCOUNTS
from mooring.kube import ObjectKey, key_of

_USUAL: Final = AccessRules()
_SYSTEM: Final = "kube-"  # a prefix that leads there gives nothing: these namespaces were there before


class Denial(StrEnum):
    """Why access is not granted."""

    FOREIGN_NAMESPACE = "ForeignNamespace"
    NO_CLAIM = "RequestHasNoClaim"
    OUTSIDE_PREFIX = "OutsideOfPrefix"
    NOT_CREATORS = "CreatorMayNot"
    CREATOR_UNKNOWN = "CreatorUnknown"
    CREATOR_UNSUPPORTED = "CreatorPolicyUnsupported"
    WRONG_LABEL = "WrongLabel"
    INVALID_TTL = "InvalidTtl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """May it enter? With ``ask_creator`` only if its creator may, which somebody has to ask the server."""

    allowed: bool
    reason: str = ""
    message: str = ""
    ask_creator: bool = False


_YES: Final = Verdict(allowed=True)


def judged(request: AccessRequest, cluster: Cluster, profile: ClusterProfile, *, holds: bool | None = None) -> Verdict:
    """Whether the policy of the profile lets this request into this cluster.

    ``holds`` tells whether the ClusterRequest that is named holds the cluster, where the cluster cannot: a claim that
    another scheduler made is not signed. None: nobody has looked.
    """
    flaw = _flaw(request, profile)
    if flaw is not None:
        return flaw
    rules = profile.spec.access or _USUAL
    claim = claim_for(request, cluster)
    named = claim is not None or bool(holds)
    if rules.policy is AccessPolicy.SAME_NAMESPACE and not _is_near(request, cluster, named=named):
        return _denied_as_foreign(request, cluster)
    if rules.bound_to_prefix and cluster.spec.tenancy is Tenancy.SHARED:
        outside = next(_outside(request.spec, _prefix(request, claim, rules.policy)), None)
        if outside is not None:
            return Verdict(allowed=False, reason=Denial.OUTSIDE_PREFIX, message=outside)
    return Verdict(allowed=True, ask_creator=True) if rules.policy is AccessPolicy.CREATOR else _YES


def right_labels(profile: ClusterProfile) -> dict[str, str]:
    """The labels of a request for a cluster of this profile: who is to answer it, and as what."""
    return {PROVIDER_LABEL: profile.spec.provider_ref.name, PROFILE_LABEL: profile.metadata.name}


def claim_for(request: AccessRequest, cluster: Cluster) -> Claim | None:
    """The claim on the cluster of the ClusterRequest that is named, as far as claims say whose they are."""
    key = request_named(request)
    return next((one for one in claims_on(cluster.metadata) if ObjectKey(one.namespace, one.name) == key), None)


def request_named(request: AccessRequest) -> ObjectKey | None:
    """The ClusterRequest that is named, if one is."""
    reference = request.spec.request_ref
    return ObjectKey(reference.namespace or request.metadata.namespace, reference.name) if reference else None


def cluster_named(request: AccessRequest) -> ObjectKey | None:
    """The Cluster that is named, if one is."""
    reference = request.spec.cluster_ref
    return ObjectKey(reference.namespace or request.metadata.namespace, reference.name) if reference else None


def _flaw(request: AccessRequest, profile: ClusterProfile) -> Verdict | None:
    """What is wrong with the request itself, whatever the policy is."""
    for label, right in right_labels(profile).items():
        there = request.metadata.labels.get(label, right)
        if there != right:
            return Verdict(
                allowed=False,
                reason=Denial.WRONG_LABEL,
                message=f"The label {label} is {there!r}, and for this cluster it is {right!r}: remove or correct it.",
            )
    ttl = request.spec.ttl
    try:
        passes = not ttl or seconds_of(ttl) > 0
    except ValueError as error:
        return Verdict(allowed=False, reason=Denial.INVALID_TTL, message=f"spec.ttl: {error}.")
    if passes:
        return None
    message = f"spec.ttl is {ttl!r}; it must be longer than nothing, such as 8h."
    return Verdict(allowed=False, reason=Denial.INVALID_TTL, message=message)


def _prefix(request: AccessRequest, claim: Claim | None, policy: AccessPolicy) -> str:
    """The prefix that bounds a request. Naming the ClusterRequest of another namespace does not lend its prefix."""
    if claim is None or (policy is not AccessPolicy.ALL and claim.namespace != request.metadata.namespace):
        return ""
    return claim.prefix


def _is_near(request: AccessRequest, cluster: Cluster, *, named: bool) -> bool:
    here = request.metadata.namespace
    if cluster.metadata.namespace == here:
        return True
    key = request_named(request)
    return key is not None and key.namespace == here and named


def _denied_as_foreign(request: AccessRequest, cluster: Cluster) -> Verdict:
    here, key = request.metadata.namespace, request_named(request)
    if key is not None and key.namespace == here:
        return Verdict(
            allowed=False,
            reason=Denial.NO_CLAIM,
            message=f"The ClusterRequest {key} does not hold the Cluster {key_of(cluster)} that is named beside it.",
        )
    meant = f"the ClusterRequest {key}" if key is not None else f"the Cluster {key_of(cluster)}"
    return Verdict(
        allowed=False,
        reason=Denial.FOREIGN_NAMESPACE,
        message=(
            f"{meant[0].upper()}{meant[1:]} is in another namespace than this request. Create the request there, or "
            f"have the platform's owner choose another policy for the profile {cluster.spec.profile}."
        ),
    )


# -- within a prefix --------------------------------------------------------------------------------------------------


def _outside(spec: AccessRequestSpec, prefix: str) -> Iterator[str]:
    """What is asked for beyond the namespaces of the prefix, each in words with its field."""
    if not prefix:
        yield (
            "The cluster is shared, and only ClusterRequests that hold it with a prefix lead in: name one of this "
            "namespace in spec.requestRef."
        )
    for field, namespace in _reaches(spec):
        if not namespace:
            yield f"{field} holds in the whole cluster, which is shared; name a namespace that begins with {prefix!r}."
        elif namespace == ACCOUNTS or namespace.startswith(_SYSTEM):
            yield f"{field}.namespace is {namespace!r}, which is nobody's on a shared cluster."
        elif not namespace.startswith(prefix):
            yield f"{field}.namespace is {namespace!r}; on this shared cluster it must begin with {prefix!r}."
    if spec.oidc is not None:
        prefixes = {"usernamePrefix": username_prefix(spec.oidc), "groupsPrefix": groups_prefix(spec.oidc)}
        yield from (
            f"spec.oidc.{field} is empty, and then its users could call themselves like anybody else on this shared "
            f"cluster; leave it out, or choose one."
            for field, put_before in prefixes.items()
            if not put_before
        )


def _reaches(spec: AccessRequestSpec) -> Iterator[tuple[str, str]]:
    """Every role that is made or bound, by its field, and the namespace that it holds in."""
    if spec.token is not None:
        yield from _fields("spec.token.permissions", [one.namespace for one in spec.token.permissions])
        yield from _fields("spec.token.roleRefs", [one.namespace for one in spec.token.role_refs])
    if spec.oidc is not None:
        yield from _fields("spec.oidc.roles", [one.namespace for one in spec.oidc.roles])
        for number, bound in enumerate(spec.oidc.role_bindings):
            where = f"spec.oidc.roleBindings[{number}].roleRefs"
            yield from _fields(where, [one.namespace for one in bound.role_refs])


def _fields(where: str, namespaces: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, namespace in enumerate(namespaces):
        yield f"{where}[{number}]", namespace

"""AccessRequests of the suite: prepared as the platform prepares them, and looked at until they are answered.

On a throwaway platform nobody prepares requests, so the suite does: both labels, the reference to the Cluster, and
``Pending`` in the status, which upstream's providers wait for before they begin, and again after every change.
"""

from __future__ import annotations

from mooring.api.access import AccessRequest
from mooring.api.clusters import ClusterProfile
from mooring.api.marks import MANAGED_BY_LABEL, MANAGED_BY_MOORING, PROFILE_LABEL
from mooring.kube import Client, MergePatch, Object, ObjectKey
from mooring.kube.errors import Conflict, NotFound
from mooring.testing.builders import plain_resource_of
from mooring.testing.conformance.trails import conditions_of, finalizers_of, follows, labels_of, revision, status_of

ACCESS_REQUESTS = plain_resource_of(AccessRequest)
PROFILES = plain_resource_of(ClusterProfile)


async def call_pending(client: Client, key: ObjectKey) -> None:
    """Have the status say that the request may be answered as it is now, unless it has been already."""
    while True:
        try:
            there = await client.get(ACCESS_REQUESTS, key.name, namespace=key.namespace)
            if follows(there) or (status_of(there) and await _looks_for_itself(client, there)):
                return
            status = {"phase": "Pending", "observedGeneration": there["metadata"]["generation"]}
            patch = MergePatch({"metadata": {"resourceVersion": revision(there)}, "status": status})
            await client.patch(ACCESS_REQUESTS, key.name, patch, namespace=key.namespace, subresource="status")
        except NotFound:
            return
        except Conflict:
            continue  # somebody was quicker: the provider, perhaps
        return


async def _looks_for_itself(client: Client, request: Object) -> bool:
    """Whether its provider needs no such word: those of our SDK do not, and our platform gives them none."""
    try:
        profile = await client.get(PROFILES, labels_of(request).get(PROFILE_LABEL, ""))
    except NotFound:
        return False
    return bool(labels_of(profile).get(MANAGED_BY_LABEL) == MANAGED_BY_MOORING)


async def take_back(client: Client, key: ObjectKey) -> None:
    """Delete a request; nobody waits for its end here."""
    try:
        await client.delete(ACCESS_REQUESTS, key.name, namespace=key.namespace)
    except NotFound:
        return
    await call_pending(client, key)


# -- reading a request ------------------------------------------------------------------------------------------------


def phase_of(request: Object) -> str:
    return str(status_of(request).get("phase") or "")


def is_granted(request: Object) -> bool:
    """Granted as it is now, and not as it was before a change."""
    return phase_of(request) == "Granted" and follows(request)


def explanation_in(request: Object) -> str:
    """Why it is not granted: in the status itself, or in a condition that is not True; empty if nobody says."""
    status = status_of(request)
    told = [status, *(one for one in conditions_of(request) if one.get("status") != "True")]
    return next((f"{one['reason']}: {one.get('message') or ''}" for one in told if one.get("reason")), "")


def secret_name_in(request: Object) -> str:
    return str((status_of(request).get("secretRef") or {}).get("name") or "")


def how_it_stands(request: Object) -> str:
    """For a person who wonders why something is still waited for."""
    if not request:
        return "it is gone"
    said = [f"phase {phase_of(request)!r}", f"secretRef {secret_name_in(request) or 'none'}"]
    if not follows(request):
        said.append("of another generation")
    if why := explanation_in(request):
        said.append(why)
    return ", ".join([*said, f"finalizers {', '.join(finalizers_of(request)) or 'none'}"])

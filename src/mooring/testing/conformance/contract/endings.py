"""The end of access: what was given is taken back, and nothing is held up by what is gone."""

from __future__ import annotations

from mooring.kube import Object, ObjectKey, key_of
from mooring.kube.errors import NotFound
from mooring.testing.builders import SECRETS
from mooring.testing.conformance.asking import secret_name_in
from mooring.testing.conformance.checks import Level, check
from mooring.testing.conformance.contract.clusters import specimen
from mooring.testing.conformance.contract.tokens import GET, TOKEN, entering
from mooring.testing.conformance.entrants import Entrant
from mooring.testing.conformance.grants import allowed, ended, for_token, grant, rule
from mooring.testing.conformance.trials import Trial


async def _short_lived(trial: Trial) -> Object:
    return await grant(trial, (await specimen(trial)).key, token=for_token(rule("configmaps")))


@check(
    "access.deletion",
    Level.MUST,
    "When an AccessRequest is deleted, its token is refused, its kubeconfig is gone, and then it goes.",
    needs=[TOKEN],
)
async def deletion_takes_back(trial: Trial) -> None:
    request = await trial.once("a request that is deleted", _short_lived)
    async with entering(trial, request) as entrant:
        await allowed(trial, entrant, GET)
        await ended(trial, key_of(request), "Act on metadata.deletionTimestamp, and remove your finalizer at the end.")
        await _is_unknown(trial, entrant)
    await _secret_goes(trial, request)


async def _is_unknown(trial: Trial, entrant: Entrant) -> None:
    """Servers remember for some seconds that they knew somebody."""

    async def unknown() -> bool:
        return await entrant.may(GET) is None

    async def seen() -> str:
        return "the cluster still lets its holder in"

    remedy = "Delete the account, or what the token is bound to, before you let the request go."
    await trial.asks(unknown, "the token of a deleted AccessRequest to be refused", seen, remedy)


async def _secret_goes(trial: Trial, request: Object) -> None:
    name, namespace = secret_name_in(request), key_of(request).namespace

    async def is_gone() -> bool:
        try:
            await trial.client.get(SECRETS, name, namespace=namespace)
        except NotFound:
            return True
        return False

    async def seen() -> str:
        return f"the Secret {name} is there"

    await trial.asks(is_gone, "the Secret of a deleted AccessRequest to go", seen, "Have it owned by the request.")


async def _bereft(trial: Trial) -> ObjectKey:
    """A request for a Cluster that was granted, and whose Cluster is gone."""
    trail = await trial.ready_cluster()
    request = await grant(trial, trail.key, token=for_token(rule("configmaps")))
    await trial.delete(trail)
    await trial.gone(trail, "The end of a Cluster does not wait for AccessRequests.")
    return key_of(request)


@check(
    "access.cluster-gone",
    Level.MUST,
    "An AccessRequest whose Cluster is gone can be deleted.",
    needs=[TOKEN, "deletion.gone"],
)
async def gone_clusters_hold_nothing(trial: Trial) -> None:
    key = await trial.once("a request whose cluster is gone", _bereft)
    await ended(trial, key, "What was made went with the cluster: remove your finalizer when the Cluster is not there.")

"""Access: which requests a provider answers, and how."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.kube import Object
from mooring.testing.builders import access_request
from mooring.testing.conformance.bench import ACCESS_REQUESTS
from mooring.testing.conformance.checks import DoesNotApply, Level, check
from mooring.testing.conformance.contract.clusters import READY, specimen
from mooring.testing.conformance.trails import labels_of
from mooring.testing.conformance.trials import Trial

_NOT_YET = "not checked yet: it comes with access management"


async def _asked(trial: Trial, name: str, labels: Mapping[str, str]) -> Object:
    """A request for a cluster of the provider, with these labels and no others."""
    cluster = (await specimen(trial)).key
    where = {"name": cluster.name, "namespace": cluster.namespace}
    body = access_request(name, trial.bench.namespace, clusterRef=where, token={})
    body["metadata"]["labels"] = dict(labels)
    return await trial.bench.make_access(body)


async def _left_alone(trial: Trial, requests: Mapping[str, Mapping[str, str]]) -> None:
    """None of these is touched, whatever else the provider is asked to do."""
    asked = {
        what: await _asked(trial, f"access-{number}-{trial.check.partition('.')[2]}", labels)
        for number, (what, labels) in enumerate(requests.items())
    }
    await trial.barrier()
    for what, request in asked.items():
        if not _is_prepared(request) and _is_prepared(await _again(trial, request)):
            raise DoesNotApply("this platform prepares requests; leave out --kubeconfig to have one that does not")
        remedy = "Filter: both labels are there, and the first has your name, before anything else is looked at."
        await trial.untouched(ACCESS_REQUESTS, request, what, remedy=remedy)


def _is_prepared(request: Object) -> bool:
    return labels_of(request).keys() >= {PROVIDER_LABEL, PROFILE_LABEL}


async def _again(trial: Trial, request: Object) -> Object:
    metadata = request["metadata"]
    return await trial.client.get(ACCESS_REQUESTS, metadata["name"], namespace=metadata["namespace"])


@check(
    "access.unprepared",
    Level.MUST,
    "An AccessRequest that does not have both labels, provider and profile, is not touched: it is not prepared yet.",
    needs=[READY],
)
async def unprepared_requests_are_left_alone(trial: Trial) -> None:
    provider, profile = {PROVIDER_LABEL: trial.bench.first}, {PROFILE_LABEL: await trial.profile()}
    requests = {
        "an AccessRequest without labels": {},
        f"an AccessRequest without the label {PROFILE_LABEL}": provider,
        f"an AccessRequest without the label {PROVIDER_LABEL}": profile,
    }
    await _left_alone(trial, requests)


@check(
    "access.foreign",
    Level.MUST,
    "An AccessRequest whose provider label names another provider is not touched.",
    needs=[READY],
)
async def foreign_requests_are_left_alone(trial: Trial) -> None:
    labels = {PROVIDER_LABEL: f"not-{trial.bench.first}"[:63], PROFILE_LABEL: await trial.profile()}
    await _left_alone(trial, {"an AccessRequest that names another provider": labels})


@check(
    "access.token",
    Level.MUST,
    "An AccessRequest for a token is granted: with a kubeconfig that can do what was asked, and nothing else.",
    needs=[READY],
)
async def token_is_granted(trial: Trial) -> None:
    raise DoesNotApply(_NOT_YET)


@check(
    "access.oidc",
    Level.MUST,
    "An AccessRequest for OIDC is granted, or denied with a reason, and never left without an answer.",
    needs=[READY],
)
async def oidc_is_answered(trial: Trial) -> None:
    raise DoesNotApply(_NOT_YET)

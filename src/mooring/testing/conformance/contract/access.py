"""Access: which requests a provider answers, and which it does not touch."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.kube import Object
from mooring.testing.builders import access_request
from mooring.testing.conformance.asking import ACCESS_REQUESTS, how_it_stands, phase_of, secret_name_in
from mooring.testing.conformance.checks import DoesNotApply, Level, Unmet, check
from mooring.testing.conformance.contract.clusters import READY, specimen
from mooring.testing.conformance.contract.responsibility import foreign_profile
from mooring.testing.conformance.contract.tokens import TOKEN
from mooring.testing.conformance.grants import ask, for_token, grant, rule, there
from mooring.testing.conformance.trails import labels_of
from mooring.testing.conformance.trials import Trial

_BARE = "an AccessRequest without labels"
_EVERYTHING = for_token({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})


async def _asked(trial: Trial, name: str, labels: Mapping[str, str]) -> Object:
    """A request for a cluster of the provider, with these labels and no others."""
    cluster = (await specimen(trial)).key
    where = {"name": cluster.name, "namespace": cluster.namespace}
    body = access_request(name, trial.bench.namespace, clusterRef=where, token={})
    body["metadata"]["labels"] = dict(labels)
    return await trial.bench.make_access(body)


async def _left_alone(trial: Trial, requests: Mapping[str, Mapping[str, str]]) -> None:
    """None of these is touched, whatever else the provider is asked to do. One without labels comes first: where that
    is prepared, others write on requests, too, and nobody can tell who it was."""
    asked = {
        what: await _asked(trial, f"access-{number}-{trial.check.partition('.')[2]}", labels)
        for number, (what, labels) in enumerate({_BARE: {}, **requests}.items())
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
        _BARE: {},
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
    "access.self-labelled",
    Level.MUST,
    "Labels alone open no door: who has them written for another provider's Cluster gets nothing.",
    needs=[READY, TOKEN],
)
async def labels_alone_open_nothing(trial: Trial) -> None:
    foreign = await foreign_profile(trial)
    trail = await trial.cluster(profile=foreign, own=False)
    await trial.patch(trail, {"status": _as_if_made(trial)}, subresource="status")
    keys = [
        await ask(trial, trail.key, labels={PROVIDER_LABEL: trial.bench.first, PROFILE_LABEL: told}, token=_EVERYTHING)
        for told in (await trial.profile(), foreign)
    ]
    await trial.once("requests after those with false labels", _two_of_ours)
    for key in keys:
        request = await there(trial, key)
        if phase_of(request) == "Granted" or secret_name_in(request):
            raise Unmet(
                expected="nothing is given for a Cluster of another provider",
                seen=how_it_stands(request),
                remedy="Anybody may write labels. Look at the Cluster's profile, and whose it is, before you grant.",
            )


async def _two_of_ours(trial: Trial) -> None:
    """When both are granted, there was time for those that came before, in whatever order the provider takes them.

    A provider that goes through its requests one after another may come to the first of ours before the others; it
    has been through all of them when it comes to the second.
    """
    for _ in range(2):
        await grant(trial, (await specimen(trial)).key, token=for_token(rule("configmaps")))


def _as_if_made(trial: Trial) -> Object:
    """The status of a Cluster that is ready, by whomever."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": "True", "reason": "Made", "message": "", "lastTransitionTime": now}
    address = trial.client.connection.server
    return {"observedGeneration": 1, "phase": "Ready", "apiServer": address, "conditions": [ready]}

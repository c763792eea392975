"""Access by an identity provider, which not every provider can give; and that no request tells a secret."""

from __future__ import annotations

from mooring.kube import Object, ObjectKey
from mooring.providers.sdk.scrubbing import secret_in
from mooring.runtime.recorder import EVENTS
from mooring.testing.conformance.asking import (
    ACCESS_REQUESTS,
    explanation_in,
    how_it_stands,
    is_granted,
    secret_name_in,
)
from mooring.testing.conformance.checks import Level, Stage, Unmet, check
from mooring.testing.conformance.contract.clusters import READY, specimen
from mooring.testing.conformance.contract.tokens import TOKEN
from mooring.testing.conformance.entrants import secret_of, users_in
from mooring.testing.conformance.grants import ask, there
from mooring.testing.conformance.trails import follows, status_of
from mooring.testing.conformance.trials import Trial

_OIDC = "access.oidc"
# Nobody is there: who wants to look before it trusts says so, which is an answer.
_WISH = {
    "name": "conformance",
    "issuer": "https://issuer.invalid/conformance",
    "clientID": "conformance",
    "roleBindings": [
        {"subjects": [{"kind": "User", "name": "somebody"}], "roleRefs": [{"kind": "ClusterRole", "name": "view"}]}
    ],
}
# What lets in whoever holds it.
_STATIC = (
    "token",
    "tokenFile",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "username",
    "password",
)


async def _asked(trial: Trial) -> ObjectKey:
    return await ask(trial, (await specimen(trial)).key, oidc=_WISH)


async def _answered(trial: Trial) -> Object:
    key = await trial.once("a request for an identity provider", _asked)

    async def answer() -> Object | None:
        request = await there(trial, key)
        return request if is_granted(request) or (follows(request) and explanation_in(request)) else None

    async def seen() -> str:
        return how_it_stands(await there(trial, key))

    expected = "an AccessRequest for OIDC is granted, or told why not"
    return await trial.asks(answer, expected, seen, "If you cannot do it: phase Denied, with a reason and a message.")


@check(
    _OIDC,
    Level.MUST,
    "An AccessRequest for OIDC is granted, or denied with a reason, and never left without an answer.",
    needs=[READY],
)
async def oidc_is_answered(trial: Trial) -> None:
    await _answered(trial)


@check(
    "access.no-admin",
    Level.MUST,
    "An AccessRequest for OIDC is not answered with somebody else's credentials: its kubeconfig holds none.",
    needs=[_OIDC],
)
async def oidc_gives_no_credentials(trial: Trial) -> None:
    request = await _answered(trial)
    if not secret_name_in(request):
        return
    for user in users_in(await secret_of(trial.client, request)):
        static = [name for name in _STATIC if user.get(name)]
        if static or secret_in(user):
            raise Unmet(
                expected="a kubeconfig that has its holder log in at the identity provider",
                seen=f"one that lets in whoever holds it: {', '.join(static) or secret_in(user)}",
                remedy="Who cannot set up the trust denies the request: nobody asked for anybody's credentials.",
            )


@check(
    "access.secrets",
    Level.MUST,
    "Status, labels and annotations of AccessRequests, and events about them, hold no kubeconfig, token or key.",
    needs=[TOKEN],
    stage=Stage.LAST,
)
async def requests_hold_no_secret(trial: Trial) -> None:
    namespace = trial.bench.namespace
    for request in (await trial.client.list(ACCESS_REQUESTS, namespace=namespace)).items:
        marks = {name: request["metadata"].get(name) or {} for name in ("labels", "annotations")}
        _search({**marks, "status": status_of(request)}, f"AccessRequest {request['metadata']['name']}")
    for event in (await trial.client.list(EVENTS, namespace=namespace)).items:
        about = event.get("regarding") or {}
        if about.get("kind") == ACCESS_REQUESTS.kind:
            told = {name: event.get(name) or "" for name in ("note", "reason", "action")}
            _search(told, f"an event about AccessRequest {about.get('name')}")


def _search(value: Object, what: str) -> None:
    if where := secret_in(value):
        raise Unmet(
            expected="nothing that looks like a credential",
            seen=f"something does, in {what}: {where}",
            remedy="Credentials are in the Secret that status.secretRef names, and nowhere else.",
        )

"""Tokens: a kubeconfig that can do what was asked for, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from mooring.kube import KubeError, Object, ObjectKey, uid_of
from mooring.kube.errors import NotFound
from mooring.testing.builders import NAMESPACES
from mooring.testing.conformance.checks import Level, Unmet, check
from mooring.testing.conformance.contract.clusters import READY, specimen
from mooring.testing.conformance.entrants import Deed, Entrant, entered, secret_of, texts_in
from mooring.testing.conformance.grants import allowed, ask, change, for_token, grant, granted, refused, rule
from mooring.testing.conformance.trials import Trial

TOKEN = "access.token"  # noqa: S105 - the name of a check
_RBAC = "rbac.authorization.k8s.io"
_TIMES = ("creationTimestamp", "expirationTimestamp")

GET = Deed("get", "configmaps")
_ASKED = (GET, Deed("list", "configmaps"))
_NOT_ASKED = (
    Deed("create", "configmaps"),
    Deed("delete", "configmaps"),
    Deed("get", "secrets"),
    Deed("list", "pods"),
    Deed("create", "serviceaccounts"),
    Deed("impersonate", "users"),
    Deed("create", "clusterrolebindings", group=_RBAC),
    Deed("escalate", "clusterroles", group=_RBAC),
    Deed("*", "*", group="*"),
)


async def _asked(trial: Trial) -> ObjectKey:
    return await ask(trial, (await specimen(trial)).key, token=for_token(rule("configmaps")))


async def _granted(trial: Trial) -> Object:
    """A request that may read ConfigMaps: one for all who only look at it."""
    return await granted(trial, await trial.once("a request for a token", _asked))


@contextlib.asynccontextmanager
async def entering(trial: Trial, request: Object) -> AsyncIterator[Entrant]:
    """With the kubeconfig of a granted request."""
    async with entered(await secret_of(trial.client, request)) as entrant:
        yield entrant


async def _nothing_of(entrant: Entrant, *deeds: Deed) -> None:
    """To be asked when the entrant may do what it should: then its cluster knows of all its bindings."""
    if found := await entrant.may_any(deeds):
        raise Unmet(
            expected="the kubeconfig can do nothing that was not asked for",
            seen=f"it may {'; '.join(map(str, found))}",
            remedy="Make roles of just the rules that are asked for, and an account of its own for each request.",
        )


@check(
    TOKEN,
    Level.MUST,
    "An AccessRequest for a token is granted, with a kubeconfig in a Secret that can do what was asked for.",
    needs=[READY],
)
async def token_is_granted(trial: Trial) -> None:
    async with entering(trial, await _granted(trial)) as entrant:
        await allowed(trial, entrant, *_ASKED)


@check(
    "access.nothing-else",
    Level.MUST,
    "A token can do nothing else than what was asked for.",
    needs=[TOKEN],
)
async def token_is_no_more(trial: Trial) -> None:
    async with entering(trial, await _granted(trial)) as entrant:
        await allowed(trial, entrant, *_ASKED)
        await _nothing_of(entrant, *_NOT_ASKED)


@check(
    "access.times",
    Level.SHOULD,
    "Beside the kubeconfig of a token stands since when and until when it is good.",
    needs=[TOKEN],
)
async def times_are_told(trial: Trial) -> None:
    texts = texts_in(await secret_of(trial.client, await _granted(trial)))
    times = [texts.get(name, "") for name in _TIMES]
    if not (all(one.isdecimal() for one in times) and int(times[0]) < int(times[1])):
        raise Unmet(
            expected=f"the keys {' and '.join(_TIMES)} in the Secret, in seconds since the epoch",
            seen=", ".join(f"{name} {text!r}" for name, text in zip(_TIMES, times, strict=True)),
        )


@check(
    "access.owner",
    Level.SHOULD,
    "The Secret with a kubeconfig is owned by its AccessRequest, and so goes with it.",
    needs=[TOKEN],
)
async def secret_is_owned(trial: Trial) -> None:
    request = await _granted(trial)
    owners = (await secret_of(trial.client, request))["metadata"].get("ownerReferences") or []
    if uid_of(request) not in [one.get("uid") for one in owners]:
        told = ", ".join(f"{one.get('kind')} {one.get('name')}" for one in owners) or "nobody"
        raise Unmet(expected="an owner reference to the AccessRequest", seen=f"the owner of the Secret is {told}")


# -- what can be asked for --------------------------------------------------------------------------------------------


class Room(NamedTuple):
    """A namespace in the cluster, and a request that may look whether it is there, and take it away."""

    name: str
    request: Object


def _name_of_room(trial: Trial, ending: str) -> str:
    return f"{trial.bench.namespace[:40]}-{ending}"


_KEEPS = rule("namespaces", verbs=("get", "delete"))


async def _is_there(entrant: Entrant, namespace: str) -> bool:
    try:
        await entrant.client.get(NAMESPACES, namespace)
    except NotFound:
        return False
    return True


async def _empty(entrant: Entrant, namespace: str) -> None:
    with contextlib.suppress(KubeError):
        await entrant.client.delete(NAMESPACES, namespace)


async def _room(trial: Trial) -> Room:
    name = _name_of_room(trial, "room")
    permissions = [{"namespace": name, "rules": [rule("configmaps", verbs=("get", "create"))]}, {"rules": [_KEEPS]}]
    return Room(name, await grant(trial, (await specimen(trial)).key, token={"permissions": permissions}))


@check(
    "access.token-namespace",
    Level.MUST,
    "A permission with a namespace holds there and nowhere else, and the namespace is made if it is missing.",
    needs=[TOKEN],
)
async def token_for_a_namespace(trial: Trial) -> None:
    room = await trial.once("a request for a namespace", _room)
    async with entering(trial, room.request) as entrant:
        try:
            await allowed(trial, entrant, Deed("create", "configmaps", room.name), Deed("get", "namespaces"))
            await _nothing_of(entrant, Deed("create", "configmaps", "default"), Deed("create", "configmaps"))
            if not await _is_there(entrant, room.name):
                raise Unmet(
                    expected=f"the namespace {room.name} is made in the cluster",
                    seen="it is not there",
                    remedy="A Role needs its namespace: make it, unless disableAutomaticNamespaceCreation is set.",
                )
        finally:
            await _empty(entrant, room.name)


async def _closed_room(trial: Trial) -> Room:
    name, cluster = _name_of_room(trial, "no-room"), (await specimen(trial)).key
    permission = {"namespace": name, "disableAutomaticNamespaceCreation": True, "rules": [rule("configmaps")]}
    await ask(trial, cluster, token={"permissions": [permission]})
    # When this is granted, there was time for the other one, too.
    return Room(name, await grant(trial, cluster, token=for_token(_KEEPS)))


@check(
    "access.token-no-namespace",
    Level.SHOULD,
    "A namespace is not made for a permission that has disableAutomaticNamespaceCreation.",
    needs=[TOKEN],
)
async def namespace_is_not_made(trial: Trial) -> None:
    room = await trial.once("a request for a namespace that may not be made", _closed_room)
    async with entering(trial, room.request) as entrant:
        await allowed(trial, entrant, Deed("get", "namespaces"))
        if await _is_there(entrant, room.name):
            await _empty(entrant, room.name)
            raise Unmet(expected=f"the namespace {room.name} is not made in the cluster", seen="it is there")


async def _viewing(trial: Trial) -> Object:
    references = [{"kind": "ClusterRole", "name": "view"}]
    return await grant(trial, (await specimen(trial)).key, token={"roleRefs": references})


@check(
    "access.token-role-refs",
    Level.MUST,
    "A token is bound to the roles that roleRefs names, and can do what these allow.",
    needs=[TOKEN],
)
async def token_with_roles(trial: Trial) -> None:
    async with entering(trial, await trial.once("a request for a role", _viewing)) as entrant:
        await allowed(trial, entrant, GET, Deed("list", "pods"))
        await _nothing_of(entrant, Deed("get", "secrets"), Deed("create", "configmaps"))


async def _large(trial: Trial) -> Object:
    rules = rule("configmaps"), rule("secrets")
    return await grant(trial, (await specimen(trial)).key, token=for_token(*rules))


@check(
    "access.change",
    Level.MUST,
    "When less is asked for than before, the rights end that are not asked for any more.",
    needs=[TOKEN],
)
async def rights_shrink(trial: Trial) -> None:
    request = await trial.once("a request that shrinks", _large)
    metadata = request["metadata"]
    key, lost = ObjectKey(metadata["namespace"], metadata["name"]), Deed("get", "secrets")
    async with entering(trial, request) as before:
        await allowed(trial, before, GET, lost)
        await change(trial, key, token=for_token(rule("configmaps")))
        remedy = "Compare what is in the cluster with spec.token, and remove what is not asked for."
        await refused(trial, before, lost, why="is not asked for any more", remedy=remedy)
    async with entering(trial, await granted(trial, key)) as after:
        await allowed(trial, after, GET)
        await _nothing_of(after, lost)

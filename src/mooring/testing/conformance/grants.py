"""Requests of one check: asked, waited for, changed and taken back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.kube import MergePatch, Object, ObjectKey, key_of
from mooring.kube.errors import NotFound
from mooring.testing.builders import access_request
from mooring.testing.conformance.asking import (
    ACCESS_REQUESTS,
    call_pending,
    how_it_stands,
    is_granted,
    phase_of,
    take_back,
)
from mooring.testing.conformance.checks import Unmet
from mooring.testing.conformance.entrants import Deed, Entrant
from mooring.testing.conformance.trials import Trial, numbers

READ = ("get", "list")


def rule(*resources: str, verbs: tuple[str, ...] = READ) -> Object:
    """A rule about resources of the core group."""
    return {"apiGroups": [""], "resources": list(resources), "verbs": list(verbs)}


def for_token(*rules: Object, **more: Any) -> Object:
    """What a request for a token asks for: these rules in the whole cluster, and more."""
    return {"permissions": [{"rules": list(rules)}], **more}


async def ask(trial: Trial, cluster: ObjectKey, *, labels: Mapping[str, str] | None = None, **spec: Any) -> ObjectKey:
    """A request for a Cluster, prepared; it is deleted when the check is over."""
    if labels is None:
        labels = {PROVIDER_LABEL: trial.bench.first, PROFILE_LABEL: await trial.profile()}
    name = f"{re.sub('[^a-z0-9]+', '-', trial.check)[:40]}-{next(numbers)}"
    where = {"name": cluster.name, "namespace": cluster.namespace}
    body = access_request(name, trial.bench.namespace, clusterRef=where, **spec)
    body["metadata"]["labels"] = dict(labels)
    key = key_of(await trial.bench.make_access(body))
    trial.accesses.append(key)
    await call_pending(trial.client, key)
    return key


async def there(trial: Trial, key: ObjectKey) -> Object:
    """The request; empty when it is gone."""
    try:
        return await trial.client.get(ACCESS_REQUESTS, key.name, namespace=key.namespace)
    except NotFound:
        return {}


async def granted(trial: Trial, key: ObjectKey) -> Object:
    """The request, once it is granted as it is now."""
    expected, remedy = f"the AccessRequest {key} is granted", "Set status.phase, observedGeneration and secretRef."

    async def answered() -> Object | None:
        request = await there(trial, key)
        if not request or phase_of(request) == "Denied":
            raise Unmet(expected=expected, seen=how_it_stands(request), remedy=remedy)
        return request if is_granted(request) else None

    async def seen() -> str:
        return how_it_stands(await there(trial, key))

    return await trial.asks(answered, expected, seen, remedy)


async def grant(trial: Trial, cluster: ObjectKey, **spec: Any) -> Object:
    return await granted(trial, await ask(trial, cluster, **spec))


async def change(trial: Trial, key: ObjectKey, **spec: Any) -> None:
    """Ask for something else, and say so as the platform does."""
    await trial.client.patch(ACCESS_REQUESTS, key.name, MergePatch({"spec": spec}), namespace=key.namespace)
    await call_pending(trial.client, key)


async def ended(trial: Trial, key: ObjectKey, remedy: str) -> None:
    """Take a request back, and wait until it is gone."""
    await take_back(trial.client, key)

    async def is_gone() -> bool:
        return not await there(trial, key)

    async def seen() -> str:
        return how_it_stands(await there(trial, key))

    try:
        await trial.asks(is_gone, f"the AccessRequest {key} to go after its deletion", seen, remedy)
    except Unmet:
        trial.bench.held_accesses.add(key)
        raise


async def allowed(trial: Trial, entrant: Entrant, *deeds: Deed) -> None:
    """Until the entrant may do all of it: servers learn of new bindings a moment later."""

    async def may() -> bool:
        return await entrant.may_all(deeds)

    async def seen() -> str:
        return await _told(entrant, *deeds)

    what = "; ".join(map(str, deeds))
    await trial.asks(may, f"the kubeconfig can do what was asked for: {what}", seen)


async def refused(trial: Trial, entrant: Entrant, *deeds: Deed, why: str, remedy: str = "") -> None:
    """Until the entrant may do none of it."""

    async def may_not() -> bool:
        return not await entrant.may_any(deeds)

    async def seen() -> str:
        return await _told(entrant, *deeds)

    what = "; ".join(map(str, deeds))
    await trial.asks(may_not, f"the kubeconfig cannot do what {why}: {what}", seen, remedy)


async def _told(entrant: Entrant, *deeds: Deed) -> str:
    words = {True: "may", False: "may not", None: "is not known, and may not"}
    return "it " + "; it ".join([f"{words[await entrant.may(one)]} {one}" for one in deeds])

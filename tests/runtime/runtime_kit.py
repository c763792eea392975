"""What the tests of the runtime share: a small kind with a status, managers that run, and conditions to wait for."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import inspect
from collections import Counter

import msgspec

from mooring.api.kinds import Metadata, Part
from mooring.kube import ObjectKey, Resource, untyped
from mooring.kube.errors import AlreadyExists
from mooring.runtime import Manager, Outcome

LONG = 120  # seconds: only ever used up by a test that fails

GROUP = "runtime.test.mooring.dev"
DEFINITIONS = untyped(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
PLAIN_THINGS = untyped(group=GROUP, plural="things", kind="Thing")


class Colour(enum.StrEnum):
    RED = "Red"
    GREEN = "Green"


class Spec(Part, frozen=True, kw_only=True):
    colour: Colour
    size: int = 0
    owner: str = ""


class Status(Part, frozen=True, kw_only=True):
    phase: str = ""
    seen: int = 0
    notes: dict[str, str] = msgspec.field(default_factory=dict)


class Thing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Strict where it counts: a colour must be there, and one that we know."""

    metadata: Metadata
    spec: Spec
    status: Status | None = None


THINGS = Resource(group=GROUP, version="v1", plural="things", kind="Thing", namespaced=True, decode_as=Thing)


def thing(name, namespace, *, metadata=None, **spec):
    metadata = {"name": name, "namespace": namespace, **(metadata or {})}
    spec = {"colour": "Red", **spec}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


async def define_things(kube, plural="things", kind="Thing", *, status_apart=True):
    """Have the server know things. Its schema is loose: what the server lets pass may still not be readable."""
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}} if status_apart else {},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": loose, "status": loose}}},
    }
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
        "versions": [version],
    }
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    with contextlib.suppress(AlreadyExists):
        await kube.create(DEFINITIONS, {**body, "metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec})

    async def established():
        found = await kube.get(DEFINITIONS, f"{plural}.{GROUP}")
        told = found.get("status", {}).get("conditions") or []
        conditions = {one["type"]: one["status"] for one in told}
        return conditions.get("Established") == "True"

    await eventually(established)


async def eventually(condition, seconds=LONG):
    """Wait until the condition gives something true, and return it; a coroutine function is asked as well."""
    async with asyncio.timeout(seconds):
        while True:
            answer = condition()
            if inspect.isawaitable(answer):
                answer = await answer
            if answer:
                return answer
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def running(manager: Manager):
    """The manager at work, and stopped in good order afterwards."""
    task = asyncio.create_task(manager.run())
    try:
        await eventually(lambda: manager.working or task.done())
        yield task
    finally:
        manager.stop()
        async with asyncio.timeout(LONG):
            await task


class Counting:
    """A reconciler that counts its runs by name, and does what it was given to do."""

    def __init__(self, deed=None):
        self.runs = Counter()
        self._deed = deed

    async def reconcile(self, key: ObjectKey) -> Outcome:
        self.runs[key.name] += 1
        outcome = None if self._deed is None else await self._deed(key)
        return outcome or Outcome.await_change()

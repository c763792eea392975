"""Writers that go on through an outage, and know afterwards what must be there.

Each writes under names of its own, so what it knows is what the server must say. A write whose outcome is unknown is
settled as a caller of the client is meant to do it: by looking.
"""

import asyncio
import itertools
from contextlib import asynccontextmanager

from wire_kit import CONFIG_MAPS, config_map

from mooring.kube import KubeError, MergePatch, revision_of, uid_of
from mooring.kube.errors import NotFound

_PAUSE = 0.05  # between two looks at a server that is away


class Writer:
    """Creates, patches and deletes in turn."""

    def __init__(self, client, namespace, label):
        self.expected = {}  # name to object, as acknowledged or looked up
        self.acknowledged = 0
        self.faults = []
        self.stopping = False
        self._moved = asyncio.Event()
        self._client = client
        self._namespace = namespace
        self._names = [f"{label}-{index}" for index in range(4)]

    async def work(self):
        deeds = itertools.cycle([self._create, self._patch, self._patch, self._delete])
        steps = ((deed, name) for deed in deeds for name in self._names)
        for number, (deed, name) in enumerate(steps):
            if self.stopping:
                return
            await self._settled(deed, name, str(number))

    async def goes_on(self, writes):
        goal = self.acknowledged + writes
        while self.acknowledged < goal:
            self._moved.clear()
            await self._moved.wait()

    async def _settled(self, deed, name, value):
        before = self.expected.get(name)
        try:
            after = await deed(name, value)
            self.acknowledged += 1
            self._moved.set()
        except KubeError as error:
            self.faults.append(error)
            after = await self._look(name)
            if not _same(before, after):
                done = _value(after) == (None if deed == self._delete else value)
                if not (done and error.outcome_unknown):
                    raise AssertionError(f"{name} is {after}, and was {before}") from error
        self.expected.pop(name, None)
        if after is not None:
            self.expected[name] = after

    # What was created or deleted in doubt may be there, or not, when its turn comes.

    async def _create(self, name, value):
        if name in self.expected:
            return await self._patch(name, value)
        return await self._client.create(CONFIG_MAPS, config_map(name, self._namespace, value=value))

    async def _patch(self, name, value):
        if name not in self.expected:
            return await self._create(name, value)
        change = MergePatch({"data": {"value": value}})
        return await self._client.patch(CONFIG_MAPS, name, change, namespace=self._namespace)

    async def _delete(self, name, _):
        if name in self.expected:
            uid = uid_of(self.expected[name])
            await self._client.delete(CONFIG_MAPS, name, namespace=self._namespace, uid=uid)

    async def _look(self, name):
        while True:
            try:
                return await self._client.get(CONFIG_MAPS, name, namespace=self._namespace)
            except NotFound:
                return None
            except KubeError as error:
                self.faults.append(error)
                await asyncio.sleep(_PAUSE)


def _value(thing):
    return None if thing is None else thing["data"]["value"]


def _same(one, other):
    return one is other or (one is not None and other is not None and revision_of(one) == revision_of(other))


class Load:
    """Several writers at once."""

    def __init__(self, writers):
        self.writers = writers

    async def goes_on(self, writes=5, seconds=120):
        """Wait until each has had so many more of its writes acknowledged."""
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(writer.goes_on(writes) for writer in self.writers))

    def expected(self):
        """Name to revision of all that must be there; of use when the load has ended."""
        known = {name: thing for writer in self.writers for name, thing in writer.expected.items()}
        return {name: revision_of(thing) for name, thing in known.items()}

    def faults(self):
        return [error for writer in self.writers for error in writer.faults]


@asynccontextmanager
async def load(client, namespace):
    writers = [Writer(client, namespace, f"w{number}") for number in range(6)]
    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(writer.work())
        try:
            yield Load(writers)
        finally:
            for writer in writers:
                writer.stopping = True

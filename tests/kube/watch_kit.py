"""What the tests of the watch share: a reader that keeps a picture, and remembers all that was told."""

import asyncio
from contextlib import aclosing, asynccontextmanager

from wire_kit import CONFIG_MAPS, OURS

from mooring.kube import Interrupted, Picture, Relisted, revision_of, uid_of, watching

PATIENCE = 120  # seconds: only ever used up by a test that fails


class Reader:
    """Somebody who keeps a picture of a namespace's ConfigMaps, and remembers all that was told."""

    def __init__(self, client, namespace):
        self.events = []
        self.changes = []
        self.picture = Picture()
        self._namespace = namespace
        self._client = client
        self._moved = asyncio.Event()

    async def read(self):
        watch = watching(self._client, CONFIG_MAPS, namespace=self._namespace, label_selector=OURS)
        async with aclosing(watch) as events:
            async for event in events:
                self.events.append(event)
                self.changes += self.picture.apply(event)
                self._moved.set()

    async def until(self, condition, seconds=PATIENCE):
        async with asyncio.timeout(seconds):
            while not condition():
                self._moved.clear()
                await self._moved.wait()

    async def equals(self, kube, seconds=PATIENCE):
        """Wait until the picture is the server's state, and return that, by name."""
        listing = await kube.list(CONFIG_MAPS, namespace=self._namespace, label_selector=OURS)
        state = {item["metadata"]["name"]: item for item in listing.items}
        revisions = {name: revision_of(item) for name, item in state.items()}
        await self.until(lambda: self.known() == revisions, seconds)
        return state

    def known(self):
        return {key.name: revision_of(item) for key, item in self.picture.objects.items()}

    def deleted(self):
        return [change.key.name for change in self.changes if change.after is None]

    def deleted_uids(self):
        return [uid_of(change.before) for change in self.changes if change.after is None]

    def seen_uids(self):
        return {uid_of(change.after) for change in self.changes if change.after is not None}

    def revisions(self):
        """Of each name, the revisions in the order in which they were told."""
        told = {}
        for change in self.changes:
            if change.after is not None:
                told.setdefault(change.key.name, []).append(int(revision_of(change.after)))
        return told

    def count(self, kind):
        return sum(isinstance(event, kind) for event in self.events)

    def faults(self):
        return [event.error for event in self.events if isinstance(event, Interrupted)]


@asynccontextmanager
async def reading(client, namespace):
    reader = Reader(client, namespace)
    task = asyncio.create_task(reader.read())
    try:
        await reader.until(lambda: reader.count(Relisted))
        yield reader
    finally:
        task.cancel()
        await asyncio.wait([task])

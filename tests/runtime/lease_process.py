"""A process of its own with a manager and a lease, for tests that freeze and end it. Not a test.

    python lease_process.py <kubeconfig> <identity> <namespace>

Its reconciler counts up the ConfigMap ``counter`` without end, each time only if nobody else has changed it. What it
is told on its standard input, and what it says on its standard output (lines that begin with @):

``freeze``  stop dead right before a write that nothing but the lease protects; afterwards @refused or @accepted
SIGTERM     stop in good order; @ended
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

from mooring.kube import MergePatch, ObjectKey, connection_from_document
from mooring.runtime import Controller, LeaseSettings, Manager, NotLeader, Outcome, Source, Writer
from mooring.testing.builders import CONFIG_MAPS

SETTINGS = {"name": "wheel", "duration": 3, "deadline": 2, "retry": 0.25}
PAUSE = 0.02  # seconds between two writes: the machine has other things to do as well


class CountingUp:
    def __init__(self, manager, identity, namespace):
        self.store = manager.store(CONFIG_MAPS, namespace=namespace)
        self._writer = Writer(manager.client, CONFIG_MAPS, self.store)
        self._client = manager.client
        self._identity = identity
        self.freezing = False

    async def reconcile(self, key: ObjectKey) -> Outcome:
        if key.name != "counter":
            return Outcome.await_change()
        if self.freezing:
            self.freezing = False
            await self._freeze(key.namespace)
        seen = self.store.get(key)
        if seen is not None:
            data = {"by": self._identity, "count": str(int(seen.get("data", {}).get("count", "0")) + 1)}
            await self._writer.save(seen, {**seen, "data": data}, guarded=True)
        return Outcome.requeue(after=PAUSE)

    async def _freeze(self, namespace):
        say("frozen")
        os.kill(os.getpid(), signal.SIGSTOP)
        late = MergePatch({"data": {"by": self._identity}})
        try:
            await self._client.patch(CONFIG_MAPS, "unprotected", late, namespace=namespace)
        except NotLeader:
            say("refused")
            raise
        say("accepted")


def say(word):
    print(f"@{word}", flush=True)


async def main(kubeconfig, identity, namespace):
    connection = connection_from_document(json.loads(Path(kubeconfig).read_text()))
    settings = LeaseSettings(namespace=namespace, **SETTINGS)
    loop = asyncio.get_running_loop()
    async with Manager(connection, identity=identity, lease=settings) as manager:
        counting = CountingUp(manager, identity, namespace)
        manager.add(Controller("counting", counting, [Source(store=counting.store)], workers=2))

        def hear():
            word = os.read(sys.stdin.fileno(), 4096)
            if b"freeze" in word:
                counting.freezing = True
            elif not word:
                loop.remove_reader(sys.stdin.fileno())

        loop.add_reader(sys.stdin.fileno(), hear)
        loop.add_signal_handler(signal.SIGTERM, manager.stop)
        say("begun")
        await manager.run()
    say("ended")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))

"""A process with a manager whose reconciles take as long as the test wants, for a test that ends it. Not a test.

    python stopping_process.py <kubeconfig> <identity> <namespace>

Says @begun.<name> for each reconcile, which then waits for ``go`` on the standard input and writes; @heard.<name> for
each object that its store hears of; @stopping after SIGTERM and @ended at the end.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from lease_process import say

from mooring.kube import MergePatch, ObjectKey, connection_from_document
from mooring.runtime import Controller, LeaseSettings, Manager, Outcome, Source
from mooring.testing.builders import CONFIG_MAPS


class Slow:
    def __init__(self, client):
        self.go = asyncio.Event()
        self._client = client

    async def reconcile(self, key: ObjectKey) -> Outcome:
        say(f"begun.{key.name}")
        await self.go.wait()
        for step in ("first", "second"):
            change = MergePatch({"data": {step: "done"}})
            await self._client.patch(CONFIG_MAPS, key.name, change, namespace=key.namespace)
        return Outcome.await_change()


async def main(kubeconfig, identity, namespace):
    connection = connection_from_document(json.loads(Path(kubeconfig).read_text()))
    loop = asyncio.get_running_loop()
    async with Manager(connection, identity=identity, lease=LeaseSettings(namespace=namespace)) as manager:
        slow = Slow(manager.client)
        store = manager.store(CONFIG_MAPS, namespace=namespace, label_selector="slow")
        store.subscribe(lambda change: say(f"heard.{change.key.name}"))
        manager.add(Controller("slow", slow, [Source(store=store)], workers=4))

        def hear():
            if b"go" in os.read(sys.stdin.fileno(), 4096):
                slow.go.set()
            loop.remove_reader(sys.stdin.fileno())

        def stop():
            manager.stop()
            say("stopping")

        loop.add_reader(sys.stdin.fileno(), hear)
        loop.add_signal_handler(signal.SIGTERM, stop)
        await manager.run()
    say("ended")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""``get kubeconfig``: the way into a workload cluster."""

from __future__ import annotations

from typing import Final

from mooring.cli.clusterctl.common import CONTEXT, KUBECONFIG, NAMESPACE, management
from mooring.cli.clusterctl.tree import Command, Given


def _kubeconfig(given: Given) -> None:
    import asyncio

    async def read() -> bytes:
        from mooring.clusterctl.kubeconfig import workload_kubeconfig
        from mooring.kube import Client

        connection = management(given)
        async with Client(connection) as client:
            namespace = given["namespace"] or connection.namespace
            return await workload_kubeconfig(client, given.arguments[0], namespace=namespace)

    given.say(asyncio.run(read()).decode(errors="replace"))


KUBECONFIG_WORD: Final = Command(
    "kubeconfig",
    "Print the kubeconfig of a workload cluster.",
    _kubeconfig,
    (NAMESPACE, KUBECONFIG, CONTEXT),
    arguments="NAME",
    least=1,
    most=1,
    examples="mooring clusterctl get kubeconfig harbour\nmooring clusterctl get kubeconfig harbour --namespace ships",
)
COMMAND: Final = Command("get", "Get something about a cluster.", words=(KUBECONFIG_WORD,))

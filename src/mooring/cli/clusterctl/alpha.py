"""``alpha rollout``: have machines made anew, or hold that back."""

from __future__ import annotations

from typing import Final

from mooring.cli.clusterctl.common import CONTEXT, KUBECONFIG, NAMESPACE, management
from mooring.cli.clusterctl.tree import Command, Given


def _run(given: Given) -> None:
    import asyncio

    async def deed() -> None:
        from mooring.clusterctl.rollout import Deed, carry_out, targets
        from mooring.kube import Client

        connection = management(given)
        wanted = targets(given.arguments)
        async with Client(connection) as client:
            namespace = given["namespace"] or connection.namespace
            await carry_out(client, Deed(given.command.name), wanted, namespace=namespace)

    asyncio.run(deed())


def _word(name: str, short: str) -> Command:
    return Command(
        name,
        short,
        _run,
        (KUBECONFIG, CONTEXT, NAMESPACE),
        arguments="KIND/NAME…",
        most=None,
        examples=f"""
            mooring clusterctl alpha rollout {name} machinedeployment/my-md-0
            mooring clusterctl alpha rollout {name} kubeadmcontrolplane/my-kcp
        """,
    )


ROLLOUT: Final = Command(
    "rollout",
    "Manage the rollout of MachineDeployments and KubeadmControlPlanes.",
    words=(
        _word("restart", "Have all machines made anew."),
        _word("pause", "Hold back changes to machines."),
        _word("resume", "Let changes that were held back go on."),
    ),
)
COMMAND: Final = Command("alpha", "Words that may change.", words=(ROLLOUT,))

"""``delete``: providers out of a management cluster."""

from __future__ import annotations

from typing import Final

from mooring.cli.clusterctl.common import COMPAT, CONTEXT, KUBECONFIG, compat_of, management
from mooring.cli.clusterctl.naming import FLAGS_IN_WORDS, named, provider_flags
from mooring.cli.clusterctl.tree import Command, Flag, Form, Given, UsageError

_EXAMPLES: Final = """\
# One provider. Its namespace and its definitions stay, and so do all clusters.
delete --infrastructure aws

# All providers, and everything that came with them. Objects of their kinds have to be gone before.
delete --all --include-crd --include-namespace"""


def _run(given: Given) -> None:
    import asyncio

    providers = named(given)
    if given["all"] and providers:
        raise UsageError(f"--all means every provider: leave out {FLAGS_IN_WORDS}")
    if not given["all"] and not providers:
        raise UsageError(f"say which provider to delete, with one of {FLAGS_IN_WORDS}; or --all")
    asyncio.run(_delete(given))


async def _delete(given: Given) -> None:
    from mooring.clusterctl.deleting import Choice, Extent, delete_providers
    from mooring.kube import Client

    choice = Choice(named(given), everything=given["all"], namespace=given["namespace"])
    extent = Extent(given["include-crd"], given["include-namespace"], compat_of(given))
    async with Client(management(given)) as client:
        await delete_providers(client, choice, extent, progress=given.note)


COMMAND: Final = Command(
    "delete",
    "Delete one or more providers from the management cluster.",
    _run,
    flags=(
        KUBECONFIG,
        CONTEXT,
        Flag("include-namespace", "Delete the namespaces of the providers, with all that is in them.", Form.SWITCH),
        Flag("include-crd", "Delete the definitions of the providers' kinds, once no object uses them.", Form.SWITCH),
        *provider_flags("to delete, as name or name:version."),
        Flag("all", "Delete all providers.", Form.SWITCH),
        Flag("namespace", "Of several instances (see --compat): the one in this namespace."),
        COMPAT,
    ),
    examples=_EXAMPLES,
)

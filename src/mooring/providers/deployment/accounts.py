"""Who a provider's commands are and what they may do: ServiceAccounts, roles and bindings, kept as they should be.

The same on either ground.
"""

from __future__ import annotations

import contextlib

from mooring.api.providers import ClusterProvider, ProviderRights
from mooring.providers.deployment.contract import Command, Unfit, cluster_name_of, name_of
from mooring.providers.deployment.grounds import Home
from mooring.providers.deployment.objects import access, account
from mooring.providers.deployment.placing import (
    ACCOUNTS,
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    ROLES,
    Placing,
    is_of,
)

ACCESS = (CLUSTER_ROLES, CLUSTER_BINDINGS, ROLES, BINDINGS, ACCOUNTS)
# What binds goes before what is bound, and the account goes last.
_ENDING = [one.kind for one in (CLUSTER_BINDINGS, BINDINGS, CLUSTER_ROLES, ROLES)]


async def grant(
    placing: Placing, provider: ClusterProvider, home: Home, command: Command, rights: ProviderRights | None
) -> None:
    """Have the account of a command with these rights, and no others; None is everything.

    What it may no longer do is taken away before anything else is given.
    """
    wanted = access(provider, home, command, rights)
    names = {cluster_name_of(provider, command), name_of(provider, command)}
    await placing.remove_but(provider, wanted, kinds=_ENDING, names=names)
    await placing.place(account(provider, home, command), provider)
    for document in wanted:
        await placing.place(document, provider)


async def grant_first(placing: Placing, provider: ClusterProvider, home: Home, rights: ProviderRights | None) -> None:
    """Have what the init command needs; and if the other one is at work already, change what it may do at once.

    A right that is taken back must not wait for an init command, which may never complete.
    """
    await grant(placing, provider, home, Command.INIT, rights)
    working = placing.there(account(provider, home, Command.RUN))
    if working is not None and is_of(working, provider):
        with contextlib.suppress(Unfit):  # what cannot be given is told when its turn comes; the rest is taken by then
            await grant(placing, provider, home, Command.RUN, rights)


async def withdraw(placing: Placing, provider: ClusterProvider) -> None:
    """Remove the accounts of both commands and all that they may do."""
    await placing.remove_but(provider, kinds=[*_ENDING, ACCOUNTS.kind])

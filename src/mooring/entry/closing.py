"""Closing a door: nothing that carries the entrant's marks stays. Namespaces do: others may use them."""

from __future__ import annotations

from mooring.entry.entrants import ACCOUNTS, Entrant
from mooring.entry.opening import parts_of, remove
from mooring.entry.tokens import retire_all_but
from mooring.kube import Client


async def close(client: Client, entrant: Entrant, *, accounts: str = ACCOUNTS) -> None:
    """Tokens first: they are what somebody may hold in the hand."""
    await retire_all_but(client, accounts, entrant, kept=())
    await remove(client, await parts_of(client, entrant))

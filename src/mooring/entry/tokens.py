"""Tokens that can be taken back: each is bound to a Secret of its own in the cluster, and dies with it.

The Secret holds nothing. Its name is written down with the token; one that is written down nowhere is left over from
somebody who was stopped in between, and :func:`retire_all_but` removes it.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from mooring.entry.doors import Door
from mooring.entry.entrants import Entrant
from mooring.entry.opening import together
from mooring.entry.resources import ACCOUNTS, SECRETS
from mooring.kube import Client
from mooring.kube.errors import InvalidName, KubeError, NotFound

# Seconds; servers issue nothing shorter, and nothing longer.
SHORTEST: Final = 600.0
LONGEST: Final = 2.0**32
USUAL: Final = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A token, the Secret that it lives and dies with, and its times in seconds since the epoch."""

    token: str = field(repr=False)
    issue: str
    created: float
    expires: float


async def issue(client: Client, door: Door, *, accounts: str, lifetime: float, now: float) -> Issued:
    """A new token for the door's account. NotFound if the account is not there.

    A lifetime below what servers issue is kept by whoever retires the token in time. When it ends is told by our clock
    from how long it was granted for: the cluster's clock may be another.
    """
    bound = await client.create(SECRETS, _bound_secret(door, accounts))
    wish = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {
            "expirationSeconds": int(min(max(lifetime, SHORTEST), LONGEST)),
            "boundObjectRef": {"apiVersion": "v1", "kind": "Secret", **_name_and_uid(bound["metadata"])},
        },
    }
    try:
        answer = await client.create(ACCOUNTS, wish, namespace=accounts, name=door.account, subresource="token")
    except KubeError:
        # Trying again makes another; this one would only be found when leftovers are looked for.
        with contextlib.suppress(KubeError):
            await retire(client, accounts, bound["metadata"]["name"])
        raise
    return Issued(
        token=answer["status"]["token"],
        issue=bound["metadata"]["name"],
        created=now,
        expires=now + min(lifetime, answer["spec"]["expirationSeconds"]),
    )


async def retire(client: Client, accounts: str, issue: str, *, entrant: Entrant | None = None) -> None:
    """Have the token of this issue refused, which takes the cluster as long as it remembers answers (10 s).

    With an entrant: only if the name is one of its issues'. Records are kept where the entrant may write.
    """
    if entrant is not None and not issue.startswith(f"{entrant.hash}-"):
        raise InvalidName(f"{issue!r} is no issue of {entrant.key}")
    with contextlib.suppress(NotFound):
        await client.delete(SECRETS, issue, namespace=accounts, propagation="Background", grace_period=0)


async def retire_all_but(client: Client, accounts: str, entrant: Entrant, kept: Collection[str]) -> None:
    """Have all tokens of an entrant refused that are not written down."""
    listed = await client.list(SECRETS, namespace=accounts, label_selector=entrant.selector)
    names = [one["metadata"]["name"] for one in listed.items]
    await together(*(retire(client, accounts, name) for name in names if name not in kept))


def _bound_secret(door: Door, accounts: str) -> dict[str, object]:
    name = f"{door.account}-{secrets.token_hex(5)}"
    metadata = door.entrant.metadata(name, accounts)
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "mooring.dev/issue"}


def _name_and_uid(metadata: dict[str, str]) -> dict[str, str]:
    return {"name": metadata["name"], "uid": metadata["uid"]}

"""Which platform a word is about: the landscape of this machine, or the cluster of a kubeconfig."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from mooring.app.landscapes import landscape_to_look_at
from mooring.app.settings import DEFAULT_LANDSCAPE, SettingError, place
from mooring.kube import Client, Connection, connection_from_document, load_connection
from mooring.kube.errors import Unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What was said on the command line."""

    kubeconfig: Path | None = None
    context: str | None = None
    landscape: str = DEFAULT_LANDSCAPE
    directory: Path | None = None

    def connection(self) -> Connection:
        """How to get there. A kubeconfig, if one was named; else the landscape, as its administrator."""
        if self.kubeconfig is not None or self.context is not None:
            return load_connection(self.kubeconfig, self.context)
        where = place(self.landscape, self.directory)
        found = landscape_to_look_at(where)
        if (found.exists or found.has_data) and found.platform.was_prepared:
            return connection_from_document(found.admin_kubeconfig())
        raise SettingError(
            f"There is no landscape {where.name!r} in {where.directory.parent}. Start one with 'mooring up', or say "
            f"which cluster is meant with --kubeconfig or --context."
        )

    @property
    def is_embedded(self) -> bool:
        return self.kubeconfig is None and self.context is None


@contextlib.asynccontextmanager
async def reaching(reach: Reach) -> AsyncIterator[Client]:
    """A client of the platform that is meant; where nobody answers, the error says what to do."""
    try:
        async with Client(reach.connection()) as client:
            yield client
    except Unreachable as error:
        if reach.is_embedded:
            raise SettingError(
                f"The landscape {reach.landscape!r} does not answer; start it with 'mooring up', or see 'mooring "
                f"status'. ({error.message})"
            ) from error
        raise

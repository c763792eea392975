"""Loopback ports: chosen free, remembered by whoever asked, checked before each use."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Collection
from typing import Annotated

import msgspec

from mooring.controlplane.errors import PortTaken

LOOPBACK = "127.0.0.1"

Port = Annotated[int, msgspec.Meta(ge=1, le=65_535)]

# Below the range that Linux takes for outgoing connections, so that a port that is free while its server is down
# is not lent to somebody's client in the meantime.
_LOWEST, _HIGHEST = 16_384, 32_767
_TRIES = 200


def is_free(port: int) -> bool:
    """Whether a server could listen there now, under the same rules as the servers that we start."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
        return True


def free_port(*, besides: Collection[int] = ()) -> int:
    """A free port that is none of ``besides`` (ports given out but not yet listened on)."""
    for _ in range(_TRIES):
        port = random.randint(_LOWEST, _HIGHEST)  # noqa: S311 - it is about collisions, not about secrecy
        if port not in besides and is_free(port):
            return port
    raise PortTaken(f"Found no free port on {LOOPBACK} between {_LOWEST} and {_HIGHEST}.")

"""Loopback ports: free ones, and those that are not."""

from __future__ import annotations

import socket

import pytest

from mooring.controlplane.errors import PortTaken
from mooring.controlplane.ports import LOOPBACK, free_port, is_free


def test_a_port_on_which_somebody_listens_is_not_free() -> None:
    for address in (LOOPBACK, "0.0.0.0"):
        with socket.socket() as taken:
            taken.bind((address, 0))
            taken.listen()
            port = taken.getsockname()[1]
            assert not is_free(port)
        assert is_free(port)


def test_a_port_whose_last_connection_is_just_fading_is_free() -> None:
    """As after a restart: the server may listen there again, because it says SO_REUSEADDR."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((LOOPBACK, 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection((LOOPBACK, port)):
            accepted, _ = server.accept()
            accepted.close()  # the side that closes first is the one that lingers
    assert is_free(port)


def test_free_ports_are_below_those_of_outgoing_connections_and_besides_others() -> None:
    first = free_port()
    assert 16_384 <= first <= 32_767
    assert is_free(first)
    everything = range(16_384, 32_768)
    with pytest.raises(PortTaken, match="Found no free port"):
        free_port(besides=everything)

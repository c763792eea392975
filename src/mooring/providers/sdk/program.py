"""A provider as a program: what the deployment contract asks of it, so that an author writes one line of it.

``init`` installs the provider's kinds, ``run`` works until SIGINT or SIGTERM. Flags and environment are those that
deployment controllers give; everything else is configured by API objects.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from mooring.api.crds import definition_of
from mooring.kube import Client, Connection, KubeError, load_connection, typed
from mooring.kube.definitions import install
from mooring.kube.errors import UnknownKind
from mooring.providers.sdk.controllers import add_provider, kinds_of, lease_name
from mooring.providers.sdk.naming import is_name
from mooring.providers.sdk.provider import Provider
from mooring.runtime import LeaseSettings, Manager
from mooring.runtime.endpoints import endpoints, host_and_port
from mooring.runtime.logs import log_to_stderr

_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "ERROR": logging.ERROR}


class Mistake(Exception):
    """Something that whoever started us can mend; the message is one sentence that says how."""


def run_provider(
    provider_class: type[Provider[Any]],
    argv: Sequence[str] | None = None,
    *,
    make: Callable[[], Provider[Any]] | None = None,
) -> None:
    """The whole program; ends the process with 2 for wrong words, and with 1 for what went wrong.

    ``make`` makes the provider, if its class needs something for that.
    """
    try:
        given = _parser(provider_class).parse_args(argv)
        _check(given)
        log_to_stderr(as_json=True, level=_LEVELS[given.verbosity.upper()])
        connection = load_connection(given.kubeconfig)
        if given.command == "init":
            asyncio.run(_init(provider_class, connection))
        else:
            asyncio.run(_run((make or provider_class)(), connection, given))
    except Mistake as error:
        _die(str(error), code=2)
    except (KubeError, OSError) as error:
        _die(str(error), code=1)


# -- words ------------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Wrong words are answered by one sentence."""

    def error(self, message: str) -> NoReturn:
        raise Mistake(f"{message[:1].upper()}{message[1:]}; '{self.prog} --help' tells more.")


def _parser(provider_class: type[Provider[Any]]) -> argparse.ArgumentParser:
    about = (provider_class.__doc__ or "A provider of clusters.").strip().split("\n")[0]
    parser = _Parser(description=about, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser, metavar="init|run")
    for name, what in (("init", "install the provider's kinds"), ("run", "provide clusters until SIGINT or SIGTERM")):
        command = commands.add_parser(name, help=what, description=f"{what[:1].upper()}{what[1:]}.", allow_abbrev=False)
        command.add_argument("--environment", required=True, help="the landscape; the first part of profiles' names")
        command.add_argument("--provider-name", required=True, help="the name of this instance: its ClusterProvider's")
        command.add_argument("--verbosity", default="INFO", type=_level, metavar="DEBUG|INFO|ERROR", help="of the log")
        command.add_argument("--kubeconfig", type=Path, help="of the platform [default: as kubectl's, else the pod's]")
    _flag(command, "--leader-elect", "work only while holding the lease, beside other replicas")
    command.add_argument("--metrics-bind-address", default="0", metavar="[HOST]:PORT", help="0 for nowhere [default]")
    _flag(command, "--metrics-secure", "must be false: metrics are served without TLS")
    return parser


def _flag(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    """A switch as Go programs have it: ``--name``, ``--name=true`` or ``--name=false``."""
    parser.add_argument(name, nargs="?", const=True, default=False, type=_truth, metavar="true|false", help=what)


def _truth(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.lower()]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false") from None


def _level(text: str) -> str:
    if text.upper() not in _LEVELS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(_LEVELS)}")
    return text


def _check(given: argparse.Namespace) -> None:
    for flag, text in (("--environment", given.environment), ("--provider-name", given.provider_name)):
        if not is_name(text):
            raise Mistake(f"{flag} {text!r} cannot be part of a name: use up to 63 of a-z, 0-9, inner '-' and '.'.")
    if given.command == "run" and given.metrics_bind_address != "0":
        given.metrics_address = host_and_port(given.metrics_bind_address)
        if given.metrics_address is None:
            raise Mistake(f"--metrics-bind-address {given.metrics_bind_address!r} is not [HOST]:PORT, such as :8080.")
    if given.command == "run" and given.metrics_secure:
        raise Mistake("--metrics-secure cannot be true: metrics are served without TLS; say --metrics-secure=false.")
    if given.command == "run" and given.leader_elect and not os.environ.get("POD_NAMESPACE"):
        raise Mistake("--leader-elect needs the environment variable POD_NAMESPACE: the namespace of the lease.")


def _die(sentence: str, *, code: int) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(code) from None


# -- deeds ------------------------------------------------------------------------------------------------------------


async def _init(provider_class: type[Provider[Any]], connection: Connection) -> None:
    async with Client(connection) as client:
        await install(client, [definition_of(kind) for kind in kinds_of(provider_class)])


async def _run(provider: Provider[Any], connection: Connection, given: argparse.Namespace) -> None:
    lease = None
    if given.leader_elect:
        lease = LeaseSettings(name=lease_name(given.provider_name), namespace=os.environ["POD_NAMESPACE"])
    async with (
        Manager(connection, identity=_identity(), lease=lease) as manager,
        contextlib.AsyncExitStack() as serving,
    ):
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, manager.stop)
        add_provider(manager, provider, name=given.provider_name, environment=given.environment)
        await _know_kinds(manager.client, provider)
        if given.metrics_bind_address != "0":
            host, port = given.metrics_address
            await serving.enter_async_context(endpoints(manager, host=host, port=port))
        await manager.run()


async def _know_kinds(client: Client, provider: Provider[Any]) -> None:
    for kind in kinds_of(provider):
        try:
            await client.resource(kind.API.api_version, kind.API.kind)
        except UnknownKind:
            where, what = client.connection.server, typed(kind).plural
            raise Mistake(f"The platform at {where} does not know {what}; run 'init' before 'run'.") from None


def _identity() -> str:
    """Who we are among the replicas: never the same twice, and a person can find the process by it."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"

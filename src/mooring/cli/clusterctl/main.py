"""The root of the tree: which words there are, and what happens when one of them fails."""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

from mooring.cli.clusterctl.common import EVERYWHERE, check_surroundings
from mooring.cli.clusterctl.helping import help_text
from mooring.cli.clusterctl.tree import Command, Given, UsageError, check, parse

INTERRUPTED: Final = 130
NAME: Final = "mooring clusterctl"
HELP_WORD: Final = "help"

# The module of each word; only the one that is asked for is loaded.
MODULES: Final = {
    "init": "init",
    "generate": "generate",
    "get": "get",
    "describe": "describe",
    "move": "move",
    "upgrade": "upgrade",
    "delete": "delete",
    "config": "config",
    "lint": "lint",
    "docs": "docs",
    "alpha": "alpha",
    "convert": "convert",
    "completion": "completion",
    "__complete": "completing",
    "version": "version",
}


def root(words: Sequence[str] = tuple(MODULES)) -> Command:
    """The tree with these words of the first floor."""
    loaded = [importlib.import_module(f"mooring.cli.clusterctl.{MODULES[word]}").COMMAND for word in words]
    return Command(
        NAME,
        "clusterctl, with the same words and flags: providers, templates, and the life of clusters.",
        words=[*loaded, Command(HELP_WORD, "Help for a command.", _help, arguments="[COMMAND]…", most=None)],
    )


def main(argv: Sequence[str]) -> int:
    """Run a command line; whatever goes wrong becomes one message and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # YAML is UTF-8 whatever the locale is, and what came in as bytes goes out as the same bytes.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        if argv and not argv[0].startswith("-") and argv[0] not in (*MODULES, HELP_WORD):
            _let_a_plugin_do_it(argv)
        code = run(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output had enough. Nothing is left to be flushed to it at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def run(
    argv: Sequence[str],
    *,
    out: TextIO | None = None,
    err: TextIO | None = None,
    stdin: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """The same with the streams and the environment of somebody else."""
    told = err or sys.stderr
    try:
        given = parse(root(_first(argv)), argv, EVERYWHERE)
        given.out, given.err, given.stdin = out or sys.stdout, told, stdin or sys.stdin
        given.environ = os.environ if environ is None else environ
        return _carried_out(given)
    except UsageError as error:
        print(f"Error: {error}", file=told)
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=told)
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        print(f"Error: {_explained(error)}", file=told)
        return 1


def _carried_out(given: Given) -> int:
    command = given.command
    if given["help"] or command.run is None:
        given.say(help_text(given.path, command, EVERYWHERE))
        return 0
    check_surroundings(given)
    _check_surroundings(given)
    check(given)
    if command.deprecated:
        given.note(f"{' '.join(given.path)} is deprecated: {command.deprecated}")
    for flag in command.flags:
        if flag.deprecated and flag.name in given.changed:
            given.note(f"--{flag.name} is deprecated: {flag.deprecated}")
    return command.run(given) or 0


def _check_surroundings(given: Given) -> None:
    """How much to tell, where the environment says so."""
    level = given.environ.get("CLUSTERCTL_LOG_LEVEL", "")
    if level and not given["v"] and not re.fullmatch(r"[+-]?[0-9]+", level):
        raise UsageError(f"CLUSTERCTL_LOG_LEVEL is {level!r}: write a whole number")


def _first(argv: Sequence[str]) -> Sequence[str]:
    """The word of the first floor that is asked for; all of them if that is not clear at once."""
    return [argv[0]] if argv and argv[0] in MODULES else tuple(MODULES)


def _let_a_plugin_do_it(argv: Sequence[str]) -> None:
    from mooring.cli.clusterctl.plugins import become, plugin_of

    if (found := plugin_of(argv)) is not None:
        try:
            become(*found)
        except OSError as error:
            sys.exit(f"Error: cannot run {found[0]}: {error.strerror}")


def _help(given: Given) -> int:
    asked = parse(root(), given.arguments, EVERYWHERE)
    given.say(help_text(asked.path, asked.command, EVERYWHERE))
    return 0


def _explained(error: BaseException) -> str:
    from mooring.cli.failures import explained
    from mooring.clusterctl.errors import ClusterctlError

    if "MOORING_DEBUG" in os.environ:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, BaseExceptionGroup):
        return "\n".join(_explained(one) for one in error.exceptions)
    return str(error) if isinstance(error, ClusterctlError) else explained(error)

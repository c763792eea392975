"""How a provider's program is run on this machine: its words, its environment, and what it must be started anew for.

Functions from a ClusterProvider and the program that was found to a :class:`~mooring.controlplane.processes.Program`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from mooring.api.providers import ClusterProvider, MetricsConfig
from mooring.api.texts import printable
from mooring.controlplane.ports import LOOPBACK
from mooring.controlplane.processes import Program
from mooring.providers.deployment.contract import Command, Unfit, arguments, name_of, own_variables
from mooring.providers.deployment.grounds import Home
from mooring.providers.deployment.programs import Found, allowed
from mooring.providers.sdk.scrubbing import scrubbed

_LINES, _LONGEST_LINE = 8, 400
# Two providers that serve metrics on the port that all have by default would be in each other's way.
_METRICS = ("--metrics-bind-address=0", "--metrics-secure=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One command of a provider, as its object wants it. Equal ones are the same process."""

    command: Command
    found: Found
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    uid: str = field(compare=False)  # of the object, and which of its generations it is
    generation: int = field(compare=False)
    account: str = field(compare=False)  # the uid of the ServiceAccount that it runs as

    @property
    def mark(self) -> str:
        """For what a command is run once: the object's generation and the program, wherever the platform is."""
        variables = (f"{name}={value}" for name, value in self.environment)
        parts = (self.uid, str(self.generation), self.found.version, *self._line, *variables)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def program(self, directory: Path, *, kubeconfig_file: Path, kubeconfig: str) -> Program:
        """The process of this command. It is replaced when the platform is elsewhere, or the program another one."""
        own = (f"--kubeconfig={kubeconfig_file}",) if self.found.speaks_ours else ()
        return Program(
            name=self.command.value,
            executable=self.found.executable,
            arguments=(*self._line[1:], *own),  # last, so that no word of the object's stands against it
            directory=directory,
            inputs=(kubeconfig, self.found.version),
            environment=(*self.environment, ("KUBECONFIG", str(kubeconfig_file))),
        )

    @property
    def _line(self) -> tuple[str, ...]:
        return (str(self.found.executable), *self.found.words, *self.words)


def launch_of(provider: ClusterProvider, home: Home, command: Command, found: Found, *, account: str) -> Launch:
    """How the command is run; Unfit if the object asks for what it may not."""
    given = {
        "POD_NAME": name_of(provider),
        "POD_NAMESPACE": home.namespace,
        "POD_IP": LOOPBACK,
        "POD_SERVICE_ACCOUNT_NAME": name_of(provider, command),
    }
    return Launch(
        command=command,
        found=found,
        words=_words(provider, home, command),
        environment=tuple((dict(allowed(own_variables(provider))) | given).items()),
        uid=provider.metadata.uid,
        generation=provider.metadata.generation,
        account=account,
    )


def _words(provider: ClusterProvider, home: Home, command: Command) -> tuple[str, ...]:
    # One process: there is nobody to elect a leader with.
    spec = msgspec.structs.replace(provider.spec, run_replicas=1, metrics=MetricsConfig(disabled=True))
    words = arguments(msgspec.structs.replace(provider, spec=spec), home, command)
    if any("\0" in word for word in words):
        raise Unfit("A word of the command holds a character that no process can be given.", reason="BadCommand")
    return (*words, *(_METRICS if command is Command.RUN else ()))


def last_words(program: Program) -> str:
    """The end of its log, fit for a condition: few lines, short ones, and nothing that looks like a secret."""
    lines = [printable(line) for line in scrubbed(program.last_lines(_LINES)).splitlines()]
    told = "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines)
    return f" The end of {program.log}:\n{told}" if told else f" It left nothing in {program.log}."

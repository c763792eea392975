"""Who is checked: a provider of the SDK, any program, or one that runs already, somewhere else.

Programs are started as a deployment would start them, and never through a shell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mooring.providers.finding import found_provider, needs_arguments
from mooring.providers.registry import BrokenProvider
from mooring.providers.sdk import Provider, init_rights_of, lease_rights, rights_of

Rules = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A provider to be checked. Made by the functions below."""

    name: str  # for the report
    command: Sequence[str] = ()  # comes before ``init`` and ``run``; empty if it runs already
    environment: Mapping[str, str] = field(default_factory=dict)
    running_as: str = ""  # the provider name of one that runs already
    # What it may do; None: everything, as upstream's deployment has it.
    rights: Rules | None = None
    init_rights: Rules | None = None
    needs_config: bool = False

    @property
    def is_ours_to_start(self) -> bool:
        return bool(self.command)

    def lease_rules(self, instance: str) -> Rules:
        """What replicas of an instance may do in their own namespace."""
        return lease_rights(instance) if self.rights is not None else ()


def provider_subject(named: str) -> Subject:
    """A provider of the SDK: its name in an installed package, or ``module:Class``. It has the rights it asks for."""
    provider: type[Provider[Any]] = found_provider(named)
    if needs_arguments(provider):
        raise BrokenProvider(
            f"{provider.__name__} cannot be made without arguments; check the program that makes it, with --command."
        )
    return Subject(
        name=named,
        command=(sys.executable, "-m", "mooring.providers", named),
        # What this process can import, the provider's can, too.
        environment={"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        rights=rights_of(provider),
        init_rights=init_rights_of(provider),
        needs_config=True,
    )


def command_subject(command: Sequence[str], *, rights: Rules | None = None) -> Subject:
    """Any program that speaks the words of the deployment contract; without rights of its own it may do everything."""
    return Subject(name=command[0], command=tuple(command), rights=rights)


def running_subject(name: str) -> Subject:
    """A provider that runs already under this name. What needs a start or a stop of it cannot be checked."""
    return Subject(name=name, running_as=name)

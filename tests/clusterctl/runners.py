"""Running a clusterctl: a judge as a program, ours in this process or in one of its own; and what it works on."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from mooring.controlplane.plane import ControlPlane
from mooring.kube import Client

PATH = os.environ["PATH"]  # as it is while nobody changes the environment for a run of ours
PATIENCE = 240.0  # seconds for one run of a judge


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[Any]:
        """What was printed, as YAML."""
        return [one for one in yaml.safe_load_all(self.out) if one is not None]


@dataclass(frozen=True)
class Runner:
    """Runs a clusterctl with a home and an environment of its own. ``home`` may be filled by the test."""

    home: Path
    begin: Callable[[tuple[str, ...], Mapping[str, str], str | None], Ended]
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(self, *argv: str, stdin: str | None = None, config: Path | None = None, **environ: str) -> Ended:
        words = (*argv, "--config", str(config)) if config is not None else argv
        return self.begin(words, {**plain_environment(self.home), **self.environ, **environ}, stdin)

    async def beside(self, *argv: str, **given: Any) -> Ended:
        """The same from a test that has an event loop."""
        return await asyncio.to_thread(self, *argv, **given)


def plain_environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PATH": PATH,
        "CLUSTERCTL_DISABLE_VERSIONCHECK": "true",
        "GOPROXY": "off",
    }


def program(path: Path) -> Callable[[tuple[str, ...], Mapping[str, str], str | None], Ended]:
    """Runs of a program."""

    def begin(argv: tuple[str, ...], environ: Mapping[str, str], stdin: str | None) -> Ended:
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        ended = subprocess.run(
            [path, *argv],
            env=dict(environ),
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",  # the judge cuts messages in the middle of a character
            timeout=PATIENCE,
            **given,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return begin


_ONE_AT_A_TIME = threading.Lock()  # the environment belongs to the whole process


def in_process(argv: tuple[str, ...], environ: Mapping[str, str], stdin: str | None) -> Ended:
    """Runs of ours, without the start of a process."""
    from mooring.cli.clusterctl.main import run

    out, err = io.StringIO(), io.StringIO()
    with _ONE_AT_A_TIME, mock.patch.dict(os.environ, environ, clear=True):
        code = run(argv, out=out, err=err, stdin=io.StringIO(stdin or ""), environ=os.environ)
    return Ended(code, out.getvalue(), err.getvalue())


def in_process_of_its_own(argv: tuple[str, ...], environ: Mapping[str, str], stdin: str | None) -> Ended:
    mooring = Path(sys.executable).with_name("mooring")
    return program(mooring)(("clusterctl", *argv), environ, stdin)


@dataclass(frozen=True)
class Management:
    """A fresh control plane: a management cluster without nodes."""

    plane: ControlPlane
    kubeconfig: Path  # of an administrator
    client: Client

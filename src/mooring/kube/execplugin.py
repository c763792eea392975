"""Credentials that a program prints: kubectl's exec plugins (client.authentication.k8s.io).

The program is started from a list of arguments, never through a shell, and only when a user's own kubeconfig
names it (`untrusted` refuses it in a kubeconfig out of an API object). What it answers is kept until it
expires; calls that need it at the same time wait for one run.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mooring.api.kubeconfigs import ClientCertificate
from mooring.kube.credentials import Identity, bearer_header
from mooring.kube.errors import NoCredentials

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

_SECONDS_ALONE = 60.0
_SECONDS_WITH_A_PERSON = 300.0
_LONGEST_COMPLAINT = 400


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return "_Answer(…)"


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecSpec:
    """What to run, and what to tell it."""

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    interactive_mode: str = "IfAvailable"
    install_hint: str | None = None
    cluster: dict[str, Any] | None = None  # told to the program if the kubeconfig says so
    directory: Path | None = None  # where a relative command starts


@dataclass(slots=True)
class ExecPlugin:
    """The credential that running `spec` gives: a token, a certificate or both."""

    spec: ExecSpec
    _known: Identity | None = field(default=None, repr=False)
    _expires: datetime | None = field(default=None, repr=False)
    _running: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def identity(self) -> Identity:
        known = self._fresh()
        if known is not None:
            return known
        async with self._running:
            known = self._fresh()
            if known is None:
                known = await self._run()
            return known

    def forget(self) -> bool:
        self._known = None
        return True

    def _fresh(self) -> Identity | None:
        if self._expires is not None and datetime.now(UTC) >= self._expires:
            return None
        return self._known

    async def _run(self) -> Identity:
        answer = self._read(await self._output())
        expires = answer.expiration_timestamp
        if expires is not None and expires.tzinfo is None:
            expires = expires.replace(tzinfo=UTC)
        self._known, self._expires = _identity(answer, self.spec.command), expires
        return self._known

    async def _output(self) -> bytes:
        spec = self.spec
        interactive = self._interactive()
        try:
            process = await asyncio.create_subprocess_exec(
                _program(spec),
                *spec.args,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if interactive else asyncio.subprocess.PIPE,
                env={**os.environ, **dict(spec.env), "KUBERNETES_EXEC_INFO": _information(spec, interactive)},
            )
        except OSError as error:
            raise self._error(f"cannot be started: {error.strerror or error}") from error
        seconds = _SECONDS_WITH_A_PERSON if interactive else _SECONDS_ALONE
        try:
            async with asyncio.timeout(seconds):
                output, complaint = await process.communicate()
        except TimeoutError as error:
            raise self._error(f"did not finish within {seconds:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = " ".join((complaint or b"").decode("utf-8", "replace").split())[-_LONGEST_COMPLAINT:]
            raise self._error(f"ended with {process.returncode}{': ' + said if said else ''}")
        return output

    def _read(self, output: bytes) -> _Answer:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.MsgspecError as error:
            # The output is not repeated: it may hold the token.
            raise self._error("did not print an ExecCredential as JSON") from error
        if credential.kind != "ExecCredential" or credential.api_version != self.spec.api_version:
            printed = f"{credential.kind} of {credential.api_version}"
            raise self._error(f"printed {printed}, not ExecCredential of {self.spec.api_version}")
        if credential.status is None:
            raise self._error("printed an ExecCredential without a status")
        return credential.status

    def _interactive(self) -> bool:
        person = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self.spec.interactive_mode == "Always" and not person:
            raise self._error("wants to talk to a person (interactiveMode: Always), and there is no terminal")
        return person and self.spec.interactive_mode != "Never"

    def _error(self, problem: str) -> NoCredentials:
        return NoCredentials(
            f"the credential program {problem}",
            field="exec.command",
            value=self.spec.command,
            remedy=self.spec.install_hint,
        )


def _program(spec: ExecSpec) -> str:
    # kubectl's rule: a bare name is looked up in PATH, a relative path starts at the kubeconfig.
    if os.sep not in spec.command:
        found = shutil.which(spec.command)
        if found is None:
            raise NoCredentials(
                "the credential program is not in PATH",
                field="exec.command",
                value=spec.command,
                remedy=spec.install_hint or "Install it, or give its full path",
            )
        return found
    return str((spec.directory or Path()) / spec.command)


def _information(spec: ExecSpec, interactive: bool) -> str:
    told: dict[str, Any] = {"interactive": interactive}
    if spec.cluster is not None:
        told["cluster"] = spec.cluster
    document = {"apiVersion": spec.api_version, "kind": "ExecCredential", "spec": told}
    return msgspec.json.encode(document).decode()


def _identity(answer: _Answer, command: str) -> Identity:
    if bool(answer.client_certificate_data) != bool(answer.client_key_data):
        raise NoCredentials(
            "the credential program printed a certificate without its key, or the other way round",
            field="exec.command",
            value=command,
        )
    if not answer.token and not answer.client_certificate_data:
        raise NoCredentials(
            "the credential program printed neither a token nor a certificate",
            field="exec.command",
            value=command,
        )
    certificate = None
    if answer.client_certificate_data and answer.client_key_data:
        certificate = ClientCertificate(
            certificate=answer.client_certificate_data.encode(), key=answer.client_key_data.encode()
        )
    return Identity(authorization=bearer_header(answer.token) if answer.token else None, certificate=certificate)

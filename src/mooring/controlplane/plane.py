"""A control plane: one kube-apiserver and one kube-controller-manager on a key prefix of the landscape's etcd.

That is a whole Kubernetes cluster but for nodes. Each has its own authority, service-account key, etcd user and ports;
nothing it holds opens another. The platform of a landscape is one; the local provider makes many.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import hashlib
import http.client
import secrets
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mooring.api.kubeconfigs import ClientCertificate, Document, kubeconfig
from mooring.controlplane import certificates, ports
from mooring.controlplane.authentication import (
    TrustedIssuer,
    authentication_text,
    fingerprint,
    fingerprint_in,
    issuers_in,
)
from mooring.controlplane.components import (
    API_SERVER,
    AUTHENTICATION_FILE,
    CONTROLLER_MANAGER,
    api_server_program,
    controller_manager_program,
)
from mooring.controlplane.errors import NotTold
from mooring.controlplane.etcd import Etcd
from mooring.controlplane.files import (
    private_directory,
    read_private,
    read_state,
    remove_tree,
    write_private,
    write_state,
)
from mooring.controlplane.keeping import Keeper, trying_ports, until_well
from mooring.controlplane.ports import LOOPBACK
from mooring.controlplane.probes import Prober
from mooring.controlplane.processes import GRACE, Program, is_locked, program_of

ADMIN_LIFETIME = datetime.timedelta(hours=1)

# Prefix-free by construction: all ids have the same length.
_ID_LENGTH = 12
_ID_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
ID_PATTERN = f"[a-z2-7]{{{_ID_LENGTH}}}"
_FIRST_FRUIT = "/api/v1/namespaces/default/serviceaccounts/default"


# What its owner has to do as soon as the API server answers, some time before it is ready.
Served = Callable[[], Coroutine[Any, Any, None]]


async def nothing() -> None:
    """There is nothing to do."""


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    api_server: ports.Port
    controller_manager: ports.Port


@dataclass(frozen=True, slots=True)
class Executables:
    """The two binaries of one Kubernetes version."""

    api_server: Path
    controller_manager: Path


@dataclass(eq=False)
class ControlPlane:
    """One control plane, by its directory. Making the object touches nothing."""

    directory: Path
    identity: str
    executables: Executables
    etcd: Etcd
    api_server_flags: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)  # of both processes, beside what every child sees

    def __post_init__(self) -> None:
        self.api_server = Keeper(API_SERVER, self.directory, self._prepare_api_server)
        self.controller_manager = Keeper(CONTROLLER_MANAGER, self.directory, self._prepare_controller_manager)

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def ports(self) -> Ports:
        return read_state(self.directory / "ports.json", Ports)

    @property
    def was_prepared(self) -> bool:
        """Whether all its files are there: the ports are settled last."""
        return (self.directory / "ports.json").exists()

    @property
    def server(self) -> str:
        return f"https://{LOOPBACK}:{self.ports.api_server}"

    @property
    def ca(self) -> bytes:
        return read_private(self._pki / "ca.crt")

    @property
    def issuer(self) -> str:
        """Who signs its service-account tokens. Without the port, which may change while tokens live."""
        return f"https://{self.identity}.clusters.mooring.internal"

    @property
    def _pki(self) -> Path:
        return self.directory / "pki"

    def client_certificate(self, user: str, *groups: str, lifetime: datetime.timedelta) -> ClientCertificate:
        """For anybody, made now, in memory."""
        return certificates.load_authority(self._pki).client(user, *groups, lifetime=lifetime)

    def admin_certificate(self) -> ClientCertificate:
        """Good for an hour, made now, in memory."""
        authority = certificates.load_authority(self._pki)
        return authority.client("mooring-admin", "system:masters", lifetime=ADMIN_LIFETIME)

    def kubeconfig(
        self, *, name: str, user: str, groups: tuple[str, ...] = (), lifetime: datetime.timedelta = ADMIN_LIFETIME
    ) -> Document:
        """A kubeconfig with a certificate made now, in memory."""
        authority = certificates.load_authority(self._pki)
        issued = authority.client(user, *groups, lifetime=lifetime)
        return kubeconfig(name=name, server=self.server, ca=authority.pem, user=user, certificate=issued)

    def admin_kubeconfig(self, *, name: str, lifetime: datetime.timedelta = ADMIN_LIFETIME) -> Document:
        """The same for someone who may do everything."""
        return self.kubeconfig(name=name, user="mooring-admin", groups=("system:masters",), lifetime=lifetime)

    # -- its life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Find or start both processes and wait until they are ready. etcd must be serving."""
        self.prepare()
        await self.etcd.add_tenant(self.identity)
        await trying_ports(self._start)

    async def _start(self) -> None:
        await self.api_server.ensure()
        await self.ready()

    async def ready(self, served: Served = nothing) -> None:
        """Wait until the API server is ready and the controller manager at work, and do ``served`` meanwhile.

        The controller manager is started when there is something to manage: earlier, it would ask for that once a
        second, and on average lose half of one. Its own word that it is healthy comes long before its controllers
        run, so the proof is what they make: the ``default`` ServiceAccount.
        """
        tasks = [asyncio.create_task(self._when_answering(served)), asyncio.create_task(self._both_ready())]
        try:
            await asyncio.gather(*tasks)  # and not a group: whoever waits asks for the very error, such as PortTaken
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _both_ready(self) -> None:
        prober = self._prober()
        try:
            await until_well(lambda: prober.is_well("/readyz"), self.api_server.child, self._api_server_program())
            child, program = await self.controller_manager.ensure(), self._controller_manager_program()
            await until_well(lambda: prober.is_well(_FIRST_FRUIT), child, program)
        finally:
            prober.close()

    async def _when_answering(self, served: Served) -> None:
        """Half of an API server's start comes after its first answer: whoever can use that half may."""
        if served is nothing:
            return
        prober = self._prober()

        async def answers() -> bool:
            return await prober.ask("GET", "/livez") is not None

        try:
            await until_well(answers, self.api_server.child, self._api_server_program())
        finally:
            prober.close()
        await served()

    async def version(self) -> str:
        """What the API server says that it is, such as ``v1.36.4``; empty if it does not answer."""
        prober = self._prober()
        try:
            answer = await prober.ask("GET", "/version")
        finally:
            prober.close()
        return _told_version(answer.body) if answer is not None and answer.code == http.client.OK else ""

    async def is_managed(self) -> bool:
        """Whether the controller manager says, now, that it is healthy."""
        prober = Prober(self.ports.controller_manager, self.ca)
        try:
            return await prober.is_well("/healthz")
        finally:
            prober.close()

    async def is_ready(self) -> bool:
        """Whether the API server says, now, that it is ready and the controller manager has been at work."""
        if not self.was_prepared:
            return False
        prober = self._prober()
        try:
            return await prober.is_well("/readyz") and await prober.is_well(_FIRST_FRUIT)
        finally:
            prober.close()

    async def keep(
        self,
        on_restart: Callable[[], None] = lambda: None,
        on_exit: Callable[[str, str], None] = lambda program, how: None,
    ) -> None:
        """Restart what dies. Runs until cancelled.

        ``on_restart`` hears of a new API server: its port may be, too. ``on_exit`` hears at once which program ended
        and how.
        """

        def restarted() -> None:
            self.controller_manager.renew()
            on_restart()

        async with asyncio.TaskGroup() as group:
            group.create_task(self.api_server.keep(restarted, lambda how: on_exit(API_SERVER, how)))
            group.create_task(self.controller_manager.keep(on_exit=lambda how: on_exit(CONTROLLER_MANAGER, how)))

    async def stop(self, *, grace: float = GRACE) -> None:
        """Stop both processes; the data stays."""
        if self.directory.exists():
            await self.controller_manager.stop(grace=grace)
            await self.api_server.stop(grace=grace)

    def programs(self) -> tuple[Program, Program]:
        """How the two of a prepared control plane are run."""
        return self._api_server_program(), self._controller_manager_program()

    def traces(self) -> tuple[Program, ...]:
        """The same by their files alone, for a look from outside."""
        return tuple(program_of(self.directory, name) for name in (API_SERVER, CONTROLLER_MANAGER))

    def release(self) -> None:
        """Let go of the processes, which live on."""
        self.controller_manager.release()
        self.api_server.release()

    async def delete(self) -> None:
        """Everything: processes, keys, etcd user and role, directory. Stopped halfway, it can be done again."""
        await self.stop(grace=0)  # there is nothing that it could still save
        await self.etcd.remove_tenant(self.identity)
        await asyncio.to_thread(remove_tree, self.directory)

    def _prober(self) -> Prober:
        return Prober(self.ports.api_server, self.ca, self.admin_certificate())

    # -- whom it believes ---------------------------------------------------------------------------------------

    @property
    def trusted(self) -> tuple[TrustedIssuer, ...] | None:
        """The issuers that its file speaks of; None if somebody else has written there."""
        return issuers_in(read_private(self._authentication_file))

    def trust(self, issuers: Iterable[TrustedIssuer]) -> None:
        """Have its file speak of these issuers and no others. A running API server takes a while to follow."""
        write_private(self._authentication_file, authentication_text(issuers))

    async def trust_in_effect(self) -> bool | None:
        """Whether the API server does as its file says; None if it does not answer.

        A :class:`NotTold` is raised by servers that never tell.
        """
        prober = self._prober()
        try:
            answer = await prober.ask("GET", "/metrics")
        finally:
            prober.close()
        if answer is None or answer.code != http.client.OK:
            return None
        told = fingerprint_in(answer.body)
        if not told:
            raise NotTold("This version of Kubernetes does not tell which identity providers it trusts.")
        return told == fingerprint(read_private(self._authentication_file))

    @property
    def _authentication_file(self) -> Path:
        return self.directory / AUTHENTICATION_FILE

    # -- files --------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Everything that does not need etcd or a running process."""
        private_directory(self.directory)
        pki = private_directory(self._pki)
        authority = certificates.ensure_authority(pki, "mooring")
        certificates.ensure_server(
            authority,
            pki,
            "server",
            LOOPBACK,
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        )
        certificates.ensure_signing_key(pki / "service-accounts.key")
        self.etcd.ensure_tenant_certificate(self.identity, pki)
        self._ensure_authentication_file()
        self._settle_ports()
        self._ensure_controller_manager_kubeconfig(authority)

    def _prepare_api_server(self) -> Program:
        self.prepare()
        return self._api_server_program()

    def _prepare_controller_manager(self) -> Program:
        self.prepare()
        return self._controller_manager_program()

    def _settle_ports(self) -> None:
        path = self.directory / "ports.json"
        given = self.ports if path.exists() else Ports(api_server=0, controller_manager=0)
        api_server = self._settled(given.api_server, API_SERVER, besides=given.controller_manager)
        manager = self._settled(given.controller_manager, CONTROLLER_MANAGER, besides=api_server)
        settled = Ports(api_server=api_server, controller_manager=manager)
        if settled != given:
            write_state(path, settled)

    def _settled(self, port: int, program: str, *, besides: int) -> int:
        """The remembered port while its program listens there or could; otherwise another one."""
        if port and (is_locked(self.directory / f"{program}.lock") or ports.is_free(port)):
            return port
        return ports.free_port(besides=[besides])

    def _ensure_authentication_file(self) -> None:
        if not self._authentication_file.exists():
            write_private(self._authentication_file, authentication_text())

    def _ensure_controller_manager_kubeconfig(self, authority: certificates.Authority) -> None:
        user = "system:kube-controller-manager"
        certificates.ensure_client(authority, self._pki, CONTROLLER_MANAGER, user)
        certificate = ClientCertificate(
            certificate=read_private(self._pki / f"{CONTROLLER_MANAGER}.crt"),
            key=read_private(self._pki / f"{CONTROLLER_MANAGER}.key"),
        )
        document = kubeconfig(
            name=self.identity, server=self.server, ca=authority.pem, user=user, certificate=certificate
        )
        write_private(self.directory / f"{CONTROLLER_MANAGER}.kubeconfig", msgspec.json.encode(document))

    def _api_server_program(self) -> Program:
        return api_server_program(
            directory=self.directory,
            executable=self.executables.api_server,
            port=self.ports.api_server,
            issuer=self.issuer,
            etcd_url=self.etcd.url,
            etcd_ca=self.etcd.ca_file,
            etcd_prefix=f"/{self.identity}",
            extra=self.api_server_flags,
            environment=self.environment,
        )

    def _controller_manager_program(self) -> Program:
        return controller_manager_program(
            directory=self.directory,
            executable=self.executables.controller_manager,
            port=self.ports.controller_manager,
            kubeconfig=self.directory / f"{CONTROLLER_MANAGER}.kubeconfig",
            environment=self.environment,
        )


def _told_version(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body, type=dict[str, Any]).get("gitVersion", ""))
    except msgspec.DecodeError:
        return ""


def new_identity() -> str:
    """A name for a control plane inside its landscape: a directory, an etcd user and a key prefix."""
    return "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))


def identity_for(uid: str) -> str:
    """The same, always the same one for the object of this uid."""
    return base64.b32encode(hashlib.sha256(uid.encode()).digest()).decode("ascii").lower()[:_ID_LENGTH]

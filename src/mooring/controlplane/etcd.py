"""One etcd for all control planes of a landscape, with walls inside.

etcd takes TLS client certificates only, and its own authentication is on: the common name of a control plane's
certificate is an etcd user, whose role reaches the keys under ``/<id>/`` and nothing else. Ids have one fixed length
and the range ends in ``/``, so no prefix can contain another.

Users, roles and the removal of a prefix go through etcd's JSON gateway as ``root``. The gateway wants root's password
(random, 0600) and a client certificate *without* a common name; the same certificate asks for health.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mooring.api.kubeconfigs import ClientCertificate
from mooring.controlplane import certificates, ports
from mooring.controlplane.errors import EtcdError, NoSpace, StateError
from mooring.controlplane.files import REMEDY, private_directory, read_private, read_state, write_private, write_state
from mooring.controlplane.keeping import until_well
from mooring.controlplane.ports import LOOPBACK
from mooring.controlplane.probes import Answer, Prober
from mooring.controlplane.processes import Child, Program

QUOTA_BYTES = 4 * 1024**3

# etcd forgets tokens when it restarts and after idle minutes, and refuses what crosses a change of its users.
_TRIES = 5
_GONE = ("user name not found", "role name not found")
_THERE = ("user name already exists", "role name already exists")


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    client: ports.Port
    peer: ports.Port


class Etcd:
    """The etcd of a landscape: its files, its process, and what root may do in it."""

    def __init__(self, directory: Path, executable: Path) -> None:
        self.directory = directory
        self.executable = executable
        self._token = ""
        self._one_at_a_time = asyncio.Lock()
        self._kept: Prober | None = None

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def ports(self) -> Ports:
        return read_state(self.directory / "ports.json", Ports)

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.ports.client}"

    @property
    def ca_file(self) -> Path:
        return self.directory / "pki" / "ca.crt"

    def program(self) -> Program:
        given, pki = self.ports, self.directory / "pki"
        client, peer = f"https://{LOOPBACK}:{given.client}", f"https://{LOOPBACK}:{given.peer}"
        server = (f"{pki}/server.crt", f"{pki}/server.key", f"{pki}/ca.crt")
        arguments = {
            "name": "mooring",
            "data-dir": f"{self.directory}/data",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"mooring={peer}",
            "client-cert-auth": "true",
            "peer-client-cert-auth": "true",
            # The API servers leave compaction to etcd: theirs is etcd-wide and needs a key outside their prefix.
            "auto-compaction-mode": "periodic",
            "auto-compaction-retention": "10m",
            "quota-backend-bytes": str(QUOTA_BYTES),
            # Root's password is 256 random bits: slow hashing would protect nothing and cost time at every start.
            "bcrypt-cost": "4",
            # A single member has nobody to wait for: shorter ticks save up to a second at the start.
            "heartbeat-interval": "20",
            "election-timeout": "200",
            "log-level": "warn",
        }
        for side in ("", "peer-"):
            arguments |= dict(
                zip((f"{side}cert-file", f"{side}key-file", f"{side}trusted-ca-file"), server, strict=True)
            )
        return Program(
            name="etcd",
            executable=self.executable,
            arguments=tuple(f"--{name}={value}" for name, value in arguments.items()),
            directory=self.directory,
        )

    # -- its life -----------------------------------------------------------------------------------------------

    def prepare(self) -> Program:
        """Certificates, password and ports, as far as they are missing or no longer good."""
        pki = private_directory(self.directory / "pki")
        authority = certificates.ensure_authority(pki, "mooring-etcd")
        certificates.ensure_server(authority, pki, "server", LOOPBACK, "localhost")
        certificates.ensure_client(authority, pki, "nameless", None, "mooring")
        self._ensure_password()
        self._settle_ports()
        return self.program()

    def _ensure_password(self) -> None:
        path = self.directory / "root.password"
        if path.exists():
            self._password()
        elif (self.directory / "data").exists():
            raise StateError(f"The file {path} is missing, and etcd opens its data to no other. {REMEDY}")
        else:
            write_private(path, secrets.token_hex(32).encode())

    def _settle_ports(self) -> None:
        path = self.directory / "ports.json"
        if path.exists():
            given = self.ports
            if self._runs() or (ports.is_free(given.client) and ports.is_free(given.peer)):
                return
        client = ports.free_port()
        write_state(path, Ports(client=client, peer=ports.free_port(besides=[client])))

    def _runs(self) -> bool:
        child = self.program().running()
        if child is not None:
            child.release()
        return child is not None

    async def ready(self, child: Child) -> None:
        """Wait until it serves; if it dies instead, say what it said."""
        await until_well(self._is_well, child, self.program())

    async def protect(self) -> None:
        """Switch authentication on, if that was not done yet.

        The first tenant is added before: its API server may be on its way already, and must find the door open either
        because nobody guards it yet or because its name is on the list.
        """
        if await self._has_authentication():
            return
        for deed, request in (
            ("auth/user/add", {"name": "root", "password": self._password()}),
            ("auth/role/add", {"name": "root"}),
            ("auth/user/grant", {"user": "root", "role": "root"}),
            ("auth/enable", {}),
        ):
            await self._call(deed, tolerated=_THERE, **request)

    async def _is_well(self) -> bool:
        async with self._one_at_a_time:
            # With its quota used up it still serves what is there; the alarm is told by `status`.
            return await self._prober().is_well("/health?exclude=NOSPACE")

    def close(self) -> None:
        """Let go of the connection, and of the event loop that it was made in. etcd lives on."""
        self._one_at_a_time = asyncio.Lock()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    # -- what root does -----------------------------------------------------------------------------------------

    def ensure_tenant_certificate(self, tenant: str, directory: Path) -> None:
        """``etcd-client.crt`` and ``.key`` for a tenant, in a directory of its own. Needs no running etcd."""
        authority = certificates.ensure_authority(self.directory / "pki", "mooring-etcd")
        certificates.ensure_client(authority, directory, "etcd-client", tenant)

    async def add_tenant(self, tenant: str) -> None:
        """A user and a role for the keys under ``/<tenant>/``. Again and again is fine."""
        prefix, end = _range(tenant)
        await self._call("auth/role/add", tolerated=_THERE, name=tenant)
        await self._call(
            "auth/role/grant", name=tenant, perm={"permType": "READWRITE", "key": prefix, "range_end": end}
        )
        await self._call("auth/user/add", tolerated=_THERE, name=tenant, options={"no_password": True})
        await self._call("auth/user/grant", user=tenant, role=tenant)

    async def remove_tenant(self, tenant: str) -> None:
        """Its keys, its user and its role. Again and again is fine."""
        await self._call("auth/user/delete", tolerated=_GONE, name=tenant)
        prefix, end = _range(tenant)
        await self._call("kv/deleterange", key=prefix, range_end=end)
        await self._call("auth/role/delete", tolerated=_GONE, role=tenant)

    async def tenants(self) -> frozenset[str]:
        """All users but root."""
        answer = await self._call("auth/user/list")
        return frozenset(answer.get("users", ())) - {"root"}

    async def roles(self) -> frozenset[str]:
        """All roles but root's."""
        answer = await self._call("auth/role/list")
        return frozenset(answer.get("roles", ())) - {"root"}

    async def count_keys(self, tenant: str) -> int:
        prefix, end = _range(tenant)
        return int((await self._call("kv/range", key=prefix, range_end=end, count_only=True)).get("count", 0))

    async def alarms(self) -> list[str]:
        """The alarms that are up, such as ``NOSPACE``: then etcd takes reads and deletes only."""
        answer = await self._call("maintenance/alarm", action="GET")
        return sorted({str(alarm.get("alarm", "NONE")) for alarm in answer.get("alarms", ())})

    # -- the gateway --------------------------------------------------------------------------------------------

    async def _has_authentication(self) -> bool:
        """Log in if there is anything to log in to."""
        request = {"name": "root", "password": self._password()}
        answer = await self._post("auth/authenticate", request, token="")
        if b"authentication is not enabled" in answer.body:
            return False
        if b"authentication failed" in answer.body:
            raise StateError(f"etcd does not take the password in {self.directory}/root.password. {REMEDY}")
        self._token = str(_checked("auth/authenticate", answer)["token"])
        return True

    async def _call(self, deed: str, *, tolerated: tuple[str, ...] = (), **request: Any) -> dict[str, Any]:
        if not self._token:
            await self._has_authentication()
        answer = await self._post(deed, request, self._token)
        for _ in range(_TRIES):
            if b"invalid auth token" in answer.body:
                await self._has_authentication()
            elif b"revision of auth store is old" not in answer.body:
                break
            answer = await self._post(deed, request, self._token)
        return _checked(deed, answer, tolerated)

    async def _post(self, deed: str, request: Mapping[str, Any], token: str) -> Answer:
        headers = {"Content-Type": "application/json"} | ({"Authorization": token} if token else {})
        async with self._one_at_a_time:
            answer = await self._prober().ask("POST", f"/v3/{deed}", msgspec.json.encode(request), headers)
        if answer is None:
            raise EtcdError(f"etcd does not answer at {self.url}; 'mooring logs etcd' may tell why.")
        return answer

    def _prober(self) -> Prober:
        port = self.ports.client
        if self._kept is None or self._kept.port != port:
            self._hang_up()
            pki = self.directory / "pki"
            nameless = ClientCertificate(
                certificate=read_private(pki / "nameless.crt"), key=read_private(pki / "nameless.key")
            )
            try:
                self._kept = Prober(port, read_private(self.ca_file), nameless)
            except (ssl.SSLError, ValueError) as error:
                raise StateError(f"A certificate in {pki} is damaged ({error}). {REMEDY}") from error
        return self._kept

    def _password(self) -> str:
        password = read_private(self.directory / "root.password").decode(errors="replace").strip()
        if len(password) != 64:
            raise StateError(f"The file {self.directory}/root.password is damaged. {REMEDY}")
        return password


def _range(tenant: str) -> tuple[str, str]:
    """The half-open range of all keys that start with ``/<tenant>/``: ``0`` is what follows ``/`` in ASCII."""
    return _base64(f"/{tenant}/"), _base64(f"/{tenant}0")


def _base64(key: str) -> str:
    return base64.b64encode(key.encode()).decode("ascii")


def _checked(deed: str, answer: Answer, tolerated: tuple[str, ...] = ()) -> dict[str, Any]:
    try:
        content = msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.DecodeError:
        content = {"message": answer.body.decode(errors="replace")[:200]}
    if answer.code == 200:
        return content
    message = str(content.get("message", "no reason given"))
    if any(phrase in message for phrase in tolerated):
        return {}
    kind = NoSpace if "database space exceeded" in message else EtcdError
    raise kind(f"etcd refused {deed}: {message}.")

"""Who a provider's process is on the platform: a ServiceAccount, by a token that is short-lived and renewed in time.

Guarantees:
    A kubeconfig holds no secret: it names the file of the token, which its reader reads again while it runs.
    Both are 0600 from their first byte on, and whole at every moment.
    A token is renewed when three quarters of its life are over, and at once if its account was made anew.

Assumptions:
    Tokens are not remembered across our own restarts: whoever starts asks for new ones, because nobody can say how long
    the landscape was down.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, cast

import msgspec

from mooring.api.kubeconfigs import Document
from mooring.controlplane.errors import ControlPlaneError
from mooring.controlplane.files import private_directory, write_private
from mooring.controlplane.landscape import Landscape
from mooring.kube import KubeError, Resource
from mooring.providers.deployment.grounds import Home
from mooring.providers.deployment.placing import ACCOUNTS
from mooring.runtime import Manager

log = logging.getLogger(__name__)

LIFETIME = 3_600  # seconds that are asked for; the server may grant others
_RENEWAL = 0.75  # of the granted lifetime
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries of a renewal


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    expiration_seconds: Annotated[int, msgspec.Meta(ge=1)]


class _Granted(msgspec.Struct, frozen=True):
    token: Annotated[str, msgspec.Meta(min_length=1)]


class _Answer(msgspec.Struct, frozen=True):
    """What of a TokenRequest counts; the server writes the lifetime that it grants into the spec."""

    spec: _Asked
    status: _Granted


_TOKENS: Resource[_Answer] = replace(cast("Resource[_Answer]", ACCOUNTS), decode_as=_Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Issued:
    uid: str  # of the account
    renewal: float  # by the clock's ``elapsed``


class Credentials:
    """The kubeconfig and the token of one command of one provider. Making the object touches nothing."""

    def __init__(self, landscape: Landscape, manager: Manager, home: Home, *, account: str, files: Path) -> None:
        self.account = account
        self.kubeconfig_file, self.token_file = files.with_suffix(".kubeconfig"), files.with_suffix(".token")
        self._landscape, self._home = landscape, home
        self._client, self._clock = manager.client, manager.clock
        self._issued: _Issued | None = None

    async def refresh(self, uid: str) -> str:
        """Have both files there, good for a while, for the account of this uid; returns the kubeconfig's text."""
        issued = self._issued
        if issued is None or issued.uid != uid or self._clock.elapsed() >= issued.renewal:
            await self._issue(uid)
        return self.rendered()

    def rendered(self) -> str:
        """The kubeconfig's text for where the platform is now, which is in the file from now on."""
        text = msgspec.json.format(msgspec.json.encode(self._document()), indent=2)
        private_directory(self.kubeconfig_file.parent)
        write_private(self.kubeconfig_file, text)
        return text.decode()

    async def keep(self) -> None:
        """Renew the token in time, for as long as somebody uses it. Runs until cancelled."""
        pause = _FIRST_PAUSE
        while (issued := self._issued) is not None:
            await self._until(issued.renewal)
            try:
                await self.refresh(issued.uid)
                pause = _FIRST_PAUSE
            except (KubeError, ControlPlaneError) as error:
                log.warning("the token of %s could not be renewed yet (%s)", self.account, error)
                await self._clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _until(self, moment: float) -> None:
        """Wait for the moment; by a timer, because those go on while the machine sleeps, as tokens do."""
        reached = asyncio.Event()
        timer = self._clock.call_at(moment, reached.set)
        try:
            await reached.wait()
        finally:
            timer.cancel()

    def drop(self) -> None:
        """Nobody uses the token any more."""
        self._issued = None
        with contextlib.suppress(OSError):
            self.token_file.unlink(missing_ok=True)

    async def _issue(self, uid: str) -> None:
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": LIFETIME},
        }
        begun = self._clock.elapsed()
        granted = await self._client.create(
            _TOKENS, body, namespace=self._home.namespace, name=self.account, subresource="token"
        )
        private_directory(self.token_file.parent)
        write_private(self.token_file, granted.status.token.encode("ascii"))
        self._issued = _Issued(uid=uid, renewal=begun + _RENEWAL * granted.spec.expiration_seconds)

    def _document(self) -> Document:
        platform, name, user = self._landscape.platform, self._landscape.context, self.account
        authority = base64.b64encode(platform.ca).decode("ascii")
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": name, "cluster": {"server": platform.server, "certificate-authority-data": authority}}
            ],
            "users": [{"name": user, "user": {"tokenFile": str(self.token_file)}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": user, "namespace": self._home.namespace}}],
            "current-context": name,
        }

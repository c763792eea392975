"""cert-manager, which makes the certificates of providers' webhooks: does it answer, and bringing it where it is not.

Three ways lead to it. Usually it is installed here, from its own release, and labelled, so that upgrades know that it
is ours. Where it runs already, whoever has installed it, it is left alone. And where the configuration says that
somebody else provides it, it is waited for.

Whether it answers is asked by creating an Issuer and a Certificate in a dry run: its webhook is called, and nothing is
kept. An installation that was killed is not taken for a whole one: the definition of Certificate comes last, and
without it there is no answer.

Neighbours: `cert_manager_versions` decides about upgrades, `migrating` prepares for them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.applying import Progress, apply_all, delete_one, side_by_side, silent, waiting_helps
from mooring.clusterctl.cert_manager_versions import VERSION_ANNOTATION, Upgrade, upgrade_of
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.finding import labelled
from mooring.clusterctl.objects import kind_of, name_of, set_metadata, texts_at
from mooring.clusterctl.providers import CLUSTERCTL_LABEL, CORE_LABEL, Provider, ProviderType
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import Client, KubeError, Object, Resource, untyped
from mooring.kube.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from mooring.clusterctl.config import CertManagerSettings, Configuration

COMPONENT: Final = "cert-manager"  # as image overrides and labels call it
_NAMESPACES: Final = ("cert-manager", "kube-system")  # it elects its leaders in the second one
_PROBED: Final = "certificates.cert-manager.io"
_NAMESPACE_RESOURCE: Final = untyped(plural="namespaces", kind="Namespace", namespaced=False)
_ISSUERS: Final = untyped(group="cert-manager.io", plural="issuers", kind="Issuer")
_CERTIFICATES: Final = untyped(group="cert-manager.io", plural="certificates", kind="Certificate")
_PROBES_NAMESPACE: Final = "kube-system"  # every server has it
_PAUSE: Final = 1.0
# What users have made hangs on these; and nobody should be able to make more while nothing checks it.
_KEPT: Final = frozenset(
    {"CustomResourceDefinition", "Namespace", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)


class Answer(Enum):
    """What became of asking cert-manager."""

    READY = "ready"
    ABSENT = "absent"  # its kinds are not served
    SILENT = "silent"  # its kinds are served, and it does not answer


class CertManager:
    """cert-manager in one management cluster."""

    def __init__(self, client: Client, configuration: Configuration, progress: Progress = silent) -> None:
        self._client = client
        self._configuration = configuration
        self._progress = progress
        self.settings: CertManagerSettings = configuration.cert_manager()

    async def ensure_installed(self) -> None:
        """Make sure that it is there and answers."""
        if self.settings.externally_provisioned:
            await self._until_ready()
            return
        answer, trouble = await self._ask()
        if answer is Answer.READY:
            self._progress("Skipping cert-manager, which is installed already")
        elif answer is Answer.ABSENT or await self._is_ours():
            await self._install(await self.objects())
        else:
            self._progress(f"cert-manager is there, but does not answer: {trouble}")
            await self._until_ready()

    async def is_wanted(self) -> bool:
        """Whether `ensure_installed` would install it now."""
        if self.settings.externally_provisioned:
            return False
        answer, _ = await self._ask()
        return answer is Answer.ABSENT or (answer is Answer.SILENT and await self._is_ours())

    async def plan_upgrade(self) -> Upgrade:
        """Whether the configured version should take the place of what is there."""
        there = await self._ours()
        return upgrade_of(there, await self.objects(), self.settings.version) if there else Upgrade.not_ours()

    async def ensure_latest(self) -> None:
        """Bring it to the configured version, if it is ours and older. What users have made with it stays."""
        there = await self._ours()
        if not there:
            return
        self._progress("Checking whether cert-manager needs an upgrade")
        wanted = await self.objects()
        upgrade = upgrade_of(there, wanted, self.settings.version)
        if not upgrade.needed:
            self._progress("cert-manager is up to date")
            return
        from mooring.clusterctl.migrating import migrate

        # Before it goes: afterwards nobody converts what is stored in an old version.
        await migrate(self._client, wanted, self._progress)
        self._progress(f"Deleting cert-manager {upgrade.current}")
        gone = [one for one in there if kind_of(one) not in _KEPT]
        await side_by_side([delete_one(self._client, one) for one in gone])
        await self._install(wanted)

    async def is_namespace_there(self) -> bool:
        """Whether its namespace exists: then its images are taken to be there, too."""
        try:
            await self._client.get(_NAMESPACE_RESOURCE, _NAMESPACES[0])
        except NotFound:
            return False
        return True

    async def objects(self) -> list[Object]:
        """What is to be installed."""
        return await cert_manager_objects(self._configuration)

    async def _install(self, objects: Iterable[Object]) -> None:
        self._progress(f"Installing cert-manager {self.settings.version}")
        before, probed, after = in_steps(objects)
        for step in (before, probed, after):
            await apply_all(self._client, step, replacing=True)
        await self._until_ready()

    async def _until_ready(self) -> None:
        self._progress("Waiting for cert-manager to be available")
        deadline = time.monotonic() + self.settings.timeout
        while True:
            answer, trouble = await self._ask()
            if answer is Answer.READY:
                return
            if time.monotonic() >= deadline:
                raise ClusterctlError(
                    f"cert-manager does not answer after {self.settings.timeout:g} seconds: {trouble}. Look at its "
                    f"pods in the namespace {_NAMESPACES[0]}, or wait longer: cert-manager.timeout in the configuration"
                )
            await asyncio.sleep(_PAUSE)

    async def _ask(self) -> tuple[Answer, str]:
        """Let it check an Issuer and a Certificate, and keep nothing."""
        for resource, body in _probes():
            try:
                await self._client.create(resource, body, namespace=_PROBES_NAMESPACE, dry_run=True)
            except NotFound as error:
                return Answer.ABSENT, str(error)
            except BadRequest as error:
                if "dry run" not in error.message:
                    raise
                # Some webhook cannot do without consequences. The kinds are served; what else there is to know shows
                # when certificates are created.
            except KubeError as error:
                if not waiting_helps(error):
                    raise
                return Answer.SILENT, str(error)
        return Answer.READY, ""

    async def _is_ours(self) -> bool:
        try:
            definition = await self._client.get(DEFINITIONS, _PROBED)
        except NotFound:
            return True
        return texts_at(definition, "labels").get(CORE_LABEL) == COMPONENT

    async def _ours(self) -> list[Object]:
        return await labelled(self._client, {CORE_LABEL: COMPONENT}, _NAMESPACES)


async def cert_manager_objects(configuration: Configuration) -> list[Object]:
    """The objects of the configured release, with images overridden, labels, and the version in an annotation."""
    from mooring.clusterctl import yamls
    from mooring.clusterctl.containers import with_images
    from mooring.clusterctl.repository import open_repository

    settings, overrides = configuration.cert_manager(), configuration.images()
    # Its releases are kept as a provider's are.
    provider = Provider(COMPONENT, ProviderType.CORE, settings.url)
    repository = await open_repository(provider, configuration)
    objects = yamls.documents(await repository.components(settings.version))
    objects = with_images(objects, lambda image: overrides.replaced(COMPONENT, image))
    for one in objects:
        set_metadata(one, "labels", {**texts_at(one, "labels"), CLUSTERCTL_LABEL: "", CORE_LABEL: COMPONENT})
        set_metadata(one, "annotations", {**texts_at(one, "annotations"), VERSION_ANNOTATION: settings.version})
    return objects


def in_steps(objects: Iterable[Object]) -> tuple[list[Object], list[Object], list[Object]]:
    """What is installed first, the definition by which an installation counts as whole, and what needs that one."""
    before: list[Object] = []
    probed: list[Object] = []
    after: list[Object] = []
    for one in objects:
        if kind_of(one) == "CustomResourceDefinition" and name_of(one) == _PROBED:
            probed.append(one)
        else:
            (after if kind_of(one) == "Certificate" else before).append(one)
    return before, probed, after


def _probes() -> Iterable[tuple[Resource[Object], Object]]:
    for resource, spec in (
        (_ISSUERS, {"selfSigned": {}}),
        (
            _CERTIFICATES,
            {"dnsNames": ["example.com"], "secretName": "mooring-probe-tls", "issuerRef": {"name": "mooring-probe"}},
        ),
    ):
        yield (
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": "mooring-probe", "namespace": _PROBES_NAMESPACE},
                "spec": spec,
            },
        )

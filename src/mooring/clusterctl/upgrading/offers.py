"""What repositories offer to a management cluster, and what `upgrade plan` makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.applying import Progress, silent
from mooring.clusterctl.initialising.planning import Shelf
from mooring.clusterctl.inventory import Installed, Inventory
from mooring.clusterctl.metadata import contract_for
from mooring.clusterctl.repository import ProviderRepository
from mooring.clusterctl.upgrading.plan import Plan, Releases, newest, plans, releases_for
from mooring.kube import Client

if TYPE_CHECKING:
    from mooring.clusterctl.cert_manager_versions import Upgrade
    from mooring.clusterctl.config import Configuration

# A management cluster of the contract before is what upgrades are for.
_UPGRADED_FROM: Final = ("v1beta1",)


@dataclass(frozen=True, slots=True)
class Offers:
    """Ways to go on from what is installed."""

    cert_manager: Upgrade
    plans: list[Plan]
    contract: str  # the one that can be upgraded to

    def document(self) -> dict[str, Any]:
        """The same for programs."""
        manager = self.cert_manager
        return {
            "certManager": {
                "externallyManaged": not manager.is_ours,
                "from": manager.current,
                "to": manager.target,
                "shouldUpgrade": manager.needed,
            },
            "plans": [
                {
                    "contract": plan.contract,
                    "supported": plan.contract == self.contract,
                    "providers": [
                        {
                            "name": step.installed.name,
                            "namespace": step.installed.namespace,
                            "providerName": step.installed.provider_name,
                            "type": str(step.installed.type),
                            "version": step.installed.version,
                            "nextVersion": step.to,
                        }
                        for step in plan.steps
                    ],
                }
                for plan in self.plans
            ],
        }


class Repositories:
    """The repositories of what is installed, each opened once."""

    def __init__(self, configuration: Configuration, *, compat: str = "") -> None:
        self._shelf = Shelf(configuration, compat)

    async def of(self, one: Installed) -> ProviderRepository:
        return await self._shelf.repository(one.provider_name, one.type)

    async def releases(self, installed: Sequence[Installed]) -> list[Releases]:
        """What there is for each of them."""
        return [await self._releases(one) for one in installed]

    async def _releases(self, one: Installed) -> Releases:
        repository = await self.of(one)
        versions = await repository.versions()
        metadata = await repository.metadata(newest(versions, one))
        return releases_for(one, versions, metadata)


async def plan_upgrades(
    client: Client, configuration: Configuration, *, compat: str = "", progress: Progress = silent
) -> Offers:
    """Look for newer versions of everything that is installed."""
    from mooring.clusterctl.certmanager import CertManager

    manager = await CertManager(client, configuration, progress).plan_upgrade()
    installed = await installed_for_upgrade(client, compat=compat)
    progress("Checking for new releases")
    releases = await Repositories(configuration, compat=compat).releases(installed)
    return Offers(manager, plans(releases, compat=compat), contract_for(compat))


async def installed_for_upgrade(client: Client, *, compat: str = "") -> list[Installed]:
    """What is installed, in a management cluster that upgrades know about."""
    inventory = Inventory(client)
    await inventory.check_contract(contract=contract_for(compat), also=() if compat else _UPGRADED_FROM)
    await inventory.ensure_definitions()
    return await inventory.list()

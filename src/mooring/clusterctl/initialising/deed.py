"""Making a management cluster: cert-manager, then the providers in the order of their types, and waiting for them.

Whoever is killed and runs again with the same wishes ends in the same place. Objects may be applied twice. The entry
of a provider in the inventory comes after its objects; and the entry of the core provider, if it is the first, comes
after everything else: as long as it is missing, the next run is a first run too, and brings the default providers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.applying import Progress, apply_all, silent
from mooring.clusterctl.certmanager import CertManager, cert_manager_objects
from mooring.clusterctl.components import Components
from mooring.clusterctl.containers import has_manager, images_of
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.initialising.planning import Plan, planned
from mooring.clusterctl.initialising.wishes import Wishes
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.inventory_definition import inventory_definition
from mooring.clusterctl.metadata import contract_for
from mooring.clusterctl.objects import described, group_of, texts_at
from mooring.clusterctl.providers import ProviderType
from mooring.clusterctl.sharing import Standing, note_release, objects_due, standing_shares
from mooring.clusterctl.validating import entry_of
from mooring.clusterctl.waiting import wait_until_available

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.kube import Client, Object

_CERTIFICATES: Final = "cert-manager.io"


async def initialise(client: Client, configuration: Configuration, wishes: Wishes, progress: Progress = silent) -> Plan:
    """Install what is wished for and not there; what was done."""
    inventory = Inventory(client)
    await inventory.ensure_definitions(configuration.environ)
    await inventory.check_contract(contract=contract_for(wishes.compat), may_be_absent=True)
    progress("Fetching providers")
    plan = await planned(client, configuration, wishes, progress)
    if wishes.cert_manager:
        await CertManager(client, configuration, progress).ensure_installed()
    else:
        _refuse_certificates(plan.queue)
    await _install(client, plan, progress)
    if wishes.wait:
        await _wait(client, plan, wishes.wait_seconds, progress)
    return plan


async def written_out(
    client: Client | None, configuration: Configuration, wishes: Wishes, progress: Progress = silent
) -> list[Object]:
    """Everything that `initialise` would apply now, in its order. Nothing is written to the cluster.

    Without a client: for a cluster that has nothing yet.
    """
    objects: list[Object] = []
    if client is not None:
        await Inventory(client).check_contract(contract=contract_for(wishes.compat), may_be_absent=True)
    if client is None or not await Inventory(client).is_defined():
        objects.append(inventory_definition())
    plan = await planned(client, configuration, wishes, progress)
    if not wishes.cert_manager:
        _refuse_certificates(plan.queue)
    elif client is None:
        external = configuration.cert_manager().externally_provisioned
        objects += [] if external else await cert_manager_objects(configuration)
    elif await (cert_manager := CertManager(client, configuration)).is_wanted():
        objects += await cert_manager.objects()
    there, standing = list(plan.installed), await _standing(client, plan)
    for components in plan.queue:
        objects += [*objects_due(components, there, standing), components.inventory_object()]
        there.append(entry_of(components))
    return objects


async def images(client: Client | None, configuration: Configuration, wishes: Wishes) -> list[str]:
    """The images that would be pulled, sorted. Variables need not be set."""
    if client is not None:
        await Inventory(client).check_contract(contract=contract_for(wishes.compat), may_be_absent=True)
    plan = await planned(client, configuration, wishes, skip_template=True)
    found = {image for components in plan.queue for image in components.images}
    if wishes.cert_manager and not (client and await CertManager(client, configuration).is_namespace_there()):
        return sorted([*found, *images_of(await cert_manager_objects(configuration))])
    return sorted(found)


async def _install(client: Client, plan: Plan, progress: Progress) -> None:
    inventory, there, last = Inventory(client), list(plan.installed), []
    standing = await _standing(client, plan)
    for components in plan.queue:
        label, version, namespace = components.provider.label, components.version, components.target_namespace
        progress(f"Installing {label} {version} in namespace {namespace}")
        due = objects_due(components, there, standing)
        await apply_all(client, due)
        await note_release(client, due, version)
        there.append(entry_of(components))
        if plan.first_run and components.provider.type is ProviderType.CORE:
            last.append(components)
        else:
            await inventory.create(components)
    for components in last:
        await inventory.create(components)


async def _standing(client: Client | None, plan: Plan) -> Standing:
    """What instances share now; nobody needs to be asked where nothing is shared."""
    return await standing_shares(client) if client and any(one.shared for one in plan.queue) else {}


async def _wait(client: Client, plan: Plan, seconds: float, progress: Progress) -> None:
    progress("Waiting for providers to be available")
    for components in plan.queue:
        for one in components.all_objects:
            if has_manager(one):
                await wait_until_available(client, one, seconds=seconds)


def _refuse_certificates(queue: Iterable[Components]) -> None:
    for components in queue:
        for one in components.all_objects:
            injected = any(key.startswith(f"{_CERTIFICATES}/inject-ca-from") for key in texts_at(one, "annotations"))
            if group_of(one) == _CERTIFICATES or injected:
                raise ClusterctlError(
                    f"{components.provider.label} needs cert-manager ({described(one)}): leave out "
                    f"--skip-cert-manager. If you provide it yourself, set cert-manager.externallyProvisioned"
                )

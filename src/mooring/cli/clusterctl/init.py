"""``init``: make a management cluster. ``init list-images``: what would have to be pulled for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from mooring.cli.clusterctl.common import COMPAT, CONTEXT, KUBECONFIG, compat_of, management
from mooring.cli.clusterctl.tree import Command, Flag, Form, Given

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.clusterctl.initialising import Plan, Wishes
    from mooring.kube import Client, Connection

_PROVIDERS = (
    Flag("core", "The core provider, as name[:version]. [default: cluster-api, the latest]"),
    Flag("infrastructure", "Infrastructure providers, as name[:version],…", Form.LIST, "i"),
    Flag("bootstrap", "Bootstrap providers; - for none. [default: kubeadm, if it is the first run]", Form.LIST, "b"),
    Flag(
        "control-plane",
        "Control plane providers; - for none. [default: kubeadm, if it is the first run]",
        Form.LIST,
        "c",
    ),
    Flag("ipam", "IPAM providers, as name[:version],…", Form.LIST),
    Flag("runtime-extension", "Runtime extensions, as name[:version],…", Form.LIST),
    Flag("addon", "Add-on providers, as name[:version],…", Form.LIST),
)
_SHARED = (KUBECONFIG, CONTEXT, *_PROVIDERS, COMPAT)
_OWN = (
    Flag("target-namespace", "Install everything into this namespace. [default: each provider's own]", letter="n"),
    Flag("validate", "Refuse what would give a management cluster that does not work.", Form.SWITCH, default=True),
    Flag("wait-providers", "Wait until the providers are available.", Form.SWITCH),
    Flag("wait-provider-timeout", "How many seconds to wait for each of them.", Form.NUMBER, default=300),
    Flag("watching-namespace", "Let the controllers watch this namespace only. Needs --compat v1alpha3."),
    Flag("skip-cert-manager", "Do without cert-manager; refused where a provider needs it.", Form.SWITCH),
    Flag("dry-run", "Apply nothing; write as YAML what would be applied, in order.", Form.SWITCH),
    Flag("write-to", "The file that --dry-run writes to. [default: the output]"),
)


def run(given: Given) -> int:
    import asyncio

    if given["dry-run"] or given["write-to"]:
        return _dry_run(given)
    plan = asyncio.run(_initialise(given, _configuration(given), management(given), _wishes(given)))
    if plan.first_run:
        given.note("")
        given.note("The management cluster is ready. A first workload cluster is created like this:")
        given.note("")
        given.note("  mooring clusterctl generate cluster NAME --kubernetes-version VERSION | kubectl apply -f -")
        given.note("")
    return 0


def list_images(given: Given) -> None:
    import asyncio

    from mooring.clusterctl.initialising import images

    async def deed() -> list[str]:
        configuration, wishes = _configuration(given), _wishes(given)
        async with _if_any(_connection_if_any(given)) as client:
            return await images(client, configuration, wishes)

    for image in asyncio.run(deed()):
        given.say(image)


async def _initialise(given: Given, configuration: Configuration, connection: Connection, wishes: Wishes) -> Plan:
    from mooring.clusterctl.initialising import initialise
    from mooring.kube import Client

    async with Client(connection) as client:
        return await initialise(client, configuration, wishes, given.note)


def _dry_run(given: Given) -> int:
    import asyncio
    from pathlib import Path

    from mooring.clusterctl.initialising import written_out
    from mooring.clusterctl.yamls import dump

    async def deed() -> str:
        configuration, wishes = _configuration(given), _wishes(given)
        async with _if_any(_connection_if_any(given)) as client:
            return dump(await written_out(client, configuration, wishes, given.note))

    text = asyncio.run(deed())
    if given["write-to"]:
        Path(given["write-to"]).write_text(text, encoding="utf-8")
    else:
        given.out.write(text)
    return 0


@contextlib.asynccontextmanager
async def _if_any(connection: Connection | None) -> AsyncIterator[Client | None]:
    from mooring.kube import Client

    if connection is None:
        yield None
        return
    async with Client(connection) as client:
        yield client


def _connection_if_any(given: Given) -> Connection | None:
    """Where nothing is written, there need not be a cluster yet; one that is named must be there."""
    from mooring.kube.errors import ConfigError

    try:
        return management(given)
    except ConfigError as error:
        if given["kubeconfig"] or given["kubeconfig-context"]:
            raise
        given.note(f"Taking it for a cluster that has nothing yet: {error}")
        return None


def _configuration(given: Given) -> Configuration:
    from mooring.clusterctl.config import read_configuration

    return read_configuration(given["config"], given.environ)


def _wishes(given: Given) -> Wishes:
    from mooring.clusterctl.initialising import Wishes

    providers = Wishes(
        core=given["core"],
        bootstrap=given["bootstrap"],
        control_plane=given["control-plane"],
        infrastructure=given["infrastructure"],
        ipam=given["ipam"],
        runtime_extension=given["runtime-extension"],
        addon=given["addon"],
        compat=compat_of(given),
    )
    if given.command is not COMMAND:
        return providers
    return replace(
        providers,
        target_namespace=given["target-namespace"],
        watching_namespace=given["watching-namespace"],
        validate=given["validate"],
        wait=given["wait-providers"],
        wait_seconds=float(given["wait-provider-timeout"] or 300),
        cert_manager=not given["skip-cert-manager"],
    )


COMMAND = Command(
    "init",
    "Initialize a management cluster.",
    run,
    flags=(*_SHARED, *_OWN),
    long="""
        Install Cluster API's core, the kubeadm providers and the infrastructure providers that are named into an
        existing Kubernetes cluster, together with cert-manager, which makes the certificates of their webhooks.

        Where no core provider is installed yet, cluster-api and both kubeadm providers come along unless others are
        named. What is installed already is skipped. Components that were installed with kubectl apply are taken in
        where they are. A run that was interrupted can be run again.

        With --dry-run nothing is applied: the objects are written in the order in which they would be, to be kept in
        a repository and applied by others. It works without a cluster, too.
    """,
    examples="""
        mooring clusterctl init --infrastructure aws
        mooring clusterctl init --infrastructure aws:v0.4.1,vsphere --wait-providers
        mooring clusterctl init --infrastructure docker --bootstrap - --control-plane nested
        mooring clusterctl init --infrastructure aws --dry-run --write-to management.yaml
    """,
    words=(
        Command(
            "list-images",
            "List the container images that an init with the same flags would need.",
            list_images,
            flags=_SHARED,
            examples="mooring clusterctl init list-images --infrastructure aws",
        ),
    ),
)

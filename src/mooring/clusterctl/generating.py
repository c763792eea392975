"""``generate cluster`` and ``generate provider``: which template or components are meant, and what they come to."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.management import Management
from mooring.clusterctl.providers import OLD_CONTRACT, ProviderType, named_provider
from mooring.clusterctl.templates import Template, about, template_of

if TYPE_CHECKING:
    from mooring.clusterctl.components import Components, Options
    from mooring.clusterctl.config import Configuration
    from mooring.clusterctl.scopes import Scopes

_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NUMBER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")
CONTROL_PLANE_COUNT: Final = "CONTROL_PLANE_MACHINE_COUNT"
WORKER_COUNT: Final = "WORKER_MACHINE_COUNT"


@dataclass(frozen=True, slots=True)
class ConfigMapSource:
    """A ConfigMap with a template. An empty namespace is the current one, an empty key ``template``."""

    name: str
    namespace: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The cluster that is wanted, and where its template is: at most one of the three places."""

    name: str
    namespace: str = ""  # empty: the current one
    kubernetes_version: str = ""
    control_plane_count: int | None = None
    worker_count: int | None = None
    address: str = ""  # a file, https:, or -
    config_map: ConfigMapSource | None = None
    infrastructure: str = ""  # name[:version]; empty: the only one that is installed
    flavor: str = ""
    listing: bool = False  # only the variables are asked for
    compat: str = ""


async def cluster_template(
    wanted: Wanted, configuration: Configuration, management: Management, stdin: TextIO = sys.stdin
) -> Template:
    """The template of a workload cluster, processed."""
    repository_named = bool(wanted.infrastructure or wanted.flavor)
    if repository_named + bool(wanted.address) + (wanted.config_map is not None) > 1:
        raise ClusterctlError(
            "a template can come from one place only: --from, --from-config-map…, or --infrastructure and --flavor"
        )
    namespace = wanted.namespace or management.connection_for("no target namespace was given").namespace
    set_variables(wanted, namespace, configuration)
    if wanted.config_map is not None:
        return await _of_config_map(wanted.config_map, wanted, namespace, configuration, management)
    if wanted.address:
        from mooring.clusterctl.sources import STDIN, read_from

        text = await read_from(wanted.address, configuration, stdin)
        with about("standard input" if wanted.address == STDIN else wanted.address):
            return await _processed(text, wanted, namespace, configuration, management)
    return await _of_repository(wanted, namespace, configuration, management)


def set_variables(wanted: Wanted, namespace: str, configuration: Configuration) -> None:
    """Check what was given for every template to use, and let templates use it."""
    if not _LABEL.fullmatch(namespace):
        raise ClusterctlError(
            f"invalid target namespace {namespace!r}: at most 63 lower-case letters, digits and hyphens, no hyphen "
            f"at an end"
        )
    if len(wanted.name) > 253 or not _SUBDOMAIN.fullmatch(wanted.name):
        raise ClusterctlError(
            f"invalid cluster name {wanted.name!r}: at most 253 lower-case letters, digits, hyphens and dots, a letter "
            f"or digit at both ends of each part"
        )
    configuration.set("NAMESPACE", namespace)
    configuration.set("CLUSTER_NAME", wanted.name)
    if wanted.kubernetes_version:
        from mooring.clusterctl.semver import Version

        if Version.read(wanted.kubernetes_version) is None:
            raise ClusterctlError(
                f"invalid Kubernetes version {wanted.kubernetes_version!r}: write a semantic version, such as v1.36.0"
            )
        configuration.set("KUBERNETES_VERSION", wanted.kubernetes_version)
    _set_count(configuration, CONTROL_PLANE_COUNT, wanted.control_plane_count, least=1)
    _set_count(configuration, WORKER_COUNT, wanted.worker_count, least=0)


def _set_count(configuration: Configuration, name: str, given: int | None, *, least: int) -> None:
    count = given if given is not None else _configured_count(configuration, name, least)
    if count < least:
        raise ClusterctlError(f"invalid {name} {count}: it must be {least} or more")
    configuration.set(name, str(count))


def _configured_count(configuration: Configuration, name: str, default: int) -> int:
    text = configuration.variable(name)
    if text is None:
        return default
    read = _NUMBER.fullmatch(text)
    number = int(read[1] + read[2]) if read else 1 << 63
    if not -(1 << 63) <= number < 1 << 63:
        raise ClusterctlError(f"invalid value {text!r:.60} for {name}: write a whole number")
    return number


async def _of_config_map(
    source: ConfigMapSource, wanted: Wanted, namespace: str, configuration: Configuration, management: Management
) -> Template:
    from mooring.clusterctl.sources import read_config_map

    where = source.namespace or management.connection_for("the template is in a ConfigMap").namespace
    management.connection_for("the template is in a ConfigMap")
    async with management.client() as client:
        text = await read_config_map(client, name=source.name, namespace=where, key=source.key)
    with about(f"ConfigMap {source.name} in namespace {where}"):
        return await _processed(text, wanted, namespace, configuration, management)


async def _of_repository(
    wanted: Wanted, namespace: str, configuration: Configuration, management: Management
) -> Template:
    from mooring.clusterctl.repository import open_repository
    from mooring.clusterctl.repository.releases import template_name

    if management.named:
        await _check_contract(management, wanted.compat)
    name, version = named_provider(wanted.infrastructure) if wanted.infrastructure else ("", "")
    if not version:
        name, version = await _installed(name, management)
    provider = configuration.provider(name, ProviderType.INFRASTRUCTURE)
    repository = await open_repository(provider, configuration, compat=wanted.compat)
    text = await repository.template(wanted.flavor, version)
    from mooring.clusterctl.clusterclasses import references_in, with_classes

    with about(f"{template_name(wanted.flavor)} of {provider.label} {version}"):
        template = await _processed(text, wanted, namespace, configuration, management)
        if wanted.compat or not references_in(template.objects):
            return template
    async with management.initialized() as client:
        return await with_classes(template, repository, version, configuration, client)


async def _processed(
    text: str, wanted: Wanted, namespace: str, configuration: Configuration, management: Management
) -> Template:
    scopes = None
    if management.named and not wanted.listing:
        scopes = await _asked_scopes(text, configuration, management)
    return template_of(
        text, configuration, namespace=namespace, listing=wanted.listing, compat=wanted.compat, scopes=scopes
    )


async def _asked_scopes(text: str, configuration: Configuration, management: Management) -> Scopes | None:
    """What the cluster that was named says about kinds in the template that we do not know."""
    from mooring.clusterctl.scopes import Scopes, asking

    objects = template_of(text, configuration).objects
    scopes = Scopes().with_definitions_of(objects)
    if not scopes.unknown(objects):
        return scopes
    from mooring.kube.errors import KubeError

    try:
        async with management.client() as client:
            return await asking(client, scopes, objects)
    except KubeError:
        return scopes  # a template can be made without a cluster


async def _check_contract(management: Management, compat: str) -> None:
    from mooring.clusterctl.inventory import Inventory
    from mooring.clusterctl.providers import CONTRACT

    async with management.client() as client:
        await Inventory(client).check_contract(contract=compat or CONTRACT, may_be_absent=True)


async def _installed(name: str, management: Management) -> tuple[str, str]:
    """Name and version of the infrastructure provider that is installed, as far as it is clear which."""
    from mooring.clusterctl import inventory

    missing = "no infrastructure provider was given" if not name else f"no version of the provider {name!r} was given"
    management.connection_for(missing)
    async with management.client() as client:
        there = await inventory.Inventory(client).list_if_defined()
    name = name or inventory.default_name(there, ProviderType.INFRASTRUCTURE)
    if not name:
        raise ClusterctlError(
            f"{missing}, and the management cluster has none or several: say which with --infrastructure"
        )
    version = inventory.default_version(there, name, ProviderType.INFRASTRUCTURE)
    if not version:
        raise ClusterctlError(
            f"no version of the provider {name!r} was given, and the management cluster does not have it in exactly "
            f"one: write --infrastructure {name}:VERSION"
        )
    return name, version


async def provider_components(
    text: str, type_: ProviderType, options: Options, configuration: Configuration
) -> Components:
    """The components of ``name[:version]``, if we can work with its contract."""
    from mooring.clusterctl.components import assemble
    from mooring.clusterctl.metadata import accepted_contract
    from mooring.clusterctl.repository import open_repository

    name, version = named_provider(text)
    provider = configuration.provider(name, type_)
    repository = await open_repository(provider, configuration, compat=options.compat)
    version = version or repository.default_version
    if options.compat != OLD_CONTRACT:  # in those days it was not looked at here
        accepted_contract(await repository.metadata(version), version, label=provider.label)
    file = await repository.components(version)
    return assemble(file, configuration, provider, options, version=version)

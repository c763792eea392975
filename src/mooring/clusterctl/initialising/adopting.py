"""Providers that the inventory does not know: ``kubectl apply`` put them there, or an ``init`` that was killed.

The labels of their Deployments tell them. They are taken in where they are, in the version that they have, rather than
installed a second time somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mooring.clusterctl.compat import WEBHOOK_NAMESPACE
from mooring.clusterctl.containers import MANAGER, containers_of, has_manager
from mooring.clusterctl.inventory import Installed
from mooring.clusterctl.objects import at, namespace_of, texts_at
from mooring.clusterctl.providers import PROVIDER_LABEL
from mooring.clusterctl.semver import Version
from mooring.clusterctl.waiting import DEPLOYMENTS
from mooring.kube import Client, Object


@dataclass(frozen=True, slots=True)
class Stray:
    """A provider without an entry in the inventory. The version is empty if its image does not tell."""

    label: str
    namespace: str
    version: str


Strays = Mapping[str, tuple[Stray, ...]]  # by the label of the provider


async def strays(client: Client, installed: Iterable[Installed]) -> Strays:
    """Those that run here, as their Deployments tell."""
    listing = await client.list(DEPLOYMENTS, label_selector=PROVIDER_LABEL)
    return strays_among(listing.items, installed)


def strays_among(deployments: Iterable[Object], installed: Iterable[Installed]) -> Strays:
    known = {(one.label, one.namespace) for one in installed}
    found: dict[str, dict[str, Stray]] = {}
    for one in deployments:
        label, namespace = texts_at(one, "labels").get(PROVIDER_LABEL, ""), namespace_of(one)
        leaving = at(one, "metadata", "deletionTimestamp") is not None
        if leaving or not has_manager(one) or namespace == WEBHOOK_NAMESPACE or (label, namespace) in known:
            continue
        found.setdefault(label, {}).setdefault(namespace, Stray(label, namespace, _version(one)))
    return {label: tuple(places.values()) for label, places in found.items()}


def _version(deployment: Object) -> str:
    """The tag of the manager's image, if it is a version."""
    image = next(str(one.get("image", "")) for one in containers_of(deployment) if one.get("name") == MANAGER)
    name, _, tag = image.partition("@")[0].rpartition(":")
    return tag if name and "/" not in tag and tag.startswith("v") and Version.read(tag) else ""

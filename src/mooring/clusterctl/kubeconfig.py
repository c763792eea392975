"""The kubeconfig of a workload cluster, out of the Secret that Cluster API keeps it in."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.inventory import Inventory
from mooring.kube import Client, untyped
from mooring.kube.errors import NotFound

_SECRETS: Final = untyped(plural="secrets", kind="Secret")
_KEY: Final = "value"


async def workload_kubeconfig(client: Client, cluster: str, *, namespace: str) -> bytes:
    """The kubeconfig of a cluster, byte by byte as it was written."""
    await Inventory(client).check_contract()
    name = f"{cluster}-kubeconfig"
    try:
        secret = await client.get(_SECRETS, name, namespace=namespace)
    except NotFound:
        raise NotHere(
            f"there is no Secret {name!r} in the namespace {namespace!r}: it is there once the control plane of "
            f"{cluster!r} is; is it another namespace? (--namespace)"
        ) from None
    value = (secret.get("data") or {}).get(_KEY)
    if value is None:
        raise ClusterctlError(f"the Secret {namespace}/{name} has no key {_KEY!r}: no kubeconfig is in it")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:  # no server lets that in
        raise ClusterctlError(f"the Secret {namespace}/{name} cannot be read: {error}") from error

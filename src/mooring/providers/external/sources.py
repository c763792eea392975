"""Where the kubeconfig of a cluster is, and how it becomes a connection.

What is wrong with it is told with its place and the remedy, and never with a word of what is in it: names of contexts
and entries are shown, values are not.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from mooring.kube import Client, Connection, Object, ObjectKey, connection_from_untrusted, untyped
from mooring.kube.errors import ConfigError, NotFound
from mooring.providers.external.config import ExternalClusterConfig, ExternalConfig
from mooring.providers.external.reasons import Reason
from mooring.providers.sdk.provider import Order, Refused

SECRETS = untyped(plural="secrets", kind="Secret")

_NEW_ONE = "Put a kubeconfig there that is data only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The place of a kubeconfig, and the field that names it."""

    secret: ObjectKey
    key: str
    context: str
    field: str

    def __str__(self) -> str:
        return f"the key {self.key} of the Secret {self.secret} ({self.field})"


def source_of_config(config: ExternalConfig) -> Source | None:
    """Where the configuration's own kubeconfig is; None for a family."""
    named = config.spec.kubeconfig_secret_ref
    if named is None:
        return None
    return Source(
        secret=ObjectKey(named.namespace, named.name),
        key=named.key,
        context=config.spec.context,
        field=f"spec.kubeconfigSecretRef of the ExternalConfig {config.metadata.name}",
    )


def source_of(order: Order[ExternalConfig]) -> Source:
    """Where the kubeconfig of an ordered cluster is; exactly one place, or Refused."""
    common, own = source_of_config(order.config), [_own(one, order) for one in order.cluster_configs]
    config = order.config.metadata.name
    if common is not None and own:
        raise Refused(
            f"The kubeconfig is named twice: by the ExternalConfig {config} and by spec.clusterConfigs. Empty "
            f"spec.clusterConfigs, or use the profile of an ExternalConfig without spec.kubeconfigSecretRef.",
            reason=Reason.AMBIGUOUS,
        )
    if len(own) > 1:
        raise Refused(
            f"spec.clusterConfigs names {len(own)} objects, and a cluster has one kubeconfig; leave one of them.",
            reason=Reason.AMBIGUOUS,
        )
    if common is None and not own:
        raise Refused(
            f"Nothing says how this cluster is reached. Create an ExternalClusterConfig in the namespace "
            f"{order.key.namespace} and name it in spec.clusterConfigs, or set spec.kubeconfigSecretRef in the "
            f"ExternalConfig {config}.",
            reason=Reason.NO_KUBECONFIG,
        )
    return common or own[0]


def _own(config: ExternalClusterConfig, order: Order[ExternalConfig]) -> Source:
    named = config.spec.kubeconfig_secret_ref
    return Source(
        secret=ObjectKey(order.key.namespace, named.name),
        key=named.key,
        context=config.spec.context,
        field=f"spec.kubeconfigSecretRef of the ExternalClusterConfig {config.metadata.name}",
    )


async def secret_at(platform: Client, source: Source) -> Object | None:
    """The Secret as it is now: read for one use, and not kept."""
    try:
        return await platform.get(SECRETS, source.secret.name, namespace=source.secret.namespace)
    except NotFound:
        return None


async def connection_in(secret: Object | None, source: Source) -> Connection:
    """The connection that its kubeconfig describes; Refused if it cannot, or may not, be used."""
    text = _kubeconfig_in(secret, source)
    try:
        connection = connection_from_untrusted(text, source.context or None)
        await _check(connection)
    except ConfigError as error:
        raise refusal(error, source) from None
    return connection


def refusal(error: ConfigError, source: Source) -> Refused:
    """What is wrong with a kubeconfig. The value is left out: it may be anything."""
    problem, field = error.problem, error.field or ""
    if problem.startswith("this is not YAML"):
        # The parser's own words quote the text.
        line = re.match(r"this is not YAML in line [0-9]+", problem)
        problem = line[0] if line is not None else "this is not YAML"
    if field.startswith("*"):
        field = ""  # an alias: it may be the beginning of a password without quotes
    what = f"{field}: {problem}" if field else problem
    remedy = (error.remedy or _NEW_ONE).rstrip(".")
    return Refused(f"The kubeconfig in {source} cannot be used: {what}. {remedy}.", reason=Reason.KUBECONFIG_REFUSED)


def _kubeconfig_in(secret: Object | None, source: Source) -> bytes:
    if secret is None:
        raise Refused(
            f"There is no Secret {source.secret}, which {source.field} names; create it with a kubeconfig under the "
            f"key {source.key}, or name another.",
            reason=Reason.SECRET_MISSING,
        )
    data = secret.get("data") or {}
    if not data.get(source.key):
        raise Refused(
            f"The Secret {source.secret}, which {source.field} names, has nothing under the key {source.key}; put the "
            f"kubeconfig there, or name the key that it is under in the field 'key'.",
            reason=Reason.KEY_MISSING,
        )
    try:
        return base64.b64decode(data[source.key], validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f"What {source} holds is not base64.", reason=Reason.KUBECONFIG_REFUSED) from None


async def _check(connection: Connection) -> None:
    """What a kubeconfig may say elsewhere, and not here: others are to be let into that cluster, by this connection."""
    if not connection.server.startswith("https:"):
        raise ConfigError(
            "refused: the credential would travel in the clear", field="cluster.server", remedy="Use an https address"
        )
    if connection.insecure:
        raise ConfigError(
            "refused: nobody could tell the cluster from somebody who pretends to be it",
            field="cluster.insecure-skip-tls-verify",
            remedy="Put the certificate of its authority under certificate-authority-data",
        )
    identity = await connection.credentials.identity()
    if identity.authorization is None and identity.certificate is None:
        raise ConfigError(
            "there is no credential",
            field="user",
            remedy="Put a token, or client certificate data with its key, into the entry of the context's user",
        )

"""Whoever enters a cluster with the kubeconfig of an AccessRequest, and asks there what it may do.

What is asked is what Kubernetes itself says of the entrant (SelfSubjectAccessReview), which everybody may ask, so that
a check needs no other way into the cluster, and changes nothing there.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from mooring.kube import Client, Object, Timeouts, connection_from_untrusted, untyped
from mooring.kube.documents import yaml_document
from mooring.kube.errors import ConfigError, NoAnswer, NotFound, Unauthorized
from mooring.testing.builders import SECRETS
from mooring.testing.conformance.asking import secret_name_in
from mooring.testing.conformance.checks import DoesNotApply, Unmet

_REVIEWS = untyped(
    group="authorization.k8s.io", plural="selfsubjectaccessreviews", kind="SelfSubjectAccessReview", namespaced=False
)
_PATIENCE = Timeouts(connect=10.0, request=30.0)
_KEY = "kubeconfig"


class Deed(NamedTuple):
    """Something that somebody may or may not do in a cluster. Without a namespace: in all of them."""

    verb: str
    resource: str
    namespace: str = ""
    group: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {what} {f'in {self.namespace}' if self.namespace else 'everywhere'}"


class Entrant:
    """One kubeconfig, in use."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def may(self, deed: Deed) -> bool | None:
        """Whether it may do this; None if the cluster does not know it, or does not know it any more."""
        verb, resource, namespace, group = deed
        asked = {"verb": verb, "resource": resource, "namespace": namespace, "group": group}
        about = {"apiVersion": "authorization.k8s.io/v1", "kind": _REVIEWS.kind}
        try:
            answer = await self.client.create(_REVIEWS, {**about, "spec": {"resourceAttributes": asked}})
        except Unauthorized:
            return None
        except NoAnswer as error:
            raise DoesNotApply(
                f"the cluster at {self.client.connection.server} cannot be reached from here: {error}"
            ) from None
        return bool((answer.get("status") or {}).get("allowed"))

    async def may_any(self, deeds: Sequence[Deed]) -> list[Deed]:
        """Those of them that it may do."""
        return [one for one in deeds if await self.may(one)]

    async def may_all(self, deeds: Sequence[Deed]) -> bool:
        return len(await self.may_any(deeds)) == len(deeds)


@contextlib.asynccontextmanager
async def entered(secret: Object) -> AsyncIterator[Entrant]:
    """Enter with what a Secret holds."""
    try:
        connection = connection_from_untrusted(kubeconfig_in(secret))
    except ConfigError as error:
        raise Unmet(
            expected="a kubeconfig that anybody can use as it is, with its credentials in it",
            seen=f"{error}, in the Secret {secret['metadata']['name']}",
        ) from None
    async with Client(connection, timeouts=_PATIENCE) as client:
        yield Entrant(client)


async def secret_of(client: Client, request: Object) -> Object:
    """The Secret that a granted request names."""
    name, namespace = secret_name_in(request), request["metadata"]["namespace"]
    if not name:
        raise Unmet(expected="status.secretRef.name of a granted AccessRequest names a Secret", seen="there is none")
    try:
        return await client.get(SECRETS, name, namespace=namespace)
    except NotFound:
        seen = f"there is no Secret {name} in the request's namespace"
        raise Unmet(expected="the Secret that status.secretRef names is beside the request", seen=seen) from None


def texts_in(secret: Object) -> Mapping[str, str]:
    """What a Secret holds."""
    try:
        return {name: base64.b64decode(text).decode() for name, text in (secret.get("data") or {}).items()}
    except (binascii.Error, UnicodeDecodeError):
        return {}


def kubeconfig_in(secret: Object) -> str:
    text = texts_in(secret).get(_KEY, "")
    if not text:
        seen = f"the Secret {secret['metadata']['name']} has {', '.join(secret.get('data') or ()) or 'nothing'}"
        raise Unmet(expected=f"the Secret of a granted request has a kubeconfig under the key {_KEY!r}", seen=seen)
    return text


def users_in(secret: Object) -> list[Mapping[str, Any]]:
    """The entries of a kubeconfig that say as whom to come."""
    try:
        document: Any = yaml_document(kubeconfig_in(secret), stranger=True)
        return [one.get("user") or {} for one in document.get("users") or []]
    except (ConfigError, AttributeError, TypeError):
        raise Unmet(expected="a kubeconfig in the Secret of a granted request", seen="something else") from None

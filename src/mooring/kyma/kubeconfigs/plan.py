"""Which AccessRequest answers a KubeconfigRequest, and what is said on it. Pure.

What a request asks for is in its spec and in two annotations. Both are carried over, and so is the stamp of whoever
created the request: the one who is judged is the one who asked, not we.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mooring.api.access import AccessRequest, TokenAccess
from mooring.api.kinds import Metadata, as_document, owned_by
from mooring.api.kyma import REVOKE_ANNOTATION, ROTATE_ANNOTATION, KubeconfigRequest
from mooring.api.marks import (
    CREATOR_ANNOTATION,
    OPERATION_ANNOTATION,
    OPERATION_IGNORE,
    OPERATION_RECONCILE,
    OPERATION_REVOKE,
    OPERATION_ROTATE,
)
from mooring.api.names import shortened
from mooring.api.rbac import Permission
from mooring.api.references import NearbyReference
from mooring.entry.translating import TRANSLATE_ANNOTATION
from mooring.kube import ObjectKey
from mooring.kyma.kubeconfigs.seen import owns

USUAL_LIFETIME: Final = 3600  # seconds

# On the AccessRequest: it is revoked because the request says so, and not by somebody who would not want it undone.
REVOKED_ANNOTATION: Final = "mooring.dev/revoked-with-request"

_TRUE: Final = "true"


def asks(request: KubeconfigRequest, annotation: str) -> bool:
    return request.metadata.annotations.get(annotation, "").lower() == _TRUE


def access_key(request: KubeconfigRequest) -> ObjectKey:
    """Where its AccessRequest is: always the same place."""
    return ObjectKey(request.metadata.namespace, shortened(f"kyma-{request.metadata.name}"))


def cluster_named(request: KubeconfigRequest) -> ObjectKey:
    """The Cluster that is meant."""
    namespace, _, name = request.spec.cluster.rpartition("/")
    return ObjectKey(namespace or request.metadata.namespace, name)


def wanted_token(request: KubeconfigRequest) -> TokenAccess:
    """What is asked for, as AccessRequests say it."""
    spec, permissions = request.spec, []
    if spec.cluster_role is not None:
        permissions.append(Permission(rules=spec.cluster_role.rules))
    if spec.role is not None:
        permissions.append(Permission(rules=spec.role.rules, namespace=spec.role.namespace))
    return TokenAccess(permissions=tuple(permissions), lifetime=f"{spec.expiration or USUAL_LIFETIME}s")


def belongs_to(request: KubeconfigRequest, access: AccessRequest) -> bool:
    """Whether this is the AccessRequest of the request, and not somebody else's that has its name."""
    return owns(request, access.metadata) and access.spec.cluster_ref == _cluster_ref(request)


def new_access(request: KubeconfigRequest) -> dict[str, Any]:
    """The AccessRequest, to be created."""
    key = access_key(request)
    spec = msgspec.structs.replace(
        AccessRequest(metadata=Metadata()).spec, cluster_ref=_cluster_ref(request), token=wanted_token(request)
    )
    owner = owned_by(request, blocking=True)
    metadata = Metadata(name=key.name, namespace=key.namespace, owner_references=(owner,))
    return as_document(right_access(request, AccessRequest(metadata=metadata, spec=spec)))


def right_access(request: KubeconfigRequest, access: AccessRequest) -> AccessRequest:
    """The AccessRequest as it should be now."""
    metadata = msgspec.structs.replace(access.metadata, annotations=_annotations(request, access))
    spec = msgspec.structs.replace(access.spec, token=wanted_token(request))
    return msgspec.structs.replace(access, metadata=metadata, spec=spec)


def heard(request: KubeconfigRequest, access: AccessRequest) -> KubeconfigRequest:
    """The request, when what its annotations ask for once has been passed on. ``access`` is as it was before that.

    While it still says an earlier ``rotate``, this one is not passed on: nobody could tell the two apart.
    """
    annotations = dict(request.metadata.annotations)
    if annotations.get(OPERATION_ANNOTATION) == OPERATION_RECONCILE:
        del annotations[OPERATION_ANNOTATION]
    if asks(request, ROTATE_ANNOTATION) and _operation(access) not in (OPERATION_IGNORE, OPERATION_ROTATE):
        annotations[ROTATE_ANNOTATION] = "false"
    return msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, annotations=annotations))


def _annotations(request: KubeconfigRequest, access: AccessRequest) -> dict[str, str]:
    said = {**access.metadata.annotations, TRANSLATE_ANNOTATION: _TRUE}
    stamp = request.metadata.annotations.get(CREATOR_ANNOTATION)
    said |= {CREATOR_ANNOTATION: stamp} if stamp is not None else {}
    if stamp is None:
        said.pop(CREATOR_ANNOTATION, None)
    if asks(request, REVOKE_ANNOTATION):
        return said | {OPERATION_ANNOTATION: OPERATION_REVOKE, REVOKED_ANNOTATION: _TRUE}
    if said.pop(REVOKED_ANNOTATION, None) and said.get(OPERATION_ANNOTATION) == OPERATION_REVOKE:
        del said[OPERATION_ANNOTATION]
    word = _word(request, access)
    if word and said.get(OPERATION_ANNOTATION) in (None, OPERATION_RECONCILE):
        said[OPERATION_ANNOTATION] = word
    return said


def _word(request: KubeconfigRequest, access: AccessRequest) -> str:
    """What is to be done once. An AccessRequest that is still to be created gets a new token anyhow."""
    if not access.metadata.uid:
        return ""
    if asks(request, ROTATE_ANNOTATION):
        return OPERATION_ROTATE
    reconcile = request.metadata.annotations.get(OPERATION_ANNOTATION) == OPERATION_RECONCILE
    return OPERATION_RECONCILE if reconcile else ""


def _operation(access: AccessRequest) -> str:
    return access.metadata.annotations.get(OPERATION_ANNOTATION, "")


def _cluster_ref(request: KubeconfigRequest) -> NearbyReference:
    key = cluster_named(request)
    return NearbyReference(name=key.name, namespace=key.namespace)

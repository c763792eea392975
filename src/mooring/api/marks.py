"""Marks on objects: labels, annotations and finalizers, each spelled here and nowhere else.

Most are upstream's, and mean what they mean there; those of ``mooring.dev`` are our own.
"""

from __future__ import annotations

from typing import Final

from mooring.api.kinds import CLUSTERS_GROUP, PLATFORM_GROUP

# On clusters and access requests: who is responsible, and what the cluster really is.
KUBERNETES_VERSION_LABEL: Final = f"{CLUSTERS_GROUP}/k8sversion"
PROVIDER_LABEL: Final = f"{CLUSTERS_GROUP}/provider"
PROFILE_LABEL: Final = f"{CLUSTERS_GROUP}/profile"
PROVIDER_INFO_ANNOTATION: Final = f"{CLUSTERS_GROUP}/providerinfo"

# On clusters: "true" if the cluster goes with its last request.
DELETE_WITHOUT_REQUESTS_LABEL: Final = f"{CLUSTERS_GROUP}/delete-without-requests"
# On requests: a new cluster gets a random name, not one derived from the request's.
RANDOMIZE_NAME_LABEL: Final = f"{CLUSTERS_GROUP}/randomize-cluster-name"
# On clusters that no request holds yet: made ahead for the purpose in its value.
WARM_LABEL: Final = "mooring.dev/warm"

# On profiles: the variant of the configuration that they stand for. A name that was shortened does not tell it.
VARIANT_ANNOTATION: Final = "mooring.dev/variant"

# On access requests: who created them or last changed their spec, as JSON. The server writes it, and nobody else.
CREATOR_ANNOTATION: Final = "mooring.dev/creator"

# Labels and annotations that begin so are copied from a request to a cluster of its own.
PROPAGATED_PREFIX: Final = "metadata.open-control-plane.io/"

# Who made an object, and what for.
MANAGED_BY_LABEL: Final = f"{PLATFORM_GROUP}/managed-by"
MANAGED_BY_MOORING: Final = "mooring"
MANAGED_PURPOSE_LABEL: Final = f"{PLATFORM_GROUP}/managed-purpose"
ENVIRONMENT_LABEL: Final = f"{PLATFORM_GROUP}/environment"
# On a CustomResourceDefinition: the kind of cluster that it is served in.
SERVED_IN_LABEL: Final = f"{PLATFORM_GROUP}/cluster"
ONBOARDING_NAME_LABEL: Final = f"{PLATFORM_GROUP}/onboarding-name"
ONBOARDING_NAMESPACE_LABEL: Final = f"{PLATFORM_GROUP}/onboarding-namespace"
TOPOLOGY_LABEL: Final = f"{PLATFORM_GROUP}/topology"
TOPOLOGY_NAMESPACE_LABEL: Final = f"{PLATFORM_GROUP}/topology-ns"

# On the init job of a provider: which one, and which of its generations.
PROVIDER_NAME_ANNOTATION: Final = f"{PLATFORM_GROUP}/provider-name"
PROVIDER_KIND_ANNOTATION: Final = f"{PLATFORM_GROUP}/provider-kind"
PROVIDER_GENERATION_ANNOTATION: Final = f"{PLATFORM_GROUP}/provider-generation"

# On anything we reconcile: leave it alone, or look at it now (we remove that one again).
OPERATION_ANNOTATION: Final = f"{PLATFORM_GROUP}/operation"
OPERATION_IGNORE: Final = "ignore"
OPERATION_RECONCILE: Final = "reconcile"
# On access requests: give out a new token in place of the old one (we remove that one again), or none any more.
OPERATION_ROTATE: Final = "rotate"
OPERATION_REVOKE: Final = "revoke"

# On the Secret with credentials: which token was given out, until when, and for what.
GRANT_ANNOTATION: Final = "mooring.dev/grant"

REQUEST_FINALIZER: Final = f"{CLUSTERS_GROUP}/request"
ACCESS_FINALIZER: Final = f"{CLUSTERS_GROUP}/clusteraccess"
# On access requests: something was made for it in the cluster that it enters.
GRANT_FINALIZER: Final = f"{CLUSTERS_GROUP}/grant"
CLUSTER_FINALIZER: Final = f"{CLUSTERS_GROUP}/finalizer"
PROVIDER_FINALIZER: Final = f"{PLATFORM_GROUP}/finalizer"

_CLAIM: Final = f"request.{CLUSTERS_GROUP}/"

# Names of the purposes that the seeds name, and of the endpoints that providers publish.
KNOWN_PURPOSES: Final = ("platform", "onboarding", "workload", "mcp")
EXTERNAL_ENDPOINT: Final = "apiserver-external"
INTERNAL_ENDPOINT: Final = "apiserver-internal"


def claim_of(request_uid: str) -> str:
    """The finalizer by which a request holds its cluster, and the annotation that tells more about the claim."""
    return _CLAIM + request_uid


def claimant_of(mark: str) -> str | None:
    """The uid of the request that a finalizer stands for; None if it is no claim."""
    return mark[len(_CLAIM) :] if mark.startswith(_CLAIM) and len(mark) > len(_CLAIM) else None

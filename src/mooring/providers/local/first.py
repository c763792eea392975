"""What a landscape has from its first day: a configuration for clusters, and its platform as one of them.

The platform is a Cluster like others, so that requests can get it; but it was there before its own object was, and
goes only with the landscape. Its profile is its own: whoever is administrator there is administrator of everything,
so only those enter who may do that anyhow (policy ``Creator``), and it takes no seat of other clusters. Nobody deletes
the object, its configuration or its provider: an admission policy of the server sees to it.
"""

from __future__ import annotations

from typing import Final

from mooring.api.clusters import Cluster, Tenancy
from mooring.api.kinds import Document, Kind
from mooring.api.policies import AccessPolicy
from mooring.api.providers import ClusterProvider
from mooring.kube import ObjectKey
from mooring.providers.local.config import LocalConfig
from mooring.providers.sdk.naming import profile_name

PLATFORM: Final = ObjectKey(namespace="mooring-system", name="platform")
POLICY: Final = "keep-platform.mooring.dev"  # the name of the admission policy and of its binding

_CONFIG: Final = "platform"
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_PURGE: Final = "'mooring down --purge' removes the whole landscape."


def default_config(provider: str) -> Document:
    """What clusters can be had from the first day on."""
    return _object(LocalConfig.API.api_version, "LocalConfig", "default", spec={"providerRef": {"name": provider}})


def platform_config(provider: str) -> Document:
    """The platform's own: one cluster, and a door for those who may open it."""
    spec = {
        "providerRef": {"name": provider},
        "maxClusters": 1,
        "access": {"policy": AccessPolicy.CREATOR.value},
    }
    return _object(LocalConfig.API.api_version, "LocalConfig", _CONFIG, spec=spec)


def platform_cluster(environment: str, provider: str, key: ObjectKey = PLATFORM) -> Document:
    """The platform's object; its namespace must be there."""
    spec = {
        "profile": profile_name(environment=environment, provider=provider, config=_CONFIG),
        "tenancy": Tenancy.SHARED.value,
        "purposes": ["platform"],
    }
    made = _object(Cluster.API.api_version, "Cluster", key.name, spec=spec)
    made["metadata"]["namespace"] = key.namespace
    return made


def kept(provider: str, key: ObjectKey = PLATFORM, policy: str = POLICY) -> list[Document]:
    """The policy, and the binding that puts it in force. By name inside: a whole collection may be deleted, too."""
    words: dict[tuple[type[Kind], str], str] = {
        (Cluster, key.name): "is the platform that Mooring itself runs on, and cannot be deleted",
        (LocalConfig, _CONFIG): "is that of the platform, and cannot be deleted",
        (ClusterProvider, provider): (
            "runs inside Mooring, and the platform is its cluster: it cannot be deleted. To have no local clusters, "
            "delete the other LocalConfigs"
        ),
    }
    # Spelled out as the server stores it, so that the next start finds everything in place. Of what is in namespaces,
    # only the platform's is matched; of what is in none, everything.
    matched = {
        "resourceRules": [_deletion_of(kind) for kind, _ in words],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": key.namespace}},
        "objectSelector": {},
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": matched,
        "validations": [_denial(kind, name, message) for (kind, name), message in words.items()],
    }
    bound = {"policyName": policy, "validationActions": ["Deny"]}
    return [
        _object(_ADMISSION, "ValidatingAdmissionPolicy", policy, spec=spec),
        _object(_ADMISSION, "ValidatingAdmissionPolicyBinding", policy, spec=bound),
    ]


def _deletion_of(kind: type[Kind]) -> Document:
    return {
        "apiGroups": [kind.API.group],
        "apiVersions": ["*"],
        "operations": ["DELETE"],
        "resources": [kind.API.plural],
        "scope": "*",
    }


def _denial(kind: type[Kind], name: str, message: str) -> Document:
    another = f"request.resource.resource != '{kind.API.plural}' || oldObject.metadata.name != '{name}'"
    return {"expression": another, "message": f"This {kind.API.kind} {message}; {_PURGE}", "reason": "Forbidden"}


def _object(api_version: str, kind: str, name: str, **fields: object) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}

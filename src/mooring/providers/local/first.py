"""What a landscape has from its first day: a configuration for clusters, and its platform as one of them.

The platform is a Cluster like others, so that requests can get it; but it was there before its own object was, and
goes only with the landscape. Nobody deletes the object: an admission policy of the server sees to it.
"""

from __future__ import annotations

from typing import Final

from mooring.api.clusters import Cluster, Tenancy
from mooring.api.kinds import Document
from mooring.kube import ObjectKey
from mooring.providers.local.config import LocalConfig
from mooring.providers.sdk.naming import profile_name

PLATFORM: Final = ObjectKey(namespace="mooring-system", name="platform")

_POLICY: Final = "keep-platform.mooring.dev"
_ADMISSION: Final = "admissionregistration.k8s.io/v1"


def first_objects(
    *, environment: str, provider: str = "local", config: str = "default", platform: ObjectKey = PLATFORM
) -> list[Document]:
    """In an order in which they can be created; the namespace of the platform's object must be there."""
    return [
        *kept(platform),
        default_config(provider, config),
        platform_cluster(environment, provider, config, platform),
    ]


def default_config(provider: str, name: str) -> Document:
    return _object(LocalConfig.API.api_version, "LocalConfig", name, spec={"providerRef": {"name": provider}})


def platform_cluster(environment: str, provider: str, config: str, key: ObjectKey) -> Document:
    spec = {
        "profile": profile_name(environment=environment, provider=provider, config=config),
        "tenancy": Tenancy.SHARED.value,
        "purposes": ["platform"],
    }
    made = _object(Cluster.API.api_version, "Cluster", key.name, spec=spec)
    made["metadata"]["namespace"] = key.namespace
    return made


def kept(key: ObjectKey, policy: str = _POLICY) -> list[Document]:
    """The policy, and the binding that puts it in force. By name inside: a whole collection may be deleted, too."""
    api = Cluster.API
    rule = {"apiGroups": [api.group], "apiVersions": ["*"], "operations": ["DELETE"], "resources": [api.plural]}
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": key.namespace}}}
    denial = {
        "expression": f"oldObject.metadata.name != '{key.name}'",
        "message": (
            "This Cluster is the platform that Mooring itself runs on, and cannot be deleted; "
            "'mooring down --purge' removes the whole landscape."
        ),
        "reason": "Forbidden",
    }
    spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule], **here}, "validations": [denial]}
    bound = {"policyName": policy, "validationActions": ["Deny"]}
    return [
        _object(_ADMISSION, "ValidatingAdmissionPolicy", policy, spec=spec),
        _object(_ADMISSION, "ValidatingAdmissionPolicyBinding", policy, spec=bound),
    ]


def _object(api_version: str, kind: str, name: str, **fields: object) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}

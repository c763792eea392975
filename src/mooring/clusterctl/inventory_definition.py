"""The definition of Provider objects, in which clusterctl, ours and the other, writes down what is installed."""

from __future__ import annotations

from typing import Final

from mooring.clusterctl.providers import CORE_LABEL
from mooring.kube import Object, untyped

GROUP: Final = "clusterctl.cluster.x-k8s.io"
VERSION: Final = "v1alpha3"
PROVIDERS: Final = untyped(group=GROUP, version=VERSION, plural="providers", kind="Provider")
DEFINITION_NAME: Final = f"providers.{GROUP}"

_FIELDS: Final = {
    "providerName": "What the provider is called, such as kubeadm.",
    "type": "Which kind of provider it is, such as BootstrapProvider.",
    "version": "The release that is installed.",
    "watchedNamespace": "The one namespace that its controllers look at; all of them if empty. "
    "Only providers of the contract v1alpha3 can be so restricted.",
}
_COLUMNS: Final = (
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Since when it is there"},
    {"name": "Type", "type": "string", "jsonPath": ".type"},
    {"name": "Provider", "type": "string", "jsonPath": ".providerName"},
    {"name": "Version", "type": "string", "jsonPath": ".version"},
)


def inventory_definition() -> Object:
    """The CustomResourceDefinition. Its fields stand at the top of the object: there is no spec."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINITION_NAME, "labels": {CORE_LABEL: "inventory"}},
        "spec": {
            "group": GROUP,
            "names": {
                "categories": ["cluster-api"],
                "kind": "Provider",
                "listKind": "ProviderList",
                "plural": "providers",
                "singular": "provider",
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [dict(column) for column in _COLUMNS],
                    "schema": {"openAPIV3Schema": _schema()},
                    "subresources": {},
                }
            ],
        },
    }


def _schema() -> Object:
    standing = {
        "apiVersion": {"type": "string", "description": "The group and version of this object."},
        "kind": {"type": "string", "description": "The kind of this object."},
        "metadata": {"type": "object"},
    }
    fields = {name: {"type": "string", "description": text} for name, text in _FIELDS.items()}
    return {
        "type": "object",
        "description": "One provider that is installed in this management cluster.",
        "properties": {**standing, **fields},
    }

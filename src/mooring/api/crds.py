"""CustomResourceDefinitions, made from the types whenever they are needed. The files in ``crds/`` are copies."""

from __future__ import annotations

from typing import Any, Final

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Api, Column, Document, Kind
from mooring.api.kyma import KubeconfigRequest
from mooring.api.marks import SERVED_IN_LABEL
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.api.schema import schema_of

KINDS: Final[tuple[type[Kind], ...]] = (
    ClusterProvider,
    ClusterProfile,
    Purpose,
    TraitEquivalence,
    ClusterRequest,
    ClusterRequestGrant,
    Cluster,
    AccessRequest,
    KubeconfigRequest,
)

CATEGORY: Final = "mooring"  # kubectl get mooring

_TYPE_META: Final = {
    "apiVersion": {
        "type": "string",
        "description": "Group and version of the kind, such as clusters.openmcp.cloud/v1alpha1.",
    },
    "kind": {"type": "string", "description": "The kind of this object."},
}


def definitions() -> list[Document]:
    """The definitions of all our kinds, ready to be applied."""
    return [definition_of(kind) for kind in KINDS]


def definition_of(kind: type[Kind]) -> Document:
    """The CustomResourceDefinition of one kind."""
    api = kind.API
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": api.definition_name, "labels": {SERVED_IN_LABEL: "platform"}},
        "spec": {
            "group": api.group,
            "names": _names(api),
            "scope": "Namespaced" if api.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def file_name(kind: type[Kind]) -> str:
    """What its file in ``crds/`` is called."""
    return f"{kind.API.group}_{kind.API.plural}.yaml"


def _names(api: Api) -> Document:
    names: Document = {
        "kind": api.kind,
        "listKind": f"{api.kind}List",
        "plural": api.plural,
        "singular": api.kind.lower(),
        "categories": [CATEGORY],
    }
    return names | ({"shortNames": list(api.short_names)} if api.short_names else {})


def _version(kind: type[Kind]) -> Document:
    api = kind.API
    version: Document = {
        "name": api.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _whole(kind)},
        "subresources": {"status": {}} if api.has_status else {},
        "additionalPrinterColumns": [_column(column) for column in api.columns],
    }
    if api.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in api.selectable_fields]
    return version


def _whole(kind: type[Kind]) -> Document:
    """The schema of a whole object: metadata is the server's own, and nothing may be said about it."""
    schema = schema_of(kind)
    schema["properties"] = _TYPE_META | schema["properties"] | {"metadata": {"type": "object"}}
    return schema


def _column(column: Column) -> dict[str, Any]:
    document: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return document | ({"priority": column.priority} if column.priority else {})

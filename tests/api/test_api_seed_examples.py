"""The YAML of the seeds, in our spelling: a real server takes it whole, and so do our types."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
import yaml
from upstream_kit import our_schema, with_defaults

from mooring.api.crds import KINDS
from mooring.kube import Client, MergePatch
from mooring.kube.errors import NotFound
from mooring.testing.builders import plain_resource_of

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "seeds"
OURS = {(kind.API.api_version, kind.API.kind): kind for kind in KINDS}
# Kinds that a provider brings with it; the providers are still to come.
FOREIGN = {"001-providerconfig.yaml"}

EXAMPLES = [
    pytest.param(document, id=f"{path.stem}-{document['kind']}")
    for path in sorted(FOLDER.glob("*.yaml"))
    if path.name not in FOREIGN
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("document", EXAMPLES)
async def test_it_is_applied(kinds: Client, namespace: str, document: dict[str, Any]) -> None:
    kind = OURS[document["apiVersion"], document["kind"]]
    resource, schema = plain_resource_of(kind), our_schema(kind)["properties"]
    where = namespace if kind.API.namespaced else None
    metadata = document["metadata"] | ({"namespace": namespace} if where else {"name": f"seed-{uuid4().hex[:8]}"})
    name = metadata["name"]
    body = document | {"metadata": metadata}
    stored = await kinds.apply(resource, body, field_manager="seeds")
    if kind.API.has_status and "status" in document:
        patch = MergePatch({"status": document["status"]})
        stored = await kinds.patch(resource, name, patch, namespace=where, subresource="status")
    for part in ("spec", "status"):
        assert stored.get(part) == with_defaults(document.get(part), schema.get(part, {}))
    assert msgspec.convert(stored, kind).metadata.name == name
    with contextlib.suppress(NotFound):  # its owner is not there: the server may have taken it away already
        await kinds.delete(resource, name, namespace=where)


def test_every_kind_of_the_seeds_is_among_them() -> None:
    shown = {document.values[0]["kind"] for document in EXAMPLES}
    assert shown == {kind.API.kind for kind in KINDS}


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_kinds_that_are_not_ours_are_not_forgotten_once_they_are(name: str) -> None:
    documents = list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))
    assert documents
    assert not [one for one in documents if (one["apiVersion"], one["kind"]) in OURS]

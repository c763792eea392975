"""OCI image layouts on disk: read when they are sound, refused with a clear sentence when they are not."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from repository_kit import COMPONENTS, LABEL, components, configured, files_of, shipyard

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.repository import open_repository

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
TITLE = "org.opencontainers.image.title"
REFERENCE = "org.opencontainers.image.ref.name"
VERSION = "org.opencontainers.image.version"
OURS = (1, 0, "v1beta2")


class LayoutWriter:
    """Writes a layout, blob by blob."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = folder / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')

    def blob(self, content: bytes, media_type: str, **annotations: str) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (self.blobs / digest).write_bytes(content)
        return descriptor(f"sha256:{digest}", len(content), media_type, **annotations)

    def document(self, value: dict[str, Any], media_type: str, **annotations: str) -> dict[str, Any]:
        content = json.dumps({"schemaVersion": 2, "mediaType": media_type, **value}).encode()
        return self.blob(content, media_type, **annotations)

    def release(self, files: dict[str, str], annotations: dict[str, str] | None = None, **named: str) -> dict[str, Any]:
        """A version: its files as layers. ``annotations`` are the manifest's, ``named`` those of its descriptor."""
        layers = [self.blob(text.encode(), "application/yaml", **{TITLE: name}) for name, text in files.items()]
        config = self.blob(b"{}", "application/vnd.oci.empty.v1+json")
        value = {"config": config, "layers": layers, "annotations": annotations or {}}
        return self.document(
            {"artifactType": "application/vnd.mooring.clusterctl.release.v1", **value}, MANIFEST, **named
        )

    def index(self, *manifests: dict[str, Any]) -> None:
        (self.folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": list(manifests)}))

    def open(self, at: str = "latest"):
        url = f"oci-layout:{self.folder}/{LABEL}/{at}/{COMPONENTS}"
        return open_repository(shipyard(url), configured(self.folder))


def descriptor(digest: str, size: int, media_type: str, **annotations: str) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest, "size": size, "annotations": annotations}


@pytest.fixture
def layout(tmp_path: Path) -> LayoutWriter:
    return LayoutWriter(tmp_path / "layout")


async def test_a_layout_holds_many_providers(layout):
    layout.index(
        layout.release(files_of("v1.0.0", OURS), **{REFERENCE: f"{LABEL}:v1.0.0"}),
        layout.release(files_of("v1.0.1", OURS, **{"cluster-template.yaml": "x"}), **{REFERENCE: f"{LABEL}:v1.0.1"}),
        layout.release(files_of("other", OURS), **{REFERENCE: "bootstrap-kubeadm:v9.0.0"}),
        layout.release(files_of("other", OURS), **{REFERENCE: "v8.0.0"}),
        layout.release(files_of("other", OURS)),
    )
    repository = await layout.open()
    assert repository.default_version == "v1.0.1"
    assert await repository.versions() == ["v1.0.0", "v1.0.1"]
    assert await repository.components() == components("v1.0.1")
    assert await repository.template() == "x"
    assert await repository.contract() == "v1beta2"
    with pytest.raises(
        NotHere, match=r"v1\.0\.0 of .* has no file cluster-template\.yaml: its manifest lists components"
    ):
        await repository.template("", "v1.0.0")
    with pytest.raises(NotHere, match=r"no version v7\.0\.0 \(for components\.yaml\): .* there is v1\.0\.0, v1\.0\.1"):
        await repository.components("v7.0.0")
    assert (await layout.open("v1.0.0")).default_version == "v1.0.0"


async def test_a_version_is_named_in_any_of_the_usual_ways(layout):
    by_index = layout.release(files_of("v1.0.2", OURS), **{REFERENCE: "v1.0.2"})
    deeper = layout.document({"manifests": [by_index]}, INDEX, **{REFERENCE: "anything"})
    layout.index(
        layout.release(files_of("v1.0.0", OURS), **{REFERENCE: f"registry.example.com:5000/mirror/{LABEL}:v1.0.0"}),
        layout.release(files_of("v1.0.1", OURS), {TITLE: LABEL}, **{REFERENCE: "v1.0.1"}),
        layout.document({"manifests": [deeper]}, INDEX, **{REFERENCE: LABEL}),
        layout.release(files_of("v1.0.3", OURS), **{TITLE: LABEL, VERSION: "v1.0.3"}),
        layout.release(files_of("v1.0.4+b.1", OURS), **{REFERENCE: f"{LABEL}:v1.0.4_b.1"}),
        layout.release(  # as the page says, with oras
            files_of("v1.0.5", OURS), {TITLE: LABEL, VERSION: "v1.0.5"}, **{REFERENCE: f"{LABEL}-v1.0.5"}
        ),
        layout.release(files_of("stable", OURS), **{REFERENCE: f"{LABEL}:stable"}),
        descriptor("sha256:" + "1" * 64, 5, "application/vnd.example.unknown", **{REFERENCE: f"{LABEL}:v5.0.0"}),
    )
    repository = await layout.open()
    assert await repository.versions() == ["v1.0.0", "v1.0.1", "v1.0.2", "v1.0.3", "v1.0.4+b.1", "v1.0.5"]
    for version in await repository.versions():
        assert await repository.components(version) == components(version)


async def test_one_manifest_may_be_listed_twice_but_two_not_once(layout):
    one, two = (layout.release(files_of(text, OURS), **{REFERENCE: f"{LABEL}:v1.0.0"}) for text in ("one", "two"))
    layout.index(one, one)
    assert await (await layout.open()).versions() == ["v1.0.0"]
    layout.index(one, two)
    with pytest.raises(ClusterctlError, match=r"two different manifests for infrastructure-shipyard:v1\.0\.0"):
        await layout.open()


async def refusal(layout: LayoutWriter) -> str:
    """What opening and reading says, which must be an error."""
    with pytest.raises(ClusterctlError) as caught:
        await (await layout.open()).components()
    return str(caught.value)


async def test_what_is_no_layout_is_told(layout):
    assert "has no file index.json" in await refusal(layout)
    layout.index()
    assert "there is no release of infrastructure-shipyard" in await refusal(layout)
    (layout.folder / "oci-layout").write_text('{"imageLayoutVersion": "2.0.0"}')
    assert "imageLayoutVersion is '2.0.0', and must be 1.0.0" in await refusal(layout)
    (layout.folder / "oci-layout").write_text("[]")
    assert "oci-layout is not what it should be" in await refusal(layout)
    (layout.folder / "oci-layout").unlink()
    assert "has no file oci-layout" in await refusal(layout)


@pytest.mark.parametrize(
    "digest",
    [
        "sha256:../../../secret",
        "sha256:" + "../" * 20 + "etc/passwd",
        "../../secret",
        "sha256:/etc/passwd",
        "sha256:" + "A" * 64,
        "sha256:" + "1" * 63,
        "sha256:" + "1" * 64 + "\n",
        "sha256:" + "1" * 64 + "/../x",
        "sha512:" + "1" * 128,
        "md5:" + "1" * 32,
        "",
    ],
)
async def test_a_digest_is_never_a_path(layout, digest):
    (layout.folder / "secret").write_text("secret")
    layout.index(descriptor(digest, 6, MANIFEST, **{REFERENCE: f"{LABEL}:v1.0.0"}))
    assert "only sha256: and 64 digits are read" in await refusal(layout)


async def test_contents_must_be_what_their_descriptors_say(layout):
    named = {REFERENCE: f"{LABEL}:v1.0.0"}
    layout.index(layout.release(files_of("v1.0.0", OURS), **named))
    repository = await layout.open()
    blob = layout.blobs / hashlib.sha256(components("v1.0.0").encode()).hexdigest()
    sound = blob.read_bytes()

    blob.write_bytes(sound.replace(b"Namespace", b"Namespaze"))
    with pytest.raises(ClusterctlError, match="has another digest: it is damaged"):
        await repository.components()
    blob.write_bytes(sound + b"\n")
    with pytest.raises(ClusterctlError, match=r"has \d+ bytes, and its descriptor says \d+"):
        await repository.components()
    blob.unlink()
    with pytest.raises(NotHere, match=r"lacks the blob sha256:.*: copy it again, completely"):
        await repository.components()
    assert (await repository.metadata()).contract_of("v1.0.0") == "v1beta2"


async def test_a_manifest_with_another_size_or_digest_is_refused(layout):
    manifest = layout.release(files_of("v1.0.0", OURS), **{REFERENCE: f"{LABEL}:v1.0.0"})
    layout.index({**manifest, "size": manifest["size"] + 1})
    assert "and its descriptor says" in await refusal(layout)
    layout.index({**manifest, "size": -1})
    assert "has -1 bytes: between 0 and" in await refusal(layout)
    layout.index({**manifest, "size": 10**15})
    assert "between 0 and" in await refusal(layout)
    layout.index({**manifest, "size": "12"})
    assert "index.json is not what it should be" in await refusal(layout)
    layout.index({"mediaType": MANIFEST, "size": 1})
    assert "missing required field `digest`" in await refusal(layout)


async def test_large_contents_are_not_read(layout):
    digest = "2" * 64
    with (layout.blobs / digest).open("wb") as sparse:
        sparse.truncate(1024**4)
    layout.index(descriptor(f"sha256:{digest}", 1024**4, MANIFEST, **{REFERENCE: f"{LABEL}:v1.0.0"}))
    assert f"has {1024**4} bytes: between 0 and" in await refusal(layout)
    layout.index(descriptor(f"sha256:{digest}", 100, MANIFEST, **{REFERENCE: f"{LABEL}:v1.0.0"}))
    assert "and its descriptor says 100" in await refusal(layout)
    with (layout.folder / "index.json").open("wb") as sparse:
        sparse.truncate(1024**4)
    assert "index.json has 1099511627776 bytes: at most" in await refusal(layout)


async def test_links_and_other_files_are_not_followed(layout, tmp_path):
    named = {REFERENCE: f"{LABEL}:v1.0.0"}
    manifest = layout.release(files_of("v1.0.0", OURS), **named)
    layout.index(manifest)
    blob = layout.blobs / manifest["digest"].removeprefix("sha256:")
    outside = tmp_path / "outside"
    blob.rename(outside)
    blob.symlink_to(outside)
    assert "symbolic links are not followed" in await refusal(layout)
    blob.unlink()
    os.mkfifo(blob)
    assert "is not a plain file" in await refusal(layout)
    blob.unlink()
    blob.mkdir()
    assert "is not a plain file" in await refusal(layout)
    blob.rmdir()
    outside.rename(blob)
    layout.blobs.rename(tmp_path / "blobs")
    layout.blobs.symlink_to(tmp_path / "blobs")
    assert "symbolic links are not followed" in await refusal(layout)
    (layout.folder / "index.json").rename(tmp_path / "index.json")
    (layout.folder / "index.json").symlink_to(tmp_path / "index.json")
    assert "symbolic links are not followed" in await refusal(layout)


async def test_nested_indexes_cannot_be_a_maze(layout):
    """Sixteen ways on each of six levels are sixteen million ways; and a chain may be only so long."""
    inner = layout.release(files_of("v1.0.0", OURS), **{REFERENCE: f"{LABEL}:v1.0.0"})
    for _ in range(6):
        inner = layout.document({"manifests": [inner] * 16}, INDEX)
    layout.index(inner)
    assert "lists more than 10000 manifests and indexes" in await refusal(layout)

    inner = layout.release(files_of("v1.0.0", OURS), **{REFERENCE: f"{LABEL}:v1.0.0"})
    for _ in range(9):
        inner = layout.document({"manifests": [inner]}, INDEX)
    layout.index(inner)
    assert "nests indexes deeper than 8" in await refusal(layout)
    (layout.folder / "index.json").write_text('{"schemaVersion": 2, "x": ' + "[" * 100_000)
    assert "index.json is not what it should be" in await refusal(layout)


async def test_files_of_a_release_are_layers_as_they_are(layout):
    sound = layout.blob(b"a", "application/yaml", **{TITLE: "metadata.yaml"})
    packed = layout.blob(b"x", "application/vnd.oci.image.layer.v1.tar+gzip", **{TITLE: COMPONENTS})
    layout.index(layout.document({"layers": [sound, packed]}, MANIFEST, **{REFERENCE: f"{LABEL}:v1.0.0"}))
    assert "is packed (application/vnd.oci.image.layer.v1.tar+gzip)" in await refusal(layout)

    other = layout.blob(b"b", "application/yaml", **{TITLE: "metadata.yaml"})
    layout.index(layout.document({"layers": [sound, other]}, MANIFEST, **{REFERENCE: f"{LABEL}:v1.0.0"}))
    assert "lists 'metadata.yaml' twice, with different contents" in await refusal(layout)


async def test_the_address_has_the_form_of_a_local_repository(layout):
    layout.index(layout.release(files_of("v1.0.0", OURS), **{REFERENCE: f"{LABEL}:v1.0.0"}))
    for address in (
        f"oci-layout:{layout.folder}",
        f"oci-layout:{layout.folder}/{LABEL}/x/{COMPONENTS}",
        "oci-layout:x/y",
    ):
        with pytest.raises(ClusterctlError, match="in the form"):
            await open_repository(shipyard(address), configured(layout.folder))
    with pytest.raises(NotHere, match="is no OCI image layout"):
        await open_repository(shipyard(f"oci-layout:/absent/{LABEL}/latest/{COMPONENTS}"), configured(layout.folder))

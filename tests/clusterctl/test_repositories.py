"""Local repositories, beside the judges: which version is meant, which file is read, and what is refused."""

from __future__ import annotations

import random
import re

import pytest
import yaml
from repository_kit import (
    COMPONENTS,
    LABEL,
    Local,
    compared,
    components,
    configured,
    metadata,
    opened,
    shipyard,
    surroundings,
)

from mooring.clusterctl.config import read_configuration
from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.providers import ProviderType
from mooring.clusterctl.repository import open_repository

ONE = metadata((1, 0, "v1beta2"))
MANY = metadata((1, 0, "v1beta2"), (1, 1, "v1beta3"), (1, 2, "v1beta3"))

# What is in a repository, each with the version folders and their metadata.
REPOSITORIES: dict[str, dict[str, str | None]] = {
    "the newest": dict.fromkeys(["v1.0.0", "v1.0.10", "v1.0.9"], ONE),
    "a pre-release is newer": dict.fromkeys(["v1.0.0", "v1.1.0-rc.1"], ONE),
    "only pre-releases": dict.fromkeys(["v1.0.0-rc.1", "v1.0.0-rc.10", "v1.0.0-rc.2"], ONE),
    "only pre-releases of another series": dict.fromkeys(["v1.1.0-rc.1"], ONE),
    "the newest without v": dict.fromkeys(["1.0.1", "v1.0.0"], ONE),
    "with and without v": dict.fromkeys(["1.0.0", "v1.0.0"], ONE),
    "the newest without metadata": {"v1.0.0": ONE, "v1.0.1": None},
    "an older one without metadata": {"v1.0.0": None, "v1.0.1": ONE},
    "build metadata": dict.fromkeys(["v1.0.0+b", "v1.0.0+a"], ONE),
    "odd folders": dict.fromkeys(["v1.0.0", "latest", "x", "v1.0", "v01.2.3", "v1.2.3.4", "v9.9.9-01", "V8.0.0"], ONE),
    "blanks before": dict.fromkeys([" v1.0.2", "v1.0.0"], ONE),
    "blanks behind": dict.fromkeys(["v1.0.2 ", "v1.0.0"], ONE),
    "numbers that are too large": dict.fromkeys(["v18446744073709551616.0.0", "v1.0.0"], ONE),
    "a newer contract": dict.fromkeys(["v1.0.0", "v1.0.3", "v1.1.0", "v1.2.0"], MANY),
    "a newer contract and no release of ours": dict.fromkeys(["v1.1.0", "v1.2.0"], MANY),
    "a newer contract and pre-releases of ours": dict.fromkeys(["v1.2.0", "v1.0.0-rc.1", "v1.0.0-rc.0"], MANY),
    "our contract in pre-releases only": dict.fromkeys(
        ["v1.2.0", "v1.3.0-rc.1"], metadata((1, 2, "v1beta1"), (1, 3, "v1beta2"))
    ),
    "no versions": {"x": ONE},
}


def test_latest_is_what_it_is_to_the_judge(judge, tmp_path):
    local = Local(tmp_path)
    urls = {about: local.repository(about, versions) for about, versions in REPOSITORIES.items()}
    assert compared(judge, local, urls) == []


def test_latest_is_what_it_was_in_the_days_of_v1alpha3(old_judge, tmp_path):
    """Then, metadata were not needed for it, and a folder was taken as it was called."""
    local = Local(tmp_path)

    def aged(text: str | None) -> str | None:
        return text and text.replace("v1beta3", "v1alpha4").replace("v1beta2", "v1alpha3")

    urls = {
        about: local.repository(about, {version: aged(text) for version, text in versions.items()})
        for about, versions in REPOSITORIES.items()
    }
    assert compared(old_judge, local, urls, old=True) == []


def test_any_set_of_versions_has_the_same_latest(judge, tmp_path):
    """Folders by chance, from parts that are likely to be read wrongly."""
    chance = random.Random(4)
    numbers = ["0", "1", "2", "10", "01", "00", ""]
    ends = [
        "",
        "",
        "-rc.1",
        "-rc.10",
        "-rc.2",
        "-alpha.beta",
        "-1",
        "-01",
        "-rc..1",
        "-rc_1",
        "+b.1",
        "+",
        "-9",
        "-1a",
        " ",
    ]
    local, urls = Local(tmp_path), {}
    for case in range(20):
        folders = {
            chance.choice(["v", "v", "v", "", "V"])
            + ".".join(chance.choices(numbers, [9, 9, 9, 9, 1, 1, 1], k=chance.choice([3, 3, 3, 3, 2, 4])))
            + chance.choice(ends)
            for _ in range(chance.choice([2, 4, 8]))
        }
        every = metadata(*((major, minor, "v1beta1") for major in (0, 1, 2, 10) for minor in (0, 1, 2, 10)))
        urls[f"case {case}"] = local.repository(f"case {case}", dict.fromkeys(folders, every))
    assert compared(judge, local, urls) == []


def test_addresses_mean_what_they_mean_to_the_judge(judge, tmp_path):
    local = Local(tmp_path)
    local.repository("plain", dict.fromkeys(["v1.0.0", "v1.0.1"], ONE))
    local.repository("with blank", dict.fromkeys(["v1.0.0"], ONE))
    base = tmp_path / "plain"
    (tmp_path / "linked").symlink_to(base)
    (base / LABEL / "v3.0.0").symlink_to(base / LABEL / "v1.0.0")
    (base / LABEL / "v1.0.1" / "linked.yaml").symlink_to(base / LABEL / "v1.0.0" / COMPONENTS)
    (base / LABEL / "v1.0.1" / "folder.yaml").mkdir()
    (base / LABEL / "v4.0.0").write_text("a file")
    ending = f"{LABEL}/latest/{COMPONENTS}"
    addresses = [
        f"{base}/{ending}",
        f"file:{base}/{ending}",
        f"file://{base}/{ending}",
        f"FILE://{base}/{ending}",
        f"file://host{base}/{ending}",
        f"file://h:x{base}/{ending}",
        f"{base}//{ending}",
        f"{base}/../plain/{ending}",
        f"//{base}/{ending}",
        f"{tmp_path}/linked/{ending}",
        f"{tmp_path}/with%2Dblank/{ending}",
        f"{base}/{ending}?a=b#c",
        f"{base}/{LABEL}/v1.0.0/{COMPONENTS}",
        f"{base}/{LABEL}/1.0.0/{COMPONENTS}",
        f"{base}/{LABEL}/v1.0.7/{COMPONENTS}",
        f"{base}/{LABEL}/v1/{COMPONENTS}",
        f"{base}/{LABEL}/LATEST/{COMPONENTS}",
        f"{base}/{LABEL}/latest/linked.yaml",
        f"{base}/{LABEL}/latest/folder.yaml",
        f"{base}/{LABEL}/latest/absent.yaml",
        f"{base}/{LABEL}/latest/",
        f"{base}/{LABEL}/latest/..",
        f"{base}/{LABEL}/latest",
        f"{base}/{LABEL}//latest/{COMPONENTS}",
        f"{base}/shipyard/latest/{COMPONENTS}",
        f"{base}/bootstrap-shipyard/latest/{COMPONENTS}",
        f"{tmp_path}/absent/{ending}",
        f"{base}/{LABEL}/latest/%zz",
        f"/{COMPONENTS}",
        ending,
        f"./{ending}",
        f"file:{ending}",
        f"~/{ending}",
        f"C:{base}/{ending}",
        f"file:///C:{base}/{ending}",
        f"file:///{base}/{ending}",
        f"{base}\\{LABEL}\\latest\\{COMPONENTS}",
        f"https://me:secret@github.com/someone/{COMPONENTS}",
        f"oci:{base}/{ending}",
        f"ftp://host/{ending}",
        f"http://example.com/{ending}",
        "https://github.com/someone",
        f"https://github.com/someone/something/tree/latest/{COMPONENTS}",
        f"https://gitlab.example.com/api/v4/projects/1/{COMPONENTS}",
    ]
    assert compared(judge, local, {one: one for one in addresses}) == []
    for version in ("v1.0.0", "1.0.0", "v9.9.9", "v4.0.0", "latest", "x", "..", "v1.0.0/../v1.0.0"):
        assert compared(judge, local, {version: f"{base}/{ending}"}, version) == []


async def test_the_users_own_files_come_first(judge, tmp_path):
    """Components, templates, ClusterClasses and metadata; but they never make a version."""
    local = Local(tmp_path)
    url = local.repository("plain", dict.fromkeys(["v1.0.0", "v1.0.1"], ONE))
    overrides = judge.home / "config" / "cluster-api" / "overrides" / LABEL
    for version in ("v1.0.1", "v1.0.2"):
        (overrides / version).mkdir(parents=True)
        (overrides / version / COMPONENTS).write_text(components("mine"))
        (overrides / version / "metadata.yaml").write_text(metadata((1, 0, "v1beta1")))
    (overrides / "v1.0.1" / "cluster-template-small.yaml").write_text("kind: Cluster # mine\n")
    (overrides / "v1.0.1" / "clusterclass-quick.yaml").write_text("kind: ClusterClass # mine\n")

    config = local.config(url)
    configuration = read_configuration(str(config), surroundings(judge.home))
    provider = configuration.provider("shipyard", ProviderType.INFRASTRUCTURE)
    repository = await open_repository(provider, configuration)
    assert repository.default_version == "v1.0.1"
    assert await repository.versions() == ["v1.0.0", "v1.0.1"]
    for version in ("", "v1.0.0", "v1.0.1", "v1.0.2"):
        named = f"shipyard:{version}" if version else "shipyard"
        raw = await judge.beside("generate", "provider", "--raw", "--infrastructure", named, config=config)
        assert raw.code == 0
        [theirs], ours = raw.documents, yaml.safe_load(await repository.components(version))
        assert ours["metadata"]["annotations"] == theirs["metadata"]["annotations"]
    assert await repository.template("small") == "kind: Cluster # mine\n"
    assert await repository.cluster_class("quick", "v1.0.1") == "kind: ClusterClass # mine\n"
    assert await repository.contract() == "v1beta1"
    assert await repository.contract("v1.0.0") == "v1beta2"


async def test_an_override_that_cannot_be_read_is_not_passed_over(judge, tmp_path):
    local = Local(tmp_path)
    config = local.config(local.repository("plain", {"v1.0.0": ONE}))
    overrides = judge.home / "config" / "cluster-api" / "overrides" / LABEL
    (overrides / "v1.0.0" / COMPONENTS).mkdir(parents=True)
    ended = await judge.beside("generate", "provider", "--raw", "--infrastructure", "shipyard", config=config)
    assert ended.code == 1
    configuration = read_configuration(str(config), surroundings(judge.home))
    repository = await open_repository(configuration.provider("shipyard", None), configuration)
    with pytest.raises(ClusterctlError, match=r"cannot read the override .*components\.yaml: Is a directory"):
        await repository.components()


async def test_what_is_missing_is_named_with_what_is_there(tmp_path):
    url = Local(tmp_path).repository("plain", {"v1.0.0": ONE, "v1.0.1": ONE, "scratch": None})
    repository = await opened(url, tmp_path)
    with pytest.raises(
        NotHere, match=r"version v1\.0\.1 of infrastructure-shipyard has no file cluster-template-ha\.yaml: "
    ):
        await repository.template("ha")
    with pytest.raises(NotHere, match=r"there is components\.yaml, metadata\.yaml$"):
        await repository.cluster_class("quick")
    with pytest.raises(
        NotHere, match=r"no version v7\.0\.0 \(for components\.yaml\).* there is scratch, v1\.0\.0, v1\.0\.1"
    ):
        await repository.components("v7.0.0")


@pytest.mark.parametrize("name", ["../secret", "a/b", "..", "", "a\0b", "a\nb"])
async def test_a_name_is_never_a_way_out_of_the_folder(name, tmp_path):
    local = Local(tmp_path)
    url = local.repository("plain", {"v1.0.0": ONE})
    (tmp_path / "plain" / LABEL / "secret").write_text("not yours")
    (tmp_path / "plain" / LABEL / "v1.0.0" / "clusterclass-").mkdir()
    repository = await opened(url, tmp_path)
    with pytest.raises(ClusterctlError, match="without slashes and control characters"):
        await repository.file("v1.0.0", name)
    if name:
        with pytest.raises(ClusterctlError, match="without slashes and control characters"):
            await repository.file(name, COMPONENTS)
    if name not in ("", ".."):  # as the rest of a name, these are harmless
        with pytest.raises(ClusterctlError, match="without slashes and control characters"):
            await repository.cluster_class(name)


async def test_text_that_is_none_is_told(tmp_path):
    url = Local(tmp_path).repository("plain", {"v1.0.0": ONE})
    (tmp_path / "plain" / LABEL / "v1.0.0" / COMPONENTS).write_bytes(b"kind: \xff")
    repository = await opened(url, tmp_path)
    assert await repository.file("", COMPONENTS) == b"kind: \xff"
    with pytest.raises(
        ClusterctlError, match=r"components\.yaml of infrastructure-shipyard v1\.0\.0 is not UTF-8 text \(byte 6\)"
    ):
        await repository.components()


async def test_a_file_that_is_too_large_is_told(tmp_path):
    url = Local(tmp_path).repository("plain", {"v1.0.0": ONE})
    repository = await opened(url, tmp_path)
    override = tmp_path / "config" / "cluster-api" / "overrides" / LABEL / "v1.0.0"
    override.mkdir(parents=True)
    for folder in (tmp_path / "plain" / LABEL / "v1.0.0", override):
        with (folder / COMPONENTS).open("wb") as sparse:
            sparse.truncate(1024**4)
        with pytest.raises(ClusterctlError, match=re.escape(f"{folder / COMPONENTS} is larger than 64 MiB")):
            await repository.components()
    with pytest.raises(ClusterctlError, match=r"components\.yaml is larger than 64 MiB"):
        read_configuration(str(override / COMPONENTS))


async def test_an_error_says_which_provider_it_is_about(tmp_path):
    with pytest.raises(ClusterctlError, match=r"repository of the InfrastructureProvider 'shipyard': .* use a folder"):
        await open_repository(shipyard("s3://bucket/x"), configured(tmp_path))

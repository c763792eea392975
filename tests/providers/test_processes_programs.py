"""Which program an image stands for on this machine, and what an object may say about how it runs."""

from __future__ import annotations

import sys

import pytest

from mooring.providers.deployment.contract import Unfit
from mooring.providers.deployment.programs import allowed, named_by, program_for, rights_declared_by
from mooring.providers.external import ExternalProvider
from mooring.providers.registry import known_providers
from mooring.providers.sdk import init_rights_of, rights_of


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A directory whose programs may run."""
    directory = tmp_path / "shelf"
    directory.mkdir()
    monkeypatch.setenv("MOORING_PROVIDERS", f"{tmp_path / 'nowhere'}:{directory}")
    return directory


def program(directory, name):
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("toy", "toy"),
        ("mooring/external", "external"),
        ("cluster-provider-toy", "toy"),
        ("toy:v1.2.3", "toy"),
        ("registry.example:5000/some_team/x/cluster-provider-toy:v1", "toy"),
        ("localhost:5000/toy", "toy"),
        (f"Registry.Example/toy@sha256:{'0' * 64}", "toy"),
        (f"x/toy-2.x:latest@sha256:{'a' * 64}", "toy-2.x"),
    ],
)
def test_an_image_gives_a_name(image, name):
    assert named_by(image) == name


@pytest.mark.parametrize(
    "image",
    [
        "",
        " ",
        "/",
        "../toy",
        "x/../toy",
        "./toy",
        "..",
        ".toy",
        "-toy",
        "--help",
        "/usr/bin/toy",
        "x//toy",
        "x/",
        "toy ",
        "to y",
        "toy\n",
        "toy\0",
        "x/Toy",
        "toy;rm",
        "$(toy)",
        "cluster-provider-",
        "x/cluster-provider-:v1",
        "cluster-provider-.toy",
        "toy@sha256",
        "toy::v1",
        "täg",
        "file:///usr/bin/toy",
        "module:Class/../toy",
        "a" * 5_000 + "/../toy",
        "\x1b[2J",
    ],
)
def test_what_is_no_name_is_refused(image, shelf):
    with pytest.raises(Unfit) as refused:
        program_for(image)
    assert refused.value.reason == "BadImage"
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 600


def test_executables_are_found_in_order(shelf, tmp_path, monkeypatch):
    longer = program(shelf, "cluster-provider-toy")
    assert program_for("x/toy").executable == longer
    shorter = program(shelf, "toy")
    assert program_for("x/cluster-provider-toy").executable == shorter
    other = tmp_path / "other"
    other.mkdir()
    first = program(other, "cluster-provider-toy")
    monkeypatch.setenv("MOORING_PROVIDERS", f"{other}:{shelf}")
    assert program_for("toy").executable == first


def test_an_exchanged_executable_is_another_version(shelf):
    path = program(shelf, "toy")
    before = program_for("toy")
    assert program_for("toy") == before
    draft = program(shelf, "draft")
    draft.replace(path)
    assert program_for("toy").version != before.version


def no_program(shelf):
    (shelf / "toy").write_text("#!/bin/sh\n")


def a_directory(shelf):
    (shelf / "toy").mkdir()


def a_link_elsewhere(shelf):
    (shelf / "toy").symlink_to(program(shelf.parent, "elsewhere"))


def a_link_to_itself(shelf):
    (shelf / "toy").symlink_to(shelf / "toy")


def one_further_down(shelf):
    (shelf / "x").mkdir()
    program(shelf / "x", "toy")


@pytest.mark.parametrize("put", [no_program, a_directory, a_link_elsewhere, a_link_to_itself, one_further_down])
def test_what_is_no_program_of_the_directory_is_not_run(shelf, put):
    put(shelf)
    with pytest.raises(Unfit) as missing:
        program_for("x/toy")
    assert missing.value.reason == "ProgramNotFound"
    assert str(shelf) in str(missing.value)


def test_directories_that_depend_on_where_we_were_started_are_left_out(shelf, monkeypatch):
    program(shelf, "toy")
    monkeypatch.chdir(shelf.parent)
    monkeypatch.setenv("MOORING_PROVIDERS", f"shelf::.:{shelf.parent / 'nowhere'}")
    with pytest.raises(Unfit, match="MOORING_PROVIDERS"):
        program_for("toy")


def test_without_a_directory_the_remedy_is_told(monkeypatch):
    monkeypatch.delenv("MOORING_PROVIDERS", raising=False)
    with pytest.raises(Unfit) as missing:
        program_for("registry.example/x/boat:v1")
    for word in ("registry.example/x/boat:v1", "'boat'", *known_providers(), "MOORING_PROVIDERS"):
        assert word in str(missing.value)


def test_installed_packages_come_first(shelf):
    program(shelf, "external")
    found = program_for("mooring/external:v1")
    assert (str(found.executable), found.words) == (sys.executable, ("-P", "-m", "mooring.providers", "external"))


def test_a_provider_of_ours_says_what_it_needs():
    rights = rights_declared_by(program_for("mooring/external"))
    assert len(rights.init) == len(init_rights_of(ExternalProvider))
    assert len(rights.run) == len(rights_of(ExternalProvider))


def test_a_stranger_does_not(shelf):
    program(shelf, "toy")
    assert rights_declared_by(program_for("toy")) is None


def test_a_broken_provider_is_told(tmp_path, monkeypatch):
    package = tmp_path / "broken-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[mooring.providers]\nbroken = no_such_module:Nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = program_for("broken")
    assert found.version.startswith("no_such_module:Nothing 1 ")
    with pytest.raises(Unfit, match="no_such_module") as broken:
        rights_declared_by(found)
    assert broken.value.reason == "ProgramBroken"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "LD_PRELOAD",
            "ld_library_path",
            "PATH",
            "HOME",
            "PYTHONPATH",
            "PYTHONWARNINGS",
            "BASH_ENV",
            "ENV",
            "BROWSER",
        ),
        *("NODE_OPTIONS", "PERL5OPT", "GIT_SSH_COMMAND", "KUBECONFIG", "MOORING_PROVIDERS", "MOORING_FINGERPRINT"),
    ],
)
def test_variables_that_decide_what_runs_are_the_owners(name):
    with pytest.raises(Unfit) as refused:
        allowed({"COLOUR": "red", name: "x"})
    assert refused.value.reason == "EnvironmentVariableNotAllowed"


@pytest.mark.parametrize(
    ("name", "value"), [("A=B", "x"), ("", "x"), ("A B", "x"), ("BASH_FUNC_x%%", "x"), ("A", "\0")]
)
def test_what_no_environment_can_hold_is_refused(name, value):
    with pytest.raises(Unfit) as refused:
        allowed({name: value})
    assert refused.value.reason == "BadEnvironmentVariable"


def test_all_other_variables_are_the_objects():
    given = {"COLOUR": "red", "HTTPS_PROXY": "http://proxy.example", "KIND_CONFIG_FILE": "", "my.own-name": "ä"}
    assert allowed(given) == given

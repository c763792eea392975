"""Pages are looked up against the code: what they name must exist, and what exists must be named."""

import re
from pathlib import Path

import pytest

from mooring.api.kinds import Metadata
from mooring.api.references import LocalReference
from mooring.app.furnishing import first_purposes
from mooring.cli.reference import page
from mooring.providers.external import ExternalConfig, ExternalProvider
from mooring.providers.external.config import ExternalConfigSpec
from mooring.providers.local.config import LocalConfig, LocalConfigSpec
from mooring.providers.local.plans import offer
from mooring.providers.registry import known_providers
from mooring.scheduling.reasons import Reason
from mooring.testing import plugin
from mooring.testing.faults import FaultProxy

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_there_are_pages():
    assert ROOT / "README.md" in PAGES
    assert len(PAGES) > 8


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    missing = [target for target in targets if not (path.parent / target).exists()]
    assert not missing


def test_every_environment_variable_is_documented():
    used = set()
    for source in ROOT.glob("src/**/*.py"):
        used |= set(re.findall(r"\b(?:MOORING|KUBEBUILDER|XDG)_[A-Z_]+\b", source.read_text()))
    listed = (ROOT / "docs/reference/environment.md").read_text()
    assert used
    assert not {name for name in used if f"`{name}`" not in listed}


def test_documented_environment_variables_are_used():
    listed = re.findall(r"`(MOORING_[A-Z_]+)`", (ROOT / "docs/reference/environment.md").read_text())
    sources = "\n".join(source.read_text() for source in ROOT.glob("src/**/*.py"))
    assert listed
    assert not [name for name in listed if name not in sources]


def test_the_command_line_reference_is_current():
    assert (ROOT / "docs/reference/cli.md").read_text() == page()


def test_commands_in_the_pages_exist():
    known = set(re.findall(r"^## `mooring ([a-z]+)", page(), flags=re.M))
    named = set()
    for path in PAGES:
        # Decisions and the list of issues may speak of what is still to come; guides may not.
        if "adr" not in path.parts:
            named |= set(re.findall(r"`(?:\$ )?mooring ([a-z]+)\b", path.read_text()))
    assert "up" in named
    assert named <= known


def test_every_fixture_of_the_kit_is_documented():
    text = (ROOT / "docs/how-to/test-kit.md").read_text()
    marked = [name for name, value in vars(plugin).items() if type(value).__name__ == "FixtureFunctionDefinition"]
    assert "fault_proxy" in marked
    assert not [name for name in marked if f"`{name}`" not in text]


def test_every_fault_of_the_kit_is_documented():
    text = (ROOT / "docs/how-to/test-kit.md").read_text()
    faults = [name for name, value in vars(FaultProxy).items() if callable(value) and not name.startswith("_")]
    assert "cut_after_write" in faults
    assert not [name for name in faults if f"{name}(" not in text and name != "heal"]


def test_the_makefile_words_in_the_pages_exist():
    words = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    named = set().union(*(re.findall(r"(?:`|\$ )make ([a-z]+)", path.read_text()) for path in PAGES))
    assert {"up", "test"} <= named
    assert named <= words


def test_every_reason_of_scheduling_is_explained():
    text = (ROOT / "docs/concepts/scheduling.md").read_text()
    assert not [reason for reason in Reason if f"`{reason}`" not in text]


def known_traits():
    return set(re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/reference/traits.md").read_text(), flags=re.M))


def test_the_traits_of_our_own_purposes_are_known_ones():
    used = {wish["trait"] for purpose in first_purposes() for wish in purpose["spec"].get("traits", ())}
    assert used
    assert used <= known_traits()


async def test_the_traits_of_built_in_providers_are_known_ones():
    config = LocalConfig(
        metadata=Metadata(name="plain"), spec=LocalConfigSpec(provider_ref=LocalReference(name="local"))
    )
    family = ExternalConfig(
        metadata=Metadata(name="plain"), spec=ExternalConfigSpec(provider_ref=LocalReference(name="external"))
    )
    offered = {
        "local": offer(config, {"1.36.4": None}).traits,
        "external": (await ExternalProvider().profiles(family))[0].traits,
    }
    assert set(offered) == set(known_providers()), "whoever adds a provider adds what it offers here"
    assert offered["local"]
    assert not offered["external"], "only its owner knows what a cluster from elsewhere has"
    assert set().union(*offered.values()) <= known_traits()

"""Providers are found by the entry points of installed packages, ours and others' alike."""

from __future__ import annotations

import sys

import pytest

from mooring.providers.registry import BrokenProvider, NoSuchProvider, known_providers, provider_class

MODULE = """
from mooring.providers.sdk import Provider
from toy_provider import ToyProvider

class HalfProvider(Provider):
    config = ToyProvider.config

    async def profiles(self, config):
        return []

not_a_provider = 5
"""

POINTS = """[mooring.providers]
toy = wooden:ToyProvider
half = wooden:HalfProvider
number = wooden:not_a_provider
lost = wooden:NoSuchThing
broken = wooden.splinters:Anything
"""


@pytest.fixture
def wooden(tmp_path, monkeypatch):
    """An installed package with providers, good ones and others."""
    (tmp_path / "wooden.py").write_text(MODULE)
    metadata = tmp_path / "wooden_toys-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: wooden-toys\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("wooden", None)


@pytest.mark.usefixtures("wooden")
def test_a_provider_is_found():
    from toy_provider import ToyProvider

    assert provider_class("toy") is ToyProvider
    assert {"toy", "half", "broken"} <= set(known_providers())


@pytest.mark.usefixtures("wooden")
def test_the_known_ones_are_listed():
    with pytest.raises(NoSuchProvider, match=r"no provider 'plastic'; known are: .*toy"):
        provider_class("plastic")


@pytest.mark.usefixtures("wooden")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", "cannot be imported"),
        ("lost", "cannot be imported"),
        ("number", "no subclass"),
        ("half", "lacks admin_access, delete, ensure"),
    ],
)
def test_what_is_wrong_and_whose_fault_it_is(name, words):
    with pytest.raises(BrokenProvider, match=words) as error:
        provider_class(name)
    assert "wooden-toys" in str(error.value)

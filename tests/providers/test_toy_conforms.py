"""The toy of 60 lines keeps the whole contract, with no more rights than it asks for."""

from __future__ import annotations

import pytest
from toy_provider import ToyConfig

from mooring.providers.__main__ import main
from mooring.testing.builders import an_object
from mooring.testing.conformance import Outcome

BOX = an_object(ToyConfig, "box", spec={"providerRef": {"name": "whoever"}, "versions": ["1.33.3", "1.34.0"]})


async def test_the_toy_conforms(conformance):
    report = await conformance("toy_provider:ToyProvider", configs=[BOX])
    report.raise_for_failures()
    assert report.named(Outcome.FAILED) == []
    assert report.named(Outcome.SKIPPED) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Name a provider first"),
        (["--help"], "Name a provider first"),
        (["nobody", "init"], "There is no provider 'nobody'"),
        (["toy_provider:Nothing", "init"], "has no 'Nothing'"),
        (["local", "init"], "cannot be made without arguments"),
    ],
)
def test_who_cannot_be_run_by_name_is_told_why(words, sentence):
    with pytest.raises(SystemExit, match=sentence):
        main(words)


def test_a_provider_by_its_name_is_its_program(capsys):
    with pytest.raises(SystemExit) as end:
        main(["toy_provider:ToyProvider", "run", "--provider-name=toys"])
    assert end.value.code == 2
    assert "--environment" in capsys.readouterr().err

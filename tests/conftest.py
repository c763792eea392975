"""All tests use the shipped test kit, as a provider author's tests would; ``landscape_kit`` has what is ours alone."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

# Whoever runs the tests in the background has Ctrl-C ignored, and so would have every process that the tests start
# and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["mooring.testing.plugin", "landscape_kit"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Write the golden files anew instead of comparing.")


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Callable[[Path, str], None]:
    """Compares a text with the file that holds what it should be; with --update-golden, writes the file."""

    def compare(path: Path, text: str) -> None:
        if pytestconfig.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; see --update-golden"

    return compare

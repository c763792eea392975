"""Where landscapes are kept, and what they may be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.app.settings import SettingError, data_directory, place


@pytest.mark.parametrize("name", ["default", "a", "a-b", "7", "a" * 40])
def test_names(name: str, tmp_path: Path) -> None:
    assert place(name, tmp_path).directory == tmp_path / name


@pytest.mark.parametrize("name", ["", "A", "a_", "-a", "a-", "../x", "a/b", ".", "a" * 41, "a\n", "ä"])
def test_what_cannot_be_a_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be the name of a landscape"):
        place(name, tmp_path)


def test_the_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value, expected in (("/data", Path("/data")), ("relative", tmp_path / ".local/share"), ("", None)):
        monkeypatch.setenv("XDG_DATA_HOME", value)
        assert data_directory() == (expected or tmp_path / ".local/share") / "mooring" / "landscapes"


def test_a_home_that_nobody_has_is_a_setting_that_makes_no_sense() -> None:
    with pytest.raises(SettingError, match="Give a directory with --dir"):
        place("default", Path("~nobody-of-that-name/x"))

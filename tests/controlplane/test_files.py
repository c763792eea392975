"""Files of a landscape: whole or not at all, private, and a clear sentence where that cannot be."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from landscape_kit import until
from mooring.controlplane.errors import StateError
from mooring.controlplane.files import (
    private_directory,
    read_private,
    read_state,
    remove_tree,
    write_private,
    write_state,
)

_WRITER = """
import sys
from pathlib import Path
from mooring.controlplane.files import write_private
path, letters = Path(sys.argv[1]), b"ab"
while True:
    for letter in letters:
        write_private(path, bytes([letter]) * 200_000)
"""


class Pair(msgspec.Struct):
    left: int
    right: int = 2


def test_a_file_is_private_and_its_content_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["secret"]  # no draft is left


def test_unchanged_content_is_not_written_again_but_a_loose_mode_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_private(path, b"same")
    first = path.stat().st_ino
    write_private(path, b"same")
    assert path.stat().st_ino == first
    path.chmod(0o640)
    write_private(path, b"same")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_writer_that_is_killed_leaves_the_old_or_the_new_content(tmp_path: Path) -> None:
    path, dice = tmp_path / "state", random.Random(7)
    for _ in range(5):
        path.unlink(missing_ok=True)
        with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)]) as writer:
            until(path.exists, "it writes")
            for _ in range(dice.randint(0, 40)):
                content = path.read_bytes()
                assert content in (b"a" * 200_000, b"b" * 200_000)
            writer.kill()
        assert path.read_bytes() in (b"a" * 200_000, b"b" * 200_000)


def test_directories_are_private_and_so_are_those_above_that_had_to_be_made(tmp_path: Path) -> None:
    made = private_directory(tmp_path / "a" / "b")
    assert made.stat().st_mode & 0o777 == 0o700
    assert made.parent.stat().st_mode & 0o777 == 0o700
    made.chmod(0o755)
    assert private_directory(made).stat().st_mode & 0o777 == 0o700


def test_state_files_are_readable_for_people_and_read_back(tmp_path: Path) -> None:
    write_state(tmp_path / "pair.json", Pair(left=1))
    assert (tmp_path / "pair.json").read_text() == '{\n  "left": 1,\n  "right": 2\n}\n'
    assert read_state(tmp_path / "pair.json", Pair) == Pair(left=1)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"left": "one"}', b"\xff\xfe", b'{"right": 1}'])
def test_a_damaged_state_file_is_named_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pair.json"
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"pair\.json is damaged .* 'mooring down --purge'"):
        read_state(path, Pair)


def test_what_cannot_be_read_written_or_removed_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateError, match="missing is missing"):
        read_private(tmp_path / "missing")
    with pytest.raises(StateError, match=f"Cannot read {tmp_path}: Is a directory"):
        read_private(tmp_path)
    with pytest.raises(StateError, match=r"Cannot write .*file/below: Not a directory"):
        write_private(tmp_path / "file" / "below", b"")
    with pytest.raises(StateError, match=r"Cannot create the directory .*file: File exists"):
        private_directory(tmp_path / "file")
    with pytest.raises(StateError, match=r"Cannot remove .*file: Not a directory"):
        remove_tree(tmp_path / "file")
    remove_tree(tmp_path / "missing")

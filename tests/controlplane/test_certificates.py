"""Authorities stay, what they sign is renewed, and damage is named or mended."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from mooring.controlplane import certificates
from mooring.controlplane.certificates import COMPONENT_MARGIN, Authority, ensure_authority, ensure_client
from mooring.controlplane.errors import StateError


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return ensure_authority(tmp_path, "test")


def _pair(directory: Path) -> tuple[bytes, bytes]:
    return (directory / "one.crt").read_bytes(), (directory / "one.key").read_bytes()


def _certificate(directory: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((directory / "one.crt").read_bytes())


def test_an_authority_is_made_once(authority: Authority, tmp_path: Path) -> None:
    again = ensure_authority(tmp_path, "test")
    assert again.pem == authority.pem
    assert all((tmp_path / name).stat().st_mode & 0o777 == 0o600 for name in ("ca.crt", "ca.key"))


def test_an_authority_whose_making_was_interrupted_is_made_anew(tmp_path: Path) -> None:
    first = ensure_authority(tmp_path, "test")
    (tmp_path / "ca.crt").unlink()  # it is written last
    assert ensure_authority(tmp_path, "test").pem != first.pem


@pytest.mark.parametrize("name", ["ca.crt", "ca.key"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff"])
def test_a_damaged_authority_is_named_and_never_replaced(tmp_path: Path, name: str, content: bytes) -> None:
    ensure_authority(tmp_path, "test")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StateError, match=f"{name} does not hold what belongs there"):
        ensure_authority(tmp_path, "test")
    assert (tmp_path / name).read_bytes() == content


def test_a_key_of_another_authority_is_named(authority: Authority, tmp_path: Path) -> None:
    other = ensure_authority(tmp_path / "..", "other")
    (tmp_path / "ca.key").write_bytes(certificates.private_pem(other.key))
    with pytest.raises(StateError, match=r"ca\.key does not hold"):
        certificates.load_authority(tmp_path)


def test_who_only_looks_makes_no_authority(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"ca\.crt is missing"):
        certificates.load_authority(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_good_certificate_is_kept_and_one_about_to_run_out_is_renewed(authority: Authority, tmp_path: Path) -> None:
    for left, kept in ((datetime.timedelta(days=1), True), (-datetime.timedelta(days=1), False)):
        issued = authority.client("somebody", lifetime=COMPONENT_MARGIN + left)
        (tmp_path / "one.crt").write_bytes(issued.certificate)
        (tmp_path / "one.key").write_bytes(issued.key)
        before = _pair(tmp_path)
        ensure_client(authority, tmp_path, "one", "somebody")
        assert (_pair(tmp_path) == before) is kept
    renewed = _certificate(tmp_path)
    renewed.verify_directly_issued_by(authority.certificate)
    assert renewed.subject.rfc4514_string() == "CN=somebody"
    assert renewed.not_valid_after_utc - datetime.datetime.now(datetime.UTC) > COMPONENT_MARGIN
    key = serialization.load_pem_private_key((tmp_path / "one.key").read_bytes(), password=None)
    assert key.public_key() == renewed.public_key()


@pytest.mark.parametrize("name", ["one.crt", "one.key"])
@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_a_damaged_or_halved_pair_is_issued_again(
    authority: Authority, tmp_path: Path, name: str, content: bytes | None
) -> None:
    ensure_client(authority, tmp_path, "one", "somebody")
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ensure_client(authority, tmp_path, "one", "somebody")
    key = serialization.load_pem_private_key((tmp_path / "one.key").read_bytes(), password=None)
    assert key.public_key() == _certificate(tmp_path).public_key()


def test_a_certificate_of_another_authority_is_issued_again(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ensure_client(ensure_authority(tmp_path / "other", "test"), tmp_path, "one", "somebody")
    ensure_client(authority, tmp_path, "one", "somebody")
    _certificate(tmp_path).verify_directly_issued_by(authority.certificate)


def test_the_nameless_have_no_common_name_and_keys_do_not_show(authority: Authority) -> None:
    issued = authority.client(None, "mooring")
    assert x509.load_pem_x509_certificate(issued.certificate).subject.rfc4514_string() == "O=mooring"
    assert "PRIVATE" not in repr(issued)

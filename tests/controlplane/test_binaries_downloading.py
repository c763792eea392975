"""Releases, asked from a loopback stand-in: what is accepted, what is refused, and what two at once do."""

from __future__ import annotations

import datetime
import ipaddress
import os
import socket
import ssl
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import binaries_kit
import pytest
from binaries_kit import (
    ALPHA,
    BETA_FILE,
    BETA_FOLDER,
    VERSION,
    Recorder,
    archive_of,
    member,
    script,
    standing_in,
    toolset_at,
    write_recipe,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mooring.controlplane.binaries import Means, Source, fetch_binaries
from mooring.controlplane.binarycache import cache_directory
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.progress import Unit
from mooring.controlplane.toolsets import Toolset, read_recipe


@pytest.fixture
def toolset(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("MOORING_BINARIES", "KUBEBUILDER_ASSETS", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    return toolset_at(write_recipe(tmp_path / "recipe"))


@pytest.fixture
def stand_in(toolset, monkeypatch):
    with standing_in() as server:
        monkeypatch.setenv("MOORING_RELEASES", server.address)
        yield server


def refusal(toolset: Toolset) -> str:
    """What is said when only downloads are allowed and they do not do."""
    with pytest.raises(BinariesError) as caught:
        fetch_binaries(toolset, progress=Recorder(), means=Means.DOWNLOAD)
    directory = cache_directory(toolset, read_recipe(toolset))
    assert not (directory / ".partial").exists(), "nothing half-done stays"
    return str(caught.value)


def test_both_forms_of_a_release_are_downloaded_and_run(toolset, stand_in):
    recorder = Recorder()
    found = fetch_binaries(toolset, progress=recorder, means=Means.DOWNLOAD)
    for name in ("alpha", "beta"):
        assert found.programs[name].source is Source.DOWNLOADED
        assert subprocess.check_output([found.path(name)], text=True) == f"{name} {VERSION}\n"
    assert [step.split(":")[0] for step in recorder.steps] == [f"alpha {VERSION}", f"beta {VERSION}"]
    size = len(script("alpha"))
    assert (size, size, Unit.BYTES) in recorder.advances


def test_a_second_fetch_asks_nobody(toolset, stand_in):
    first = fetch_binaries(toolset, progress=Recorder())
    stand_in.requests.clear()
    recorder = Recorder()
    assert fetch_binaries(toolset, progress=recorder) == first
    assert (stand_in.requests, recorder) == ([], Recorder())


def test_a_wrong_checksum_is_refused_and_what_was_right_stays(toolset, stand_in):
    stand_in.files[ALPHA] = script("alpha", "v6.6.6")
    said = refusal(toolset)
    assert "Cannot get alpha:" in said
    assert "sha256" in said
    directory = cache_directory(toolset, read_recipe(toolset))
    assert not (directory / "alpha").exists()
    assert (directory / "beta").exists()


def test_a_body_that_breaks_off_is_refused(toolset, stand_in):
    stand_in.cut_after[ALPHA] = 7
    assert f"broke off after 7 of {len(script('alpha'))} bytes" in refusal(toolset)


@pytest.mark.parametrize("path", [ALPHA, f"{ALPHA}.sha256"])
def test_a_release_that_is_not_there_is_named(toolset, stand_in, path):
    del stand_in.files[path]
    said = refusal(toolset)
    assert f"{stand_in.address}/{path}: 404" in said
    assert "MOORING_RELEASES" in said


@pytest.mark.parametrize("sums", [b"", b"not a sum\n", b"0" * 64 + b"  something-else\n"])
def test_a_checksum_file_without_ours_is_refused(toolset, stand_in, sums):
    stand_in.files[f"{BETA_FOLDER}/SHA256SUMS"] = sums
    assert f"holds no sha256 for {BETA_FILE}" in refusal(toolset)


def test_a_moved_release_is_followed(toolset, stand_in):
    stand_in.files["elsewhere"] = stand_in.files.pop(ALPHA)
    stand_in.moved[ALPHA] = f"{stand_in.address}/elsewhere"
    assert fetch_binaries(toolset, progress=Recorder(), means=Means.DOWNLOAD).path("alpha").is_file()


@pytest.fixture
def tls(tmp_path, monkeypatch) -> ssl.SSLContext:
    """A server's side of TLS on loopback, with a certificate that this test alone trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stand-in")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(hours=1))
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "both.pem").write_bytes(key.private_bytes(*form) + certificate)
    (tmp_path / "trusted.pem").write_bytes(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    return context


def test_a_redirect_out_of_https_is_refused(toolset, stand_in, tls, monkeypatch):
    with standing_in(tls) as safe:
        monkeypatch.setenv("MOORING_RELEASES", safe.address)
        safe.moved[ALPHA] = f"{stand_in.address}/{ALPHA}"
        said = refusal(toolset)
    assert "Cannot get alpha:" in said, "beta, which stayed within https, was fetched"
    assert "https to http is refused" in said
    assert stand_in.requests == []


def test_a_hostile_archive_writes_nowhere_else(toolset, stand_in, tmp_path):
    evil = [member(name, b"evil") for name in ("../../evil", str(tmp_path / "evil"), f"beta-{VERSION}/../../evil")]
    stand_in.publish_beta(archive_of(*evil, member(f"beta-{VERSION}/beta", script("beta"))))
    found = fetch_binaries(toolset, progress=Recorder(), means=Means.DOWNLOAD)
    assert found.path("beta").read_bytes() == script("beta")
    assert not list(tmp_path.rglob("*evil*"))


def link_to_passwd() -> bytes:
    info = tarfile.TarInfo(f"beta-{VERSION}/beta")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return archive_of((info, b""))


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        (link_to_passwd(), "not a regular file"),
        (archive_of(member("another", b"")), "no readable"),
        (b"no archive at all", "no readable"),
        (archive_of(member(f"beta-{VERSION}/beta", os.urandom(5000)))[:2000], "no readable"),
    ],
    ids=["link", "absent", "garbage", "truncated"],
)
def test_an_archive_without_the_program_is_refused(toolset, stand_in, archive, words):
    stand_in.publish_beta(archive)
    assert words in refusal(toolset)


def test_a_host_that_does_not_answer_is_given_up_soon_and_asked_once(toolset, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("MOORING_RELEASES", f"http://127.0.0.1:{port}")
    began = time.monotonic()
    said = refusal(toolset)
    assert said.count("Connection refused") == 1
    assert time.monotonic() - began < 5


def test_a_mirror_that_is_no_address_is_refused(toolset, monkeypatch):
    monkeypatch.setenv("MOORING_RELEASES", "/srv/mirror")
    assert "should begin with https://" in refusal(toolset)


def process_that_fetches(toolset: Toolset) -> subprocess.Popen[str]:
    command = [sys.executable, Path(binaries_kit.__file__), toolset.recipe_directory, "download"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_of_two_processes_one_downloads_and_the_other_says_whom_it_waits_for(toolset, stand_in):
    stand_in.hold.clear()  # No answer before both of them are at it.
    with process_that_fetches(toolset) as first:
        while not stand_in.requests:
            assert first.poll() is None
            time.sleep(0.01)
        with process_that_fetches(toolset) as second:
            told = second.stderr.readline()
            assert "Waiting" in told
            assert f"process {first.pid}, since 20" in told
            stand_in.hold.set()
            outputs = [process.communicate(timeout=30)[0] for process in (first, second)]
    assert outputs[0] == outputs[1] != ""
    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted(stand_in.requests) == sorted(set(stand_in.requests)), "each file was asked for once"


def test_a_killed_process_leaves_drafts_that_the_next_one_clears(toolset, stand_in):
    stand_in.hold.clear()
    with process_that_fetches(toolset) as killed:
        while not stand_in.requests:
            time.sleep(0.01)
        killed.kill()
    directory = cache_directory(toolset, read_recipe(toolset))
    (directory / ".partial" / "alpha.download").write_bytes(b"half")
    stand_in.hold.set()
    fetch_binaries(toolset, progress=Recorder(), means=Means.DOWNLOAD)
    assert sorted(path.name for path in directory.iterdir()) == ["alpha", "beta", "manifest.json"]

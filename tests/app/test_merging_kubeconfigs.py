"""Merging into a user's kubeconfig: nothing of theirs is lost, whatever the file looks like."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mooring.api.kubeconfigs import ClientCertificate, Document, kubeconfig
from mooring.app.kubeconfigs import merge_into, user_kubeconfig
from mooring.app.settings import SettingError

THEIRS = """\
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- {name: zebra, cluster: {server: https://zebra}}
- {name: mooring, cluster: {server: https://old}}
- {name: ape, cluster: {server: https://ape}}
users:
- {name: me, user: {exec: {command: login, apiVersion: client.authentication.k8s.io/v1, args: ["--größe"]}}}
contexts:
- {name: zebra, context: {cluster: zebra, user: me, namespace: stripes}}
current-context: zebra
"""


def ours(name: str = "mooring") -> Document:
    certificate = ClientCertificate(certificate=b"certificate", key=b"key")
    return kubeconfig(name=name, server="https://new", ca=b"ca", user="mooring-admin", certificate=certificate)


def _names(document: Document, section: str) -> list[str]:
    return [one["name"] for one in document[section]]


def test_other_entries_and_their_order_stay(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(THEIRS)
    merge_into(path, ours())
    before, after = yaml.safe_load(THEIRS), yaml.safe_load(path.read_text())
    assert _names(after, "clusters") == ["zebra", "mooring", "ape"]
    assert after["clusters"][1]["cluster"]["server"] == "https://new"
    assert [after["clusters"][0], after["clusters"][2]] == [before["clusters"][0], before["clusters"][2]]
    assert after["users"][0] == before["users"][0]
    assert after["contexts"][0] == before["contexts"][0]
    assert after["preferences"] == before["preferences"]
    assert after["current-context"] == "mooring"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]  # neither lock nor draft is left

    merge_into(path, ours())  # again changes nothing
    assert yaml.safe_load(path.read_text()) == after


def test_two_landscapes_keep_their_own_credentials(tmp_path: Path) -> None:
    path = tmp_path / "config"
    merge_into(path, ours("mooring"))
    merge_into(path, ours("mooring-other"))
    merged = yaml.safe_load(path.read_text())
    users = {one["context"]["user"] for one in merged["contexts"]}
    assert len(users) == 2
    assert users == set(_names(merged, "users"))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "config"
    target.write_text(THEIRS)
    link.symlink_to(target)
    merge_into(link, ours())
    assert link.is_symlink()
    assert "mooring" in _names(yaml.safe_load(target.read_text()), "contexts")


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"- a list",
        b"word",
        b"clusters: {}",
        b"users: [word]",
        b"contexts: [{name: [1]}]",
        b"\xff\xfe\xff",
        b"a: b: c",
    ],
)
def test_what_is_no_kubeconfig_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(SettingError, match="It was left as it is"):
        merge_into(path, ours())
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_or_missing_file_is_a_beginning(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for path in (tmp_path / "empty", tmp_path / "new" / "config"):
        merge_into(path, ours())
        assert yaml.safe_load(path.read_text())["current-context"] == "mooring"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="Give another file with --kubeconfig"):
        merge_into(tmp_path / "file" / "config", ours())


def test_merges_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(THEIRS)
    merging = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from pathlib import Path; from test_merging_kubeconfigs import merge_into, ours;"
        "[merge_into(Path(sys.argv[2]), ours(f'mooring-{sys.argv[3]}-{n}')) for n in range(15)]"
    )
    here = str(Path(__file__).parent)
    writers = [subprocess.Popen([sys.executable, "-c", merging, here, str(path), str(number)]) for number in range(2)]
    assert [writer.wait(90) for writer in writers] == [0, 0]
    names = set(_names(yaml.safe_load(path.read_text()), "contexts"))
    assert names == {"zebra"} | {f"mooring-{number}-{n}" for number in range(2) for n in range(15)}


def test_where_kubectl_would_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert user_kubeconfig() == tmp_path / ".kube" / "config"
    monkeypatch.setenv("KUBECONFIG", ":/first:/second")
    assert user_kubeconfig() == Path("/first")

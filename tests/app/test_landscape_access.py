"""The main job, whole: what ``make up`` does on a fresh clone, and then what people do with access."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from mooring.kube import Client, load_connection, untyped
from mooring.kube.errors import Forbidden, Unauthorized
from mooring.testing.managers import until as until_async

ROOT = Path(__file__).parents[2]
NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
SECRETS = untyped(plural="secrets", kind="Secret")


async def may(kubeconfig, resource):
    """Whether the holder may list such things: True, False, or None if it is not let in at all."""
    async with Client(load_connection(kubeconfig)) as client:
        try:
            await client.list(resource)
        except Forbidden:
            return False
        except Unauthorized:
            return None
        return True


def made(mooring, word, kubeconfig):
    """A word of the Makefile, on a landscape of the test's own."""
    environment = {**os.environ, "MOORING_DIR": str(mooring.parent), "MOORING_LANDSCAPE": mooring.name}
    ended = subprocess.run(
        ["make", "--no-print-directory", "-C", str(ROOT), word, f"MINE={kubeconfig}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, ended
    return ended.stdout


async def test_make_up_ends_with_a_cluster_of_ones_own(mooring, tmp_path):
    mine = tmp_path / "mine.kubeconfig"
    said = made(mooring, "up", mine)
    # What the README shows, but for numbers.
    assert "clusterrequest mine is created in the namespace default." in said
    assert said.endswith(
        f"Context 'mooring-mine' is now the current one of {mine}.\n\n"
        f"  export KUBECONFIG={mine}\n  kubectl get namespaces\n"
    )
    shown = _shape((ROOT / "README.md").read_text(encoding="utf-8"))
    for line in filter(None, map(str.strip, said.splitlines())):
        if ".venv/bin" not in line and str(tmp_path) not in line:
            assert _shape(line) in shown, f"the README does not show: {line}"

    assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert await may(mine, NAMESPACES)
    assert await may(mine, SECRETS) is False

    def entries():
        return json.loads(mooring.run("access", "list", "-o", "json").out)["items"]

    (entry,) = entries()
    name = entry["metadata"]["name"]
    table = mooring.run("access", "list").out
    assert "get,list,create,delete:namespaces,configmaps" in table
    # A second time nothing is made anew but the token, and that of before ends.
    before = mine.read_bytes()
    old = tmp_path / "old.kubeconfig"
    old.write_bytes(before)
    assert "clusterrequest mine is there already" in made(mooring, "up", mine)
    assert await may(mine, NAMESPACES)
    assert len(entries()) == 1

    no_administrator_is_at_rest(mooring.directory)

    mooring.run("access", "rotate", name, "--wait")
    fresh = tmp_path / "fresh.kubeconfig"
    fresh.write_text(mooring.run("access", "kubeconfig", name).out)
    assert await may(fresh, NAMESPACES)
    mooring.run("access", "revoke", name, "--wait")
    for one in (old, mine, fresh):
        await _until_refused(one)
    assert "Revoked" in mooring.run("access", "list", "-o", "wide").out
    assert "is revoked, and has no token to rotate" in mooring.run("access", "rotate", name, code=1).err
    mooring.run("access", "revoke", name, "--undo", "--wait")
    cluster = entry["spec"]["clusterRef"]["name"]
    mooring.run("kubeconfig", cluster, "--role", "view", "--kubeconfig", str(fresh))
    assert await may(fresh, NAMESPACES)
    assert await may(fresh, SECRETS) is False

    # What names the request goes with it; what names the cluster can be deleted when that is gone.
    mooring.run("request", "delete", "mine", "--wait")
    (left,) = entries()
    assert "requestRef" not in left["spec"]
    mooring.run("access", "delete", left["metadata"]["name"], "--wait")
    assert entries() == []


# A private key as it is, and as base64 shows it at each of the three places it can begin at.
KEYS = (b"PRIVATE KEY-----", b"UFJJVkFURSBLRV", b"BSSVZBVEUgS0VZ", b"QUklWQVRFIEtFW")


def no_administrator_is_at_rest(directory):
    """On disk, which includes what etcd has stored, and in logs; but for the authorities themselves, and for what the
    controller managers need to start. Those are no administrators, and no certificate here is one's."""
    # The kubeconfig of the landscape was never asked for in this test, so it is not there either.
    holding = {
        path.relative_to(directory)
        for path in directory.rglob("*")
        if path.is_file() and any(key in (content := path.read_bytes()) for key in KEYS) and content
    }
    pki = {path for path in holding if path.parent.name == "pki"}
    managers = {path for path in holding if path.name == "kube-controller-manager.kubeconfig"}
    assert holding == pki | managers
    assert {path.name for path in pki} == {
        "ca.key",
        "server.key",
        "nameless.key",  # etcd's, for its own gateway
        "etcd-client.key",
        "service-accounts.key",
        "kube-controller-manager.key",
    }
    for path in directory.rglob("*.crt"):
        (names,) = [one.subject for one in x509.load_pem_x509_certificates(path.read_bytes())]
        groups = [one.value for one in names.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        assert "system:masters" not in groups, path
    for path in (*holding, *map(Path, ("etcd/root.password",))):
        assert stat.S_IMODE((directory / path).stat().st_mode) == 0o600, path


async def _until_refused(kubeconfig):
    async def is_refused():
        return await may(kubeconfig, NAMESPACES) is None

    await until_async(is_refused, "the token is refused")


def _shape(text):
    """Without what differs from one time to the next."""
    return re.sub(r"mcp-[a-z0-9]{8}|[0-9.]+", "#", text)

"""The main job, whole: what ``make up`` does on a fresh clone, and then what people do with access."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

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


async def _until_refused(kubeconfig):
    async def is_refused():
        return await may(kubeconfig, NAMESPACES) is None

    await until_async(is_refused, "the token is refused")


def _shape(text):
    """Without what differs from one time to the next."""
    return re.sub(r"mcp-[a-z0-9]{8}|[0-9.]+", "#", text)

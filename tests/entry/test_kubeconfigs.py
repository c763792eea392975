"""What an entrant gets in the hand works with kubectl, and holds no more than it should."""

import asyncio
import base64
import json
import os

from entry_kit import an_entrant, new_namespace, oidc, reading, token
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.entry.closing import close
from mooring.entry.doors import token_door
from mooring.entry.kubeconfigs import oidc_kubeconfig, token_kubeconfig
from mooring.entry.opening import make
from mooring.entry.tokens import issue
from mooring.testing.builders import CONFIG_MAPS, config_map
from mooring.testing.managers import until


async def kubectl(landscape, file, *words):
    """Its exit code and all that it printed."""
    program = str(landscape.binaries.path("kubectl"))
    environment = {"PATH": os.defpath, "HOME": str(file.parent)}
    process = await asyncio.create_subprocess_exec(
        program,
        f"--kubeconfig={file}",
        *words,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return process.returncode, out.decode()


async def test_kubectl_enters_with_a_token(landscape, own_plane, own_kube, tmp_path):
    place = await new_namespace(own_kube)
    await own_kube.create(CONFIG_MAPS, config_map("one", place, {"word": "mooring"}))
    door = token_door(an_entrant(), token(permissions=[reading(namespace=place)]), accounts=place)
    await make(own_kube, door)
    issued = await issue(own_kube, door, accounts=place, lifetime=3600.0, now=0.0)
    document = token_kubeconfig(server=own_plane.server, ca=own_plane.ca, user="local", token=issued.token)
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(document))

    async def reads_it():
        return await kubectl(
            landscape, file, "get", "configmap", "one", "-n", place, "-o", "jsonpath={.data.word}"
        ) == (0, "mooring")

    await until(reads_it, "kubectl may read it")
    code, said = await kubectl(landscape, file, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    assert (code, said) == (0, f"system:serviceaccount:{place}:{door.account}")
    code, said = await kubectl(landscape, file, "get", "secrets", "-n", place)
    assert code != 0
    assert "Forbidden" in said
    await close(own_kube, door.entrant, accounts=place)


async def test_kubectl_reads_what_is_for_an_identity_provider(landscape, tmp_path):
    """As far as starting the program: whichever one that would be, kubectl understood the whole document."""
    document = oidc_kubeconfig(server="https://127.0.0.1:1", ca=None, wish=oidc(), context="a--b--corp")
    document["users"][0]["user"]["exec"]["command"] = "there-is-no-such-program"
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(document))
    code, said = await kubectl(landscape, file, "get", "pods")
    assert code != 0
    assert "executable there-is-no-such-program not found" in said


def test_a_token_kubeconfig_by_value():
    document = token_kubeconfig(server="https://x:1", ca=b"pem", user="local", token="secret")
    assert document == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "cluster",
                "cluster": {"server": "https://x:1", "certificate-authority-data": base64.b64encode(b"pem").decode()},
            }
        ],
        "users": [{"name": "local", "user": {"token": "secret"}}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "local"}}],
        "current-context": "cluster",
    }


def test_an_oidc_kubeconfig_by_value():
    wish = oidc(extraScopes=["email", "groups", "email"])
    document = oidc_kubeconfig(server="https://x:1", ca=None, wish=wish, context="team--one--corp")
    assert document == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": {"server": "https://x:1"}}],
        "users": [
            {
                "name": "corp",
                "user": {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "kubectl",
                        "args": [
                            "oidc-login",
                            "get-token",
                            "--oidc-issuer-url=https://id.example.dev",
                            "--oidc-client-id=mooring",
                            "--oidc-extra-scope=email",
                            "--oidc-extra-scope=groups",
                        ],
                        "interactiveMode": "IfAvailable",
                        "provideClusterInfo": False,
                    }
                },
            }
        ],
        "contexts": [{"name": "team--one--corp", "context": {"cluster": "cluster", "user": "corp"}}],
        "current-context": "team--one--corp",
    }


@settings(deadline=None, derandomize=True)
@given(issuer=st.text(), client=st.text(), scopes=st.lists(st.text(), max_size=3))
def test_whatever_is_asked_for_stays_one_argument_of_a_fixed_flag(issuer, client, scopes):
    """No shell reads it, and nothing in it becomes another flag or another program."""
    wish = oidc(issuer=issuer, clientID=client, extraScopes=scopes)
    program = oidc_kubeconfig(server="https://x", ca=None, wish=wish, context="c")["users"][0]["user"]["exec"]
    assert program["command"] == "kubectl"
    flags = ["--oidc-issuer-url", "--oidc-client-id", *(["--oidc-extra-scope"] * len(set(scopes)))]
    assert program["args"][:2] == ["oidc-login", "get-token"]
    assert [argument.split("=", 1)[0] for argument in program["args"][2:]] == flags
    assert "env" not in program

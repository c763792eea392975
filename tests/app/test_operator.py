"""``mooring install`` and ``mooring run`` on a real control plane, with the operator's own rights and no others."""

import asyncio
import json
import signal
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from mooring.api.crds import KINDS
from mooring.app.installing import GROUP, NAMESPACE, Part, everything, install_everything
from mooring.kube import Client, MergePatch, connection_from_document, typed, untyped
from mooring.runtime.leader import LEASES

MOORING = Path(sys.executable).with_name("mooring")
REVIEWS = untyped(
    group="authorization.k8s.io", plural="subjectaccessreviews", kind="SubjectAccessReview", namespaced=False
)


async def mooring(*words, **environment):
    process = await asyncio.create_subprocess_exec(
        MOORING, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment or None
    )
    output, errors_ = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode, output.decode(), errors_.decode()


@pytest.fixture
async def admin(control_plane):
    async with Client(connection_from_document(control_plane.admin_kubeconfig(name="admin"))) as client:
        yield client


@pytest.fixture
def admin_file(control_plane, tmp_path):
    path = tmp_path / "admin.kubeconfig"
    path.write_text(json.dumps(control_plane.admin_kubeconfig(name="admin")))
    return path


@pytest.fixture
def operator_file(control_plane, tmp_path):
    path = tmp_path / "operator.kubeconfig"
    document = control_plane.kubeconfig(name="operator", user="mooring", groups=(GROUP,))
    path.write_text(json.dumps(document))
    return path


@asynccontextmanager
async def running(*words):
    process = await asyncio.create_subprocess_exec(MOORING, "run", *words, stderr=asyncio.subprocess.PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def eventually(question, *, seconds=120):
    async with asyncio.timeout(seconds):
        while not (answer := await question()):
            await asyncio.sleep(0.05)
        return answer


async def answer_of(port, path):
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status, await answer.text()
    except aiohttp.ClientError:
        return 0, ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def test_a_cluster_without_our_kinds_is_told_what_to_do(admin_file):
    code, _, complaint = await mooring("run", "--kubeconfig", str(admin_file), "--listen", "")
    assert code == 1
    assert "mooring install" in complaint
    assert "Traceback" not in complaint


async def test_install_then_run_with_the_operators_own_rights(admin, admin_file, operator_file):
    code, output, complaint = await mooring("install", "--kubeconfig", str(admin_file))
    assert (code, complaint) == (0, "")
    assert "is installed" in output
    for kind in KINDS:
        assert (await admin.list(typed(kind))).items == []

    port = free_port()
    async with running("--kubeconfig", str(operator_file), "--listen", f"127.0.0.1:{port}", "--json-logs") as process:

        async def leads():
            status, page = await answer_of(port, "/metrics")
            return status == 200 and "mooring_leading 1.0" in page

        await eventually(leads)

        async def ready():
            return await answer_of(port, "/readyz") == (200, "ok")

        await eventually(ready)
        lease = await admin.get(LEASES, "mooring", namespace=NAMESPACE)
        assert lease["spec"]["holderIdentity"]

        process.send_signal(signal.SIGTERM)
        logged = (await asyncio.wait_for(process.stderr.read(), 120)).decode()
        assert await process.wait() == 0

    lease = await admin.get(LEASES, "mooring", namespace=NAMESPACE)
    assert lease["spec"]["holderIdentity"] == ""
    lines = [json.loads(line) for line in logged.splitlines()]
    assert {"leading", "working"} <= {line["event"] for line in lines}
    assert not [line for line in lines if line["level"] in ("warning", "error")]


async def test_the_operator_may_not_do_anything_else(admin):
    await install_everything(admin)

    async def may(verb, group, resource, namespace="", name=""):
        asked = {"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name}
        spec = {"user": "mooring", "groups": [GROUP], "resourceAttributes": asked}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return (await admin.create(REVIEWS, body))["status"]["allowed"]

    assert await may("list", "clusters.openmcp.cloud", "clusterrequests")
    assert await may("update", "coordination.k8s.io", "leases", NAMESPACE, "mooring")
    assert not await may("update", "coordination.k8s.io", "leases", NAMESPACE, "another")
    assert not await may("update", "coordination.k8s.io", "leases", "kube-system", "mooring")
    assert await may("delete", "clusters.openmcp.cloud", "clusters", "default")
    assert not await may("delete", "clusters.openmcp.cloud", "purposes")
    assert not await may("patch", "clusters.openmcp.cloud", "clusters/status", "default")
    assert await may("patch", "clusters.openmcp.cloud", "accessrequests", "default")
    # Who deploys providers can give them anything; who does not has no such right, also if it was there before.
    rbac = "rbac.authorization.k8s.io"
    assert await may("escalate", rbac, "clusterroles")
    assert await may("create", "apps", "deployments", NAMESPACE)
    assert not await may("create", "apps", "deployments", "default")
    await install_everything(admin, {Part.SCHEDULING, Part.ACCESS})

    async def lost():
        rights = (
            await may("create", rbac, "clusterroles"),
            await may("create", "apps", "deployments", NAMESPACE),
            await may("get", "", "secrets", "default"),
        )
        return not any(rights)

    await eventually(lost)  # the server's authorizer hears of it a moment later
    assert await may("list", "clusters.openmcp.cloud", "clusterrequests")


async def test_installing_twice_changes_nothing(admin, control_plane):
    await install_everything(admin)

    async def settled():
        schema = await installed(admin, "FlowSchema", "mooring-leases")
        return schema.get("status", {}).get("conditions")

    # The server knows the priority level that the schema leads to.
    assert all(one["status"] == "False" for one in await eventually(settled) if one["type"] == "Dangling")
    sent = []
    connection = connection_from_document(control_plane.admin_kubeconfig(name="again"))
    async with Client(connection, heard=lambda verb, code, _: sent.append((verb, code))) as again:
        await install_everything(again)
    assert set(sent) == {("GET", 200)}
    assert len(sent) >= len(everything())


async def test_installing_again_mends_what_others_changed(admin):
    await install_everything(admin)
    role = await resource_of(admin, "ClusterRole")
    definition = await resource_of(admin, "CustomResourceDefinition")
    right = await installed(admin, "ClusterRole", "mooring")
    more = [*right["rules"], {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    await admin.patch(role, "mooring", MergePatch({"rules": more, "metadata": {"labels": {"whose": "theirs"}}}))
    name = KINDS[0].API.definition_name
    whole = (await installed(admin, "CustomResourceDefinition", name))["spec"]
    (version,) = whole["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    loose = {**schema, "properties": {**schema["properties"], "extra": {"type": "string"}}}
    spoiled = [{**version, "schema": {"openAPIV3Schema": loose}}]
    await admin.patch(definition, name, MergePatch({"spec": {"versions": spoiled}, "metadata": {"labels": None}}))

    await install_everything(admin)
    mended = await installed(admin, "ClusterRole", "mooring")
    assert mended["rules"] == right["rules"]
    assert mended["metadata"]["labels"] == {"whose": "theirs"}
    mended = await installed(admin, "CustomResourceDefinition", name)
    assert mended["spec"] == whole
    assert mended["metadata"]["labels"]


async def resource_of(admin, kind):
    api_version = next(one["apiVersion"] for one in everything() if one["kind"] == kind)
    return await admin.resource(api_version, kind)


async def installed(admin, kind, name, namespace=None):
    return await admin.get(await resource_of(admin, kind), name, namespace=namespace)


async def test_what_would_be_installed_can_be_printed():
    code, output, _ = await mooring("install", "--output", "yaml")
    assert code == 0
    documents = list(yaml.safe_load_all(output))
    assert documents == json.loads(json.dumps(everything()))


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1:99999", "127.0.0.1:x"])
async def test_a_bad_address_is_named(admin, admin_file, listen):
    await install_everything(admin)
    code, _, complaint = await mooring("run", "--kubeconfig", str(admin_file), "--listen", listen)
    assert code == 1
    assert listen in complaint
    assert "Traceback" not in complaint

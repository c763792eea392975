"""The whole way on an embedded landscape: from a ClusterProvider to clusters, and back to nothing."""

from __future__ import annotations

import contextlib
import datetime
import uuid

import pytest
from processes_kit import TOY, a_quayside, dead, kill
from provider_kit import condition
from toy_provider import ToyConfig, ToyProvider

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.providers import ClusterProvider
from mooring.kube import Connection
from mooring.kube.credentials import certificate_only
from mooring.kube.definitions import put
from mooring.providers.deployment.controllers import RIGHTS, add_deployment
from mooring.providers.deployment.processes import HOME_RIGHTS, Processes
from mooring.providers.sdk import init_rights_of, rights_of
from mooring.runtime import Manager
from mooring.testing.managers import at_work, until


@pytest.fixture
async def quayside(world, landscape, own_plane, tmp_path, monkeypatch):
    async with a_quayside(world, landscape, own_plane, tmp_path) as quayside:
        monkeypatch.setenv("MOORING_PROVIDERS", str(quayside.programs))
        yield quayside


@pytest.fixture
async def deployer(world, own_plane):
    """A connection that may do what the deployment says that it needs, and no more."""
    name, api = f"deployer-{uuid.uuid4().hex[:8]}", "rbac.authorization.k8s.io"
    subjects = [{"kind": "Group", "apiGroup": api, "name": name}]
    documents = []
    for kind, rules, where in (
        ("ClusterRole", RIGHTS, {}),
        ("Role", HOME_RIGHTS, {"namespace": world.namespace}),
    ):
        metadata, role = {"name": name, **where}, {"kind": kind, "apiGroup": api, "name": name}
        documents += [
            {"apiVersion": f"{api}/v1", "kind": kind, "metadata": metadata, "rules": rules},
            {
                "apiVersion": f"{api}/v1",
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": role,
                "subjects": subjects,
            },
        ]
    for document in documents:
        await put(world.kube, document)
    certificate = own_plane.client_certificate("deployer", name, lifetime=datetime.timedelta(hours=1))
    yield Connection(server=own_plane.server, ca=own_plane.ca, credentials=certificate_only(certificate))
    for document in documents:
        resource = await world.kube.resource(document["apiVersion"], document["kind"])
        await world.kube.delete(resource, name, namespace=document["metadata"].get("namespace"))


@contextlib.asynccontextmanager
async def deploying(quay, connection):
    async with Manager(connection, identity=uuid.uuid4().hex) as manager:
        add_deployment(manager, lambda manager, home: Processes(manager, home, quay.landscape), home=quay.home)
        async with at_work(manager):
            yield


async def stands(world, provider, truth, words=""):
    """The provider, once it is ready or not; and says so."""

    def is_so(one):
        ready = condition(one)
        return ready is not None and ready.status == truth and words in str(one.status.conditions)

    return await world.becomes(ClusterProvider, provider.metadata.name, is_so, f"is {truth} with {words!r}")


async def test_from_the_object_to_clusters_and_back(quayside, world, deployer):
    rights = {"init": init_rights_of(ToyProvider), "run": rights_of(ToyProvider)}
    async with deploying(quayside, deployer):
        provider = await quayside.provider("x/toy:v1", rights=rights)
        await stands(world, provider, "Unknown", "MOORING_PROVIDERS")
        quayside.program("toy", TOY)
        await stands(world, provider, "True")
        name = provider.metadata.name
        await world.config("box", provider=name, kind=ToyConfig, versions=["1.33.3"])
        await world.exists(ClusterProfile, f"test.{name}.box")
        await world.cluster("teddy", profile=f"test.{name}.box")
        await world.ready("teddy")
        pid = quayside.pid(provider)
        kill(pid)
        await quayside.another_pid(provider, pid)
        await stands(world, provider, "True")
        await world.delete(Cluster, "teddy")
        await world.gone(Cluster, "teddy")
    pid = quayside.pid(provider)
    assert pid is not None, "it outlives whoever started it"
    async with deploying(quayside, deployer):
        await world.delete(ToyConfig, "box")
        await world.gone(ToyConfig, "box")
        assert quayside.pid(provider) == pid
        await world.delete(ClusterProvider, name)
        await world.gone(ClusterProvider, name)
        await dead(pid)
        await until(lambda: not quayside.directory(provider).exists(), "its directory is gone")

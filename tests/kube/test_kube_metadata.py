"""Reading the metadata of objects and nothing else."""

import base64
import contextlib

from mooring.kube import Changed, Client, Picture, Relisted, metadata_of, watching
from mooring.testing.builders import SECRETS

BARE = metadata_of(SECRETS)
HIDDEN = "do-not-tell"


def secret(name, namespace):
    data = {"password": base64.b64encode(HIDDEN.encode()).decode()}
    metadata = {"name": name, "namespace": namespace, "labels": {"kind": "hidden"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


async def test_metadata_come_without_what_is_hidden(kube, namespace):
    made = await kube.create(SECRETS, secret("one", namespace))
    read = await kube.get(BARE, "one", namespace=namespace)
    assert read.metadata.uid == made["metadata"]["uid"]
    assert read.metadata.labels == {"kind": "hidden"}
    listed = (await kube.list(BARE, namespace=namespace, label_selector="kind=hidden")).items
    assert [one.metadata.name for one in listed] == ["one"]


async def test_the_data_never_cross_the_wire(kube, namespace, fault_proxy):
    """Seen from the proxy: what the server sends to a watcher of metadata does not hold the data at all."""
    hidden = base64.b64encode(HIDDEN.encode())
    await kube.create(SECRETS, secret("one", namespace))
    path = SECRETS.path(namespace=namespace)
    async with Client(fault_proxy.connection) as client:
        whole = await client.raw("GET", path)
        bare = await client.raw("GET", path, accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
    assert hidden in whole
    assert hidden not in bare


async def test_a_watch_of_metadata_keeps_its_picture(kube, namespace):
    await kube.create(SECRETS, secret("one", namespace))
    picture = Picture()
    async with contextlib.aclosing(watching(kube, BARE, namespace=namespace)) as events:
        async for event in events:
            picture.apply(event)
            if isinstance(event, Relisted):
                await kube.create(SECRETS, secret("two", namespace))
            if isinstance(event, Changed) and event.object.metadata.name == "two":
                break
    assert {key.name for key in picture.objects} == {"one", "two"}
    assert all(not hasattr(one, "data") for one in picture.objects.values())

"""One draft, one patch, on the real server: what is written, what is not, and what the store knows of it."""

import asyncio
import json
from typing import ClassVar

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from runtime_kit import GROUP, PLAIN_THINGS, THINGS, Spec, Status, define_things, eventually, thing

from mooring.api.kinds import Api, Kind
from mooring.kube import Changed, Client, Deleted, MergePatch, Relisted, key_of, revision_of, typed, uid_of
from mooring.kube.errors import AlreadyExists, Conflict, NotFound
from mooring.runtime import Store, Writer, merge_patch, with_finalizer, without_finalizer
from mooring.testing.builders import NAMESPACES, SECRETS, namespace_object
from mooring.testing.fault_rules import where

FINALIZER = "test.mooring.dev/keep"


@pytest.fixture
def store():
    return Store()


@pytest.fixture
async def client(fault_proxy, things):
    async with Client(fault_proxy.connection) as client:
        yield client


@pytest.fixture
def writer(client, store):
    return Writer(client, THINGS, store)


def bodies(fault_proxy):
    return [(request.verb, request.subresource) for request in fault_proxy.requests if request.is_write]


async def test_only_what_differs_is_written_and_the_rest_survives(kube, writer, store, namespace, fault_proxy):
    made = await kube.create(PLAIN_THINGS, {**thing("a", namespace, size=1, unknown={"deep": [1]}), "extra": "gone"})
    seen = await kube.get(THINGS, "a", namespace=namespace)
    # Somebody else changes what we do not touch; we never saw it.
    await kube.patch(PLAIN_THINGS, "a", MergePatch({"spec": {"owner": "me"}}), namespace=namespace)
    after = replace(seen, spec=replace(seen.spec, size=2), status=Status(phase="Ready", notes={"a": "b"}))
    saved = await writer.save(seen, after)
    assert bodies(fault_proxy) == [("patch", ""), ("patch", "status")]
    assert (saved.spec.size, saved.spec.owner, saved.status.phase) == (2, "me", "Ready")
    assert store.get(key_of(seen)) is saved
    there = await kube.get(PLAIN_THINGS, "a", namespace=namespace)
    assert there["spec"] == {"colour": "Red", "size": 2, "owner": "me", "unknown": {"deep": [1]}}
    assert there["metadata"]["generation"] == 3
    assert uid_of(there) == uid_of(made)

    # What is taken away is removed, and only that.
    saved = await writer.save(saved, replace(saved, status=Status(phase="Ready")))
    assert (await kube.get(PLAIN_THINGS, "a", namespace=namespace))["status"] == {"phase": "Ready"}
    assert bodies(fault_proxy)[2:] == [("patch", "status")]


async def test_nothing_to_say_nothing_written(kube, writer, namespace, fault_proxy):
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    seen = await kube.get(THINGS, "a", namespace=namespace)
    assert await writer.save(seen, seen) is seen
    assert await writer.save(seen, replace(seen, status=Status()), guarded=True) is seen
    assert fault_proxy.writes == 0


async def test_a_guarded_save_is_refused_when_somebody_was_faster(kube, writer, store, namespace):
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    seen = await kube.get(THINGS, "a", namespace=namespace)
    await kube.patch(PLAIN_THINGS, "a", MergePatch({"spec": {"owner": "other"}}), namespace=namespace)
    for after in (replace(seen, spec=replace(seen.spec, size=9)), replace(seen, status=Status(phase="Ready"))):
        with pytest.raises(Conflict):
            await writer.save(seen, after, guarded=True)
    there = await kube.get(PLAIN_THINGS, "a", namespace=namespace)
    assert there["spec"] == {"colour": "Red", "owner": "other"}
    assert "status" not in there
    assert len(store) == 0


async def test_a_guarded_save_of_both_passes_when_nobody_was(kube, writer, namespace):
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    seen = await kube.get(THINGS, "a", namespace=namespace)
    after = replace(seen, spec=replace(seen.spec, size=9), status=Status(phase="Ready"))
    saved = await writer.save(seen, after, guarded=True)
    assert (saved.spec.size, saved.status.phase) == (9, "Ready")


@pytest.mark.parametrize("guarded", [True, False])
async def test_an_object_made_anew_under_the_same_name_is_not_written(kube, writer, namespace, guarded):
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    seen = await kube.get(THINGS, "a", namespace=namespace)
    await kube.delete(PLAIN_THINGS, "a", namespace=namespace)
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    for after in (replace(seen, spec=replace(seen.spec, size=9)), replace(seen, status=Status(phase="Ready"))):
        with pytest.raises(Conflict):
            await writer.save(seen, after, guarded=guarded)
    with pytest.raises(Conflict):
        await writer.delete(seen, guarded=guarded)
    there = await kube.get(PLAIN_THINGS, "a", namespace=namespace)
    assert there["spec"] == {"colour": "Red"}
    assert "status" not in there
    assert uid_of(there) != uid_of(seen)


async def test_the_status_is_not_written_to_an_object_made_anew_between_the_two_patches(
    kube, writer, namespace, fault_proxy
):
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    seen = await kube.get(THINGS, "a", namespace=namespace)

    fault_proxy.delay(1.0, matching=where(subresource="status"))
    after = replace(seen, spec=replace(seen.spec, size=9), status=Status(phase="Ready"))
    async with asyncio.TaskGroup() as group:
        group.create_task(_refused(writer.save(seen, after)))
        await fault_proxy.wait_for(lambda request: request.verb == "patch" and request.status == 200)
        await kube.delete(PLAIN_THINGS, "a", namespace=namespace)
        await kube.create(PLAIN_THINGS, thing("a", namespace))
    assert "status" not in await kube.get(PLAIN_THINGS, "a", namespace=namespace)


async def test_a_status_that_is_not_guarded_is_written_whatever_others_do(kube, writer, namespace):
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    seen = await kube.get(THINGS, "a", namespace=namespace)
    await kube.patch(PLAIN_THINGS, "a", MergePatch({"spec": {"owner": "other"}}), namespace=namespace)
    saved = await writer.save(seen, replace(seen, status=Status(phase="Ready")))
    assert (saved.spec.owner, saved.status.phase) == ("other", "Ready")


async def _refused(saving):
    with pytest.raises(Conflict):
        await saving


async def test_what_was_created_is_in_the_store(writer, store, namespace):
    made = await writer.create(thing("a", namespace))
    assert store.get(key_of(made)) is made
    with pytest.raises(AlreadyExists):
        await writer.create(thing("a", namespace))


async def test_deleting_leaves_a_tombstone(kube, writer, store, namespace):
    made = await writer.create(thing("a", namespace))
    await writer.delete(made)
    assert store.get(key_of(made)) is None
    store.apply(Changed(made))
    assert store.get(key_of(made)) is None
    with pytest.raises(NotFound):
        await kube.get(THINGS, "a", namespace=namespace)
    with pytest.raises(NotFound):
        await writer.delete(made)


async def test_deleting_says_what_becomes_of_the_things_it_owns(writer, store, namespace):
    made = await writer.create(thing("a", namespace))
    await writer.delete(made, propagation="Foreground")
    waiting = store.get(key_of(made))
    assert waiting is not None, "until those are gone"
    assert "foregroundDeletion" in waiting.metadata.finalizers


async def test_deleting_as_it_was_seen(kube, writer, store, namespace):
    made = await writer.create(thing("a", namespace))
    await kube.patch(PLAIN_THINGS, "a", MergePatch({"spec": {"size": 2}}), namespace=namespace)
    with pytest.raises(Conflict):
        await writer.delete(made)
    assert store.get(key_of(made)) is made
    await writer.delete(made, guarded=False)
    assert store.get(key_of(made)) is None


async def test_finalizers_keep_it_for_a_while_and_the_last_one_ends_it(kube, writer, store, namespace):
    made = await writer.create(thing("a", namespace, metadata={"finalizers": [FINALIZER, "test.mooring.dev/other"]}))
    store.apply(Relisted([made], revision_of(made)))
    await writer.delete(made)
    held = store.get(key_of(made))
    assert held.metadata.deleting

    left = without_finalizer(held.metadata.finalizers, FINALIZER)
    held = await writer.save(held, replace(held, metadata=replace(held.metadata, finalizers=left)))
    assert store.get(key_of(made)) is held
    assert held.metadata.finalizers == ("test.mooring.dev/other",)

    await writer.save(held, replace(held, metadata=replace(held.metadata, finalizers=())))
    with pytest.raises(NotFound):
        await kube.get(THINGS, "a", namespace=namespace)
    # The server answers with the object, and with its old revision; the store knows better.
    assert store.get(key_of(made)) is None
    store.apply(Changed(held))
    assert store.get(key_of(made)) is None
    last = replace(held, metadata=replace(held.metadata, resource_version=str(int(revision_of(held)) + 1)))
    store.apply(Deleted(last))
    assert not store._graves


async def test_a_finalizer_taken_from_what_is_not_deleted_ends_nothing(writer, store, namespace):
    made = await writer.create(thing("a", namespace, metadata={"finalizers": [FINALIZER]}))
    saved = await writer.save(made, replace(made, metadata=replace(made.metadata, finalizers=())))
    assert store.get(key_of(made)) is saved


async def test_a_namespace_that_is_deleted_is_still_there(kube, client):
    store = Store()
    writer = Writer(client, NAMESPACES, store)
    made = await writer.create(namespace_object("writing-namespace"))
    await writer.delete(made, guarded=False)
    held = store.get(key_of(made))
    assert held["metadata"]["deletionTimestamp"]

    async def gone():
        try:
            await kube.get(NAMESPACES, "writing-namespace")
        except NotFound:
            return True
        return False

    await eventually(gone)


async def test_plain_objects_of_the_server_are_written_alike(kube, client, namespace, fault_proxy):
    store = Store()
    writer = Writer(client, SECRETS, store)
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
    made = await writer.create({**body, "stringData": {"a": "1", "b": "2"}})
    after = {
        **made,
        "data": {"a": made["data"]["a"], "c": "Mw=="},
        "metadata": {**made["metadata"], "labels": {"x": "y"}},
    }
    await writer.save(made, after, guarded=True)
    there = await kube.get(SECRETS, "s", namespace=namespace)
    assert there["data"] == {"a": "MQ==", "c": "Mw=="}
    assert there["metadata"]["labels"] == {"x": "y"}
    assert fault_proxy.writes == 2
    assert store.get(key_of(made)) == there
    assert made["data"] == {"a": "MQ==", "b": "Mg=="}, "what was read is not changed"


class Leaf(Kind, frozen=True, kw_only=True):
    """A kind of ours whose status is no subresource."""

    API: ClassVar[Api] = Api(group=GROUP, version="v1", kind="Leaf", plural="leaves", namespaced=True)

    spec: Spec
    status: Status | None = None


async def test_a_status_that_is_no_subresource_goes_with_the_rest(kube, client, namespace, fault_proxy):
    await define_things(kube, "leaves", "Leaf", status_apart=False)
    leaves = typed(Leaf)
    store = Store()
    writer = Writer(client, leaves, store)
    body = {**thing("a", namespace), "kind": "Leaf", "status": {"phase": "New"}}

    async def made():
        try:
            return await writer.create(body)
        except NotFound:
            return None  # established a moment ago, and not served yet

    seen = await eventually(made)
    written = fault_proxy.writes
    await writer.save(seen, replace(seen, spec=replace(seen.spec, size=3), status=Status(phase="Old")), guarded=True)
    assert fault_proxy.writes == written + 1
    there = await kube.get(leaves, "a", namespace=namespace)
    assert (there.spec.size, there.status.phase) == (3, "Old")


async def test_the_events_of_our_own_writes_are_no_news(kube, writer, store, namespace):
    """An answer and the event of the same write read alike, so nobody is woken twice for one change."""
    made = await writer.create(thing("a", namespace))
    saved = await writer.save(made, replace(made, status=Status(phase="Ready")))
    told = []
    store.subscribe(told.append)
    store.apply(Changed(await kube.get(THINGS, "a", namespace=namespace)))
    assert saved == store.get(key_of(made))
    assert told == []


# merge_patch

json_values = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(st.sampled_from("abcd"), json_values, max_size=4)


def applied(patch, target):
    """RFC 7386, as it stands there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = applied(value, result.get(name))
    return result


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(before=json_objects, after=json_objects)
def test_a_merge_patch_turns_one_into_the_other(before, after):
    patch = merge_patch(before, after)
    assert json.dumps(applied(patch, before), sort_keys=True) == json.dumps(after, sort_keys=True)
    assert merge_patch(after, after) == {}
    assert msgspec.json.decode(msgspec.json.encode(patch)) == patch


def test_finalizers_come_and_go_once():
    assert with_finalizer(("a",), "b") == ("a", "b")
    assert with_finalizer(("a", "b"), "b") == ("a", "b")
    assert without_finalizer(("a", "b", "a"), "a") == ("b",)
    assert without_finalizer((), "a") == ()

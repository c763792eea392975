"""Controllers on the real server: what wakes them, what they do with failures, and what cannot stop them."""

import asyncio
import itertools

import pytest
from msgspec.structs import replace
from runtime_kit import PLAIN_THINGS, THINGS, Counting, Status, eventually, running, thing
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from mooring.kube import MergePatch, ObjectKey, key_of
from mooring.runtime import Controller, Manager, Outcome, Source, Terminal, Writer
from mooring.runtime.predicates import OPERATION, asked_for, deletion_began
from mooring.testing.builders import CONFIG_MAPS, config_map


@pytest.fixture
async def manager(connection, things):
    async with Manager(connection, identity="one") as manager:
        yield manager


def controller(manager, namespace, deed=None, *, when=asked_for, **settings):
    """A controller of the namespace's things, and its reconciler."""
    reconciler = Counting(deed)
    source = Source(store=manager.store(THINGS, namespace=namespace), when=when)
    manager.add(Controller("things", reconciler, [source], **settings))
    return reconciler


def operation(word):
    return MergePatch({"metadata": {"annotations": {OPERATION: word}}})


def counted(manager, result):
    return manager.metrics.registry.get_sample_value(
        "mooring_reconciles_total", {"controller": "things", "result": result}
    )


# What wakes them


async def test_each_object_is_reconciled_and_sees_its_own_writes(manager, kube, namespace):
    store = manager.store(THINGS, namespace=namespace)
    writer = Writer(manager.client, THINGS, store)

    async def greet(key):
        seen = store.get(key)
        saved = await writer.save(seen, replace(seen, status=Status(phase="Greeted", seen=seen.metadata.generation)))
        assert store.get(key) == saved

    reconciler = controller(manager, namespace, greet)
    await kube.create(PLAIN_THINGS, thing("before", namespace))
    async with running(manager):
        for number in range(20):
            await kube.create(PLAIN_THINGS, thing(f"n{number}", namespace))

        async def all_greeted():
            listing = await kube.list(THINGS, namespace=namespace)
            return all(one.status and one.status.seen == one.metadata.generation for one in listing.items)

        await eventually(all_greeted)
        await kube.patch(PLAIN_THINGS, "before", MergePatch({"spec": {"size": 2}}), namespace=namespace)
        await eventually(lambda: reconciler.runs["before"] == 2)
        await eventually(all_greeted)
    # A status of our own making wakes nobody.
    assert set(reconciler.runs.values()) == {1, 2}


async def test_changes_of_other_kinds_are_mapped_to_keys(manager, kube, namespace):
    def config_to_thing(change):
        return [
            ObjectKey(change.key.namespace, one["metadata"]["labels"]["thing"])
            for one in (change.before, change.after)
            if one is not None
        ]

    reconciler = Counting()
    configs = manager.store(CONFIG_MAPS, namespace=namespace, label_selector="thing")
    manager.add(Controller("things", reconciler, [Source(store=configs, keys=config_to_thing)]))
    async with running(manager):
        await kube.create(CONFIG_MAPS, config_map("c", namespace, labels={"thing": "a"}))
        await eventually(lambda: reconciler.runs == {"a": 1})
        moved = MergePatch({"metadata": {"labels": {"thing": "b"}}})
        await kube.patch(CONFIG_MAPS, "c", moved, namespace=namespace)
        await eventually(lambda: reconciler.runs == {"a": 2, "b": 1})
        await kube.delete(CONFIG_MAPS, "c", namespace=namespace)
        await eventually(lambda: reconciler.runs == {"a": 2, "b": 2})


async def test_a_mapper_that_fails_loses_its_own_key_only(manager, kube, namespace):
    def only_good(change):
        if change.key.name == "bad":
            raise KeyError("owner")
        return [change.key]

    reconciler = Counting()
    store = manager.store(THINGS, namespace=namespace)
    manager.add(Controller("things", reconciler, [Source(store=store, keys=only_good)]))
    await kube.create(PLAIN_THINGS, thing("bad", namespace))
    await kube.create(PLAIN_THINGS, thing("good", namespace))
    with capture_logs() as logs:
        async with running(manager):
            await kube.create(PLAIN_THINGS, thing("later", namespace))
            await eventually(lambda: reconciler.runs == {"good": 1, "later": 1})
    assert f"{namespace}/bad" in [entry.get("key") for entry in logs]


async def test_an_ignored_object_is_left_alone_whoever_asks(manager, kube, namespace):
    asking = []
    reconciler = Counting()
    things, configs = manager.store(THINGS, namespace=namespace), manager.store(CONFIG_MAPS, namespace=namespace)

    def config_to_thing(change):
        asking.append(change.key.name)
        return [ObjectKey(change.key.namespace, change.key.name)]

    sources = [Source(store=things), Source(store=configs, keys=config_to_thing)]
    made = Controller("things", reconciler, sources)
    manager.add(made)
    ignored = {"annotations": {OPERATION: "ignore"}}
    await kube.create(PLAIN_THINGS, thing("a", namespace, metadata=ignored))
    async with running(manager):
        await kube.patch(PLAIN_THINGS, "a", MergePatch({"spec": {"size": 2}}), namespace=namespace)
        await kube.create(CONFIG_MAPS, config_map("a", namespace))
        await eventually(lambda: "a" in asking and counted(manager, "ignored") >= 2)
        before = counted(manager, "ignored")
        made.enqueue(ObjectKey(namespace, "a"))
        await eventually(lambda: counted(manager, "ignored") > before)
        assert not reconciler.runs["a"]
        await kube.patch(PLAIN_THINGS, "a", operation(None), namespace=namespace)
        await eventually(lambda: reconciler.runs["a"])


async def test_operations_are_heard(manager, kube, namespace):
    reconciler = controller(manager, namespace)
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    async with running(manager):
        await eventually(lambda: reconciler.runs == {"a": 1})
        await kube.patch(PLAIN_THINGS, "a", operation("reconcile"), namespace=namespace)
        await eventually(lambda: reconciler.runs == {"a": 2})
        await kube.patch(PLAIN_THINGS, "a", operation("ignore"), namespace=namespace)
        await kube.patch(PLAIN_THINGS, "a", MergePatch({"spec": {"size": 2}}), namespace=namespace)
        await kube.create(PLAIN_THINGS, thing("sign", namespace))
        await eventually(lambda: reconciler.runs["sign"])
        assert reconciler.runs["a"] == 2
        await kube.patch(PLAIN_THINGS, "a", operation(None), namespace=namespace)
        await eventually(lambda: reconciler.runs["a"] == 3)


async def test_deletions_are_heard_twice_with_a_finalizer(manager, kube, namespace):
    """When it begins, and when it is done."""
    reconciler = controller(manager, namespace, when=deletion_began)
    await kube.create(PLAIN_THINGS, thing("a", namespace, metadata={"finalizers": ["test.mooring.dev/keep"]}))
    async with running(manager):
        await eventually(lambda: reconciler.runs["a"] == 1)
        await kube.delete(PLAIN_THINGS, "a", namespace=namespace)
        await eventually(lambda: reconciler.runs["a"] == 2)
        await kube.patch(PLAIN_THINGS, "a", MergePatch({"metadata": {"finalizers": None}}), namespace=namespace)
        await eventually(lambda: reconciler.runs["a"] == 3)


async def test_outcomes_bring_keys_back(manager, kube, namespace):
    async def twice(key):
        return Outcome.requeue(after=0.01) if reconciler.runs[key.name] < 3 else Outcome.await_change()

    reconciler = controller(manager, namespace, twice)
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    async with running(manager):
        await eventually(lambda: counted(manager, "ok") == 1)
        assert (reconciler.runs["a"], counted(manager, "requeued")) == (3, 2)
    assert Outcome.requeue(after=-5).after == 0.0


async def test_it_is_busy_while_something_is_due_or_runs(manager, kube, namespace):
    go = asyncio.Event()

    async def hold(key):
        await go.wait()
        return Outcome.requeue(after=3_600)

    reconciler = controller(manager, namespace, hold, workers=1)
    [only] = manager.controllers
    assert not only.busy
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    async with running(manager):
        await eventually(lambda: reconciler.runs["a"])
        assert only.busy, "it runs"
        only.enqueue(ObjectKey(namespace, "b"))
        go.set()
        assert only.busy, "another is due"
        await eventually(lambda: not only.busy)  # both wait for their time, and that is quiet
        assert set(reconciler.runs) == {"a", "b"}


async def test_a_key_never_runs_twice_at_once(manager, kube, namespace):
    at_once, most = 0, 0

    async def overlap(key):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.02)
        at_once -= 1

    reconciler = controller(manager, namespace, overlap, workers=8)
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    async with running(manager):
        sizes = itertools.count(1)

        async def ran_often():
            for size in itertools.islice(sizes, 10):
                await kube.patch(PLAIN_THINGS, "a", MergePatch({"spec": {"size": size}}), namespace=namespace)
            return reconciler.runs["a"] > 5

        await eventually(ran_often)
    assert most == 1


# What they do with failures


async def test_failures_are_tried_again_and_terminal_ones_wait_for_a_change(manager, kube, namespace):
    async def fail(key):
        if key.name == "terminal":
            raise Terminal("a purpose that nobody serves")
        if reconciler.runs[key.name] < 4:
            raise RuntimeError("not yet")

    reconciler = controller(manager, namespace, fail)
    for name in ("terminal", "transient"):
        await kube.create(PLAIN_THINGS, thing(name, namespace))
    with capture_logs() as logs:
        async with running(manager):
            await eventually(lambda: reconciler.runs["transient"] == 4)
            assert reconciler.runs["terminal"] == 1
            await kube.patch(PLAIN_THINGS, "terminal", MergePatch({"spec": {"size": 1}}), namespace=namespace)
            await eventually(lambda: reconciler.runs["terminal"] == 2)
            await eventually(lambda: counted(manager, "ok") == 1)
    assert (counted(manager, "failed"), counted(manager, "terminal")) == (3, 2)
    pauses = [entry["pause"] for entry in logs if entry["event"] == "reconciling failed; trying again"]
    assert pauses[0] < pauses[2]
    assert "a purpose that nobody serves" in [entry.get("reason") for entry in logs]


async def test_one_that_always_fails_does_not_delay_the_others(manager, kube, namespace):
    async def fail(key):
        if key.name.startswith("bad"):
            raise RuntimeError("always")

    reconciler = controller(manager, namespace, fail, workers=2)
    for number in range(20):
        await kube.create(PLAIN_THINGS, thing(f"bad{number}", namespace))
    with capture_logs():
        async with running(manager):
            for number in range(100):
                await kube.create(PLAIN_THINGS, thing(f"good{number}", namespace))
            await eventually(lambda: counted(manager, "ok") == 100)
    bad = [count for name, count in reconciler.runs.items() if name.startswith("bad")]
    assert len(bad) == 20
    # Pauses double from 0.05 s: even minutes are not many runs.
    assert max(bad) < 16


async def test_a_reconcile_is_known_by_its_number_in_the_log(manager, kube, namespace):
    contexts = []

    async def look(key):
        contexts.append(get_contextvars())

    controller(manager, namespace, look)
    for name in ("a", "b"):
        await kube.create(PLAIN_THINGS, thing(name, namespace))
    async with running(manager):
        await eventually(lambda: len(contexts) == 2)
    assert {context["key"] for context in contexts} == {f"{namespace}/a", f"{namespace}/b"}
    assert {context["controller"] for context in contexts} == {"things"}
    assert len({context["reconcile"] for context in contexts}) == 2
    assert get_contextvars() == {}


# What cannot stop them


def megabyte(name, namespace, **spec):
    return thing(name, namespace, owner="x" * 1_000_000, **spec)


async def test_what_cannot_be_read_is_named_and_skipped_and_the_rest_goes_on(manager, kube, namespace):
    unreadable = {
        "enum": thing("enum", namespace, colour="Plaid"),
        "missing": {**thing("missing", namespace), "spec": {"size": 3}},
        "large": megabyte("large", namespace, colour="Plaid"),
        "type": thing("type", namespace, size="three"),
    }
    reconciler = controller(manager, namespace)

    def skipped():
        return manager.metrics.registry.get_sample_value("mooring_undecodable_objects", {"kind": "Thing"})

    for name in ("enum", "missing"):
        await kube.create(PLAIN_THINGS, unreadable[name])
    await kube.create(PLAIN_THINGS, thing("good", namespace))
    with capture_logs() as logs:
        async with running(manager):
            # Some were there before; the others come by the watch, between readable ones.
            for name in ("large", "type"):
                await kube.create(PLAIN_THINGS, unreadable[name])
                await kube.create(PLAIN_THINGS, thing(f"after-{name}", namespace))
            await kube.create(PLAIN_THINGS, megabyte("huge", namespace))
            await eventually(lambda: set(reconciler.runs) == {"good", "after-large", "after-type", "huge"})
            await eventually(lambda: skipped() == 4)

            # A readable one that is spoiled is gone; one that is mended is there.
            await kube.patch(PLAIN_THINGS, "good", MergePatch({"spec": {"colour": "Plaid"}}), namespace=namespace)
            await eventually(lambda: reconciler.runs["good"] == 2)
            assert skipped() == 5
            await kube.patch(PLAIN_THINGS, "enum", MergePatch({"spec": {"colour": "Green"}}), namespace=namespace)
            await eventually(lambda: reconciler.runs["enum"] == 1)
            await kube.delete(PLAIN_THINGS, "missing", namespace=namespace)
            await eventually(lambda: skipped() == 3)
    named = {entry["key"] for entry in logs if entry["event"] == "an object cannot be read and is skipped"}
    assert named == {f"{namespace}/{name}" for name in (*unreadable, "good")}
    assert all(entry["why"] for entry in logs if entry["event"] == "an object cannot be read and is skipped")


async def test_an_index_that_fails_on_an_object_skips_it(connection, kube, namespace, things):
    async with Manager(connection, identity="one") as manager:
        store = manager.store(
            PLAIN_THINGS, namespace=namespace, indexes={"owner": lambda one: [one["spec"]["owner"]["name"]]}
        )
        reconciler = Counting()
        manager.add(Controller("things", reconciler, [Source(store=store)]))
        await kube.create(PLAIN_THINGS, thing("bad", namespace, owner="a text"))
        good = await kube.create(PLAIN_THINGS, thing("good", namespace, owner={"name": "me"}))
        with capture_logs() as logs:
            async with running(manager):
                await eventually(lambda: reconciler.runs == {"good": 1})
                assert list(store.keys_by("owner", "me")) == [key_of(good)]
                assert list(store.undecodable) == [ObjectKey(namespace, "bad")]
    assert f"{namespace}/bad" in [entry.get("key") for entry in logs]


def test_a_controller_that_is_not_open_cannot_work():
    idle = Controller("idle", Counting(), [])
    idle.enqueue(ObjectKey("n", "a"))
    idle.close()
    with pytest.raises(RuntimeError, match="not open"):
        asyncio.run(idle.work(None, None))

"""Access and the clusters it leads into: they move, go, come again, belong to others; and what all of it costs."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace

import pytest
from granting_kit import (
    LABELS,
    READ_PODS,
    Gate,
    Lodge,
    a_gate,
    clock_at,
    let_in,
    passing,
    refused,
)
from provider_kit import State, WorkshopConfig, condition

from mooring.access.admission import admission_objects
from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.entry.creators import stamp_of
from mooring.entry.resources import NAMESPACES, PARTS, SECRETS
from mooring.kube import Client, typed
from mooring.kube.credentials import bearer
from mooring.kube.errors import AlreadyExists, Forbidden, ServerError
from mooring.runtime.recorder import EVENTS
from mooring.testing.builders import SERVICE_ACCOUNTS, an_object, namespace_object, service_account
from mooring.testing.managers import heard, quiet, until

PROFILE = LABELS[PROFILE_LABEL]
ASKING = {"apiGroups": ["clusters.openmcp.cloud"], "resources": ["accessrequests"], "verbs": ["create"]}
TOKEN = {"token": {"permissions": [{"rules": [READ_PODS]}]}}
MARKED = {"labels": LABELS}
RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = PARTS["ClusterRole"], PARTS["ClusterRoleBinding"]


@pytest.fixture
async def gate(world, kube, fault_proxy):
    async with a_gate(world, kube, proxy=fault_proxy) as gate:
        yield gate


async def policy_is(gate: Gate, policy):
    """The platform's owner says who may enter; the provider publishes it."""
    await gate.world.patch(WorkshopConfig, "house", {"spec": {"access": {"policy": policy}}})
    published = lambda one: one.spec.access is not None and one.spec.access.policy == policy  # noqa: E731
    return await gate.world.becomes(ClusterProfile, PROFILE, published, f"says {policy}")


async def closed(gate: Gate, request, reason):
    """Nothing is left on either side, and it is told why."""
    denied = await gate.standing(request.metadata.name, reason)
    assert (denied.status.phase, denied.status.secret_ref) == ("Denied", None)
    assert (await gate.secret(request.metadata.name), await gate.parts(request)) == (None, {})
    await gate.world.becomes(AccessRequest, request.metadata.name, lambda one: not one.metadata.finalizers, "is free")


# -- who may enter --------------------------------------------------------------------------------------------------


async def test_a_policy_that_becomes_stricter_closes_doors(gate: Gate) -> None:
    async with gate.granting() as manager:
        await gate.world.ready()
        await heard(manager, await policy_is(gate, "All"))
        there = f"{gate.world.namespace}-b"
        await gate.world.kube.create(NAMESPACES, namespace_object(there))
        home = {"name": "one", "namespace": gate.world.namespace}
        spec = {"clusterRef": home, "token": {"permissions": []}}
        request = await gate.world.create(
            AccessRequest, "mine", metadata={"labels": LABELS}, namespace=there, spec=spec
        )
        granted = await gate.world.becomes(AccessRequest, "mine", _has_secret, "is granted", namespace=there)
        assert granted.status.phase == "Granted"
        await policy_is(gate, "SameNamespace")
        denied = await gate.world.becomes(
            AccessRequest, "mine", lambda one: one.status.phase == "Denied", "is denied", namespace=there
        )
        assert (denied.status.reason, denied.status.secret_ref) == ("ForeignNamespace", None)
        assert await gate.parts(request) == {}
        assert (await gate.world.kube.list(SECRETS, namespace=there)).items == []


def _has_secret(request) -> bool:
    return request.status is not None and request.status.secret_ref is not None


async def test_labels_that_become_wrong_close_the_door(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": {PROVIDER_LABEL: "other"}}})
        await closed(gate, request, "WrongLabel")
        await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": LABELS}})
        await gate.granted()
        await let_in(await gate.entry())


async def test_creators_must_be_allowed_and_are_asked_again(gate: Gate) -> None:
    await stamping(gate)
    async with gate.granting() as manager:
        await gate.world.ready()
        jane = await somebody(gate, ASKING)
        body = an_object(AccessRequest, "mine", gate.world.namespace, spec={"clusterRef": {"name": "one"}, **TOKEN})
        async with Client(jane) as client:

            async def created():
                with contextlib.suppress(Forbidden):  # servers learn of new bindings a moment later
                    return await client.create(typed(AccessRequest), {**body, "metadata": body["metadata"] | MARKED})

            request = await until(created, "she may ask")
        await gate.granted()
        await heard(manager, await policy_is(gate, "Creator"))
        await closed(gate, request, "CreatorMayNot")
        binding = await let_enter(gate, request)

        async def asked_again():
            await gate.annotate("mine", "reconcile")
            return (await gate.world.get(AccessRequest, "mine")).status.phase == "Granted"

        await until(asked_again, "she may enter")
        entry = await gate.entry()
        await let_in(entry)
        await gate.world.kube.delete(BINDINGS, binding)

        async def rotated():
            await gate.annotate("mine", "rotate")
            return (await gate.world.get(AccessRequest, "mine")).status.phase == "Denied"

        await until(rotated, "she may enter no more")
        await closed(gate, request, "CreatorMayNot")
        await refused(entry)


async def stamping(gate: Gate):
    """The admission policies at work. They stay: they are the same for every test."""
    kube = gate.world.kube
    for one in admission_objects():
        with contextlib.suppress(AlreadyExists):
            await kube.create(await kube.resource(one["apiVersion"], one["kind"]), one)
    body = an_object(AccessRequest, "probe", gate.world.namespace, spec={"clusterRef": {"name": "one"}, **TOKEN})

    async def stamped():
        with contextlib.suppress(ServerError):  # it has not read the schema of our kinds yet
            return stamp_of(await kube.create(typed(AccessRequest), body, dry_run=True))

    await until(stamped, "creations are stamped")


async def somebody(gate: Gate, rule):
    """A connection to the platform as somebody who may do this, and nothing else."""
    kube, namespace, account = gate.world.kube, gate.world.namespace, "jane"
    await kube.create(SERVICE_ACCOUNTS, service_account(account, namespace))
    await bound(gate, f"ask-{namespace}", rule, {"kind": "ServiceAccount", "name": account, "namespace": namespace})
    wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await kube.create(SERVICE_ACCOUNTS, wish, name=account, namespace=namespace, subresource="token")
    return replace(kube.connection, credentials=bearer(answer["status"]["token"]))


async def let_enter(gate: Gate, request):
    """Give its creator the right to enter clusters; gives the name of the binding."""
    rule = {"apiGroups": ["clusters.openmcp.cloud"], "resources": ["clusters"], "verbs": ["access"]}
    subject = {"apiGroup": RBAC, "kind": "User", "name": stamp_of(request).user}
    return await bound(gate, f"enter-{gate.world.namespace}", rule, subject)


async def bound(gate: Gate, name, rule, subject):
    about = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    await gate.world.kube.create(ROLES, {**about, "kind": "ClusterRole", "rules": [rule]})
    binding = {**about, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": role}
    await gate.world.kube.create(BINDINGS, binding)
    return name


# -- clusters that change -------------------------------------------------------------------------------------------


async def test_another_cluster_of_the_same_name_is_another_cluster(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        first, old = await gate.record(), await gate.entry()
        gate.works.states["one"] = State(ready=False, reason="Building", message="Not yet.")
        await gate.world.delete(Cluster, "one")
        await gate.world.gone(Cluster, "one")
        await gate.world.cluster("one")
        pending = lambda one: one.status.phase == "Pending"  # noqa: E731
        waiting = await gate.world.becomes(AccessRequest, "mine", pending, "waits")
        assert (waiting.status.reason, waiting.status.secret_ref) == ("ClusterNotReady", None)
        assert await gate.secret() is None
        del gate.works.states["one"]
        cluster = await gate.world.ready()
        second = await gate.recorded(lambda one: one.cluster == cluster.metadata.uid, "is of the new cluster")
        assert second.issue != first.issue
        await gate.granted()
        await gate.is_tidy(request)
        await refused(old)


async def test_the_kubeconfig_follows_its_cluster(gate: Gate) -> None:
    async with gate.granting():
        await gate.ask()
        await gate.granted()
        moved = "https://elsewhere.example:6443"
        gate.works.states["one"] = State(ready=True, version="1.33.3", api_server=moved)
        await gate.world.patch(Cluster, "one", {"metadata": {"annotations": {"openmcp.cloud/operation": "reconcile"}}})
        await gate.recorded(lambda one: one.server == moved, "tells the new address")
        assert (await gate.entry()).server == moved


async def test_others_clusters_are_others_matter(gate: Gate) -> None:
    async with gate.granting() as manager:
        spec = {
            "providerRef": {"name": "others"},
            "providerConfigRef": {"name": "theirs"},
            "supportedVersions": [{"version": "1.33.3"}],
        }
        await gate.world.create(ClusterProfile, "theirs", spec=spec)
        await gate.world.cluster("two", profile="theirs")
        request = await gate.ask(cluster="two", labels={**LABELS, PROFILE_LABEL: "theirs"})
        missing = await gate.ask("missing", cluster="nowhere")
        await heard(manager, request, missing)
        for one in (request, missing):
            there = await gate.world.get(AccessRequest, one.metadata.name)
            assert (there.metadata.finalizers, there.status) == ((), None)
            await gate.world.delete(AccessRequest, one.metadata.name)
            await gate.world.gone(AccessRequest, one.metadata.name)


# -- clusters that stay ---------------------------------------------------------------------------------------------


async def test_a_cluster_that_stays_is_left_clean(gate: Gate) -> None:
    gate.provider = Lodge
    async with gate.granting():
        await gate.world.cluster("two")
        mine, other = await gate.ask(), await gate.ask("other", cluster="two")
        await gate.granted()
        await gate.granted("other")
        entry = await gate.entry()
        await gate.world.delete(Cluster, "one")
        await gate.world.gone(Cluster, "one")
        assert await gate.parts(mine) == {}
        await refused(entry)
        # Both are the same cluster; who enters by the other name is not meant.
        await gate.is_tidy(other, "other")
        await gate.world.delete(AccessRequest, "mine")
        await gate.world.gone(AccessRequest, "mine")


async def test_a_cluster_that_cannot_be_left_clean_is_let_go_in_the_end(gate: Gate) -> None:
    gate.provider = Lodge
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
    await gate.proxy.down()
    await gate.world.delete(Cluster, "one")
    cluster = await gate.world.get(Cluster, "one")
    clock = clock_at()
    async with gate.granting(clock=clock):

        async def is_waiting():
            there = await gate.world.get(Cluster, "one")
            return "cannot be entered" in condition(there).message

        await passing(clock, is_waiting, "it waits, and tells why")

        async def is_gone():
            return await gate.world.get(Cluster, "one") is None

        await passing(clock, is_gone, "the cluster is let go", step=30.0)
        event = await _told(gate, clock, cluster, "LeftBehind")
        assert (event["type"], gate.address in event["note"]) == ("Warning", True)
    await gate.clear_target(request.metadata.uid)


async def _told(gate, clock, regarding, reason):
    async def there():
        events = (await gate.world.kube.list(EVENTS)).items
        found = [one for one in events if one["reason"] == reason]
        return next((one for one in found if one["regarding"]["uid"] == regarding.metadata.uid), None)

    return await passing(clock, there, f"an event {reason} is written")


# -- what it costs --------------------------------------------------------------------------------------------------


async def test_a_grant_costs_three_writes_here_and_five_there(gate: Gate, proxy) -> None:
    async with gate.killed_later(connection=proxy.connection) as manager:
        await gate.ask("before")  # makes the namespace of the accounts, if it is not there
        await gate.granted("before")
        await quiet(manager)
        platform, target = len(proxy.requests), len(gate.proxy.requests)
        await gate.ask()
        await gate.granted()
        await quiet(manager)
        assert _calls(list(proxy.requests)[platform:]) == {
            ("patch", "accessrequests", ""): 1,
            ("create", "secrets", ""): 1,
            ("patch", "accessrequests", "status"): 1,
        }
        assert _calls(list(gate.proxy.requests)[target:]) == {
            ("create", "serviceaccounts", ""): 1,
            ("create", "clusterroles", ""): 1,
            ("create", "clusterrolebindings", ""): 1,
            ("create", "secrets", ""): 1,
            ("create", "serviceaccounts", "token"): 1,
        }
        assert gate.entered == 1


async def test_whoever_is_asked_and_has_nothing_to_do_does_nothing(gate: Gate, proxy) -> None:
    async with gate.killed_later(connection=proxy.connection) as manager:
        await gate.ask()
        await gate.granted()
        await quiet(manager)
        before = await gate.world.get(AccessRequest, "mine"), await gate.secret()
        platform, target = len(proxy.requests), len(gate.proxy.requests)
        touched = await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": {"some": "label"}}})
        await heard(manager, touched)
        assert _calls(list(proxy.requests)[platform:]) == {}
        assert len(gate.proxy.requests) == target
        after = await gate.world.get(AccessRequest, "mine"), await gate.secret()
        assert after[0].metadata.resource_version == touched.metadata.resource_version
        assert (before[0].status, before[1]) == (after[0].status, after[1])


def _calls(requests) -> Counter:
    """Without watches, and events: those are told when there is time."""
    counted = (one for one in requests if not one.is_watch and one.resource != "events")
    return Counter((one.verb, one.resource, one.subresource) for one in counted)

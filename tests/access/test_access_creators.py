"""The policy Creator, with users of a real API server: who asked is noted down by the server, and cannot be forged."""

from __future__ import annotations

import contextlib
import dataclasses
import json

import pytest
from access_kit import TOKEN, preparing, unique

from mooring.access.admission import GROUP, admission_objects
from mooring.api.access import AccessRequest
from mooring.api.clusters import ClusterProfile
from mooring.api.kinds import CLUSTERS_GROUP
from mooring.api.marks import CREATOR_ANNOTATION, OPERATION_ANNOTATION
from mooring.entry.creators import POLICY, REVIEWS, Stamp, may_enter, stamp_of, stamps_are_written
from mooring.kube import Client, Impersonation, MergePatch, ObjectKey, key_of, typed, untyped
from mooring.kube.definitions import put
from mooring.kube.errors import Forbidden, ServerError
from mooring.testing.builders import an_object
from mooring.testing.managers import heard, until

RBAC = "rbac.authorization.k8s.io"
ROLES = untyped(group=RBAC, plural="roles", kind="Role")
BINDINGS = untyped(group=RBAC, plural="rolebindings", kind="RoleBinding")

ALICE = Impersonation(
    user='alice "the \\ first"', uid="42", groups=("devs", 'a,"b'), extra={"example.com/b": ("x", "y"), "a": ("1",)}
)
BOB = Impersonation(user="bob")


@contextlib.asynccontextmanager
async def acting(world, who):
    """A client that is somebody else."""
    async with Client(dataclasses.replace(world.connection, impersonation=who)) as client:
        yield client


def mooring(world):
    """Mooring itself, with every right there is."""
    who = Impersonation(user="mooring", groups=(GROUP, "system:masters"))
    return dataclasses.replace(world.connection, impersonation=who)


async def allow(world, who, resource, *verbs):
    name, where = unique("role"), world.namespace
    rules = [{"apiGroups": [CLUSTERS_GROUP], "resources": [resource], "verbs": list(verbs)}]
    reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
    subject = {"apiGroup": RBAC, "kind": "User", "name": who.user}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name, "namespace": where}}
    await world.kube.create(ROLES, {**role, "rules": rules})
    bound = {**role, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]}
    await world.kube.create(BINDINGS, bound)
    asked = {"group": CLUSTERS_GROUP, "resource": resource, "verb": verbs[-1], "namespace": where}
    review = {"spec": {"user": who.user, "resourceAttributes": asked}}

    async def is_known():
        return (await world.kube.create(REVIEWS, review))["status"]["allowed"]

    await until(is_known, f"{who.user} may {verbs[-1]} {resource}")
    return name


@pytest.fixture
async def stamping(world):
    """The admission policies at work, and users who may ask. They stay: they are the same for every test."""
    for one in admission_objects():
        await put(world.kube, one)
    body = an_object(AccessRequest, "probe", world.namespace, spec={"clusterRef": {"name": "home"}, **TOKEN})

    async def stamped():
        with contextlib.suppress(ServerError):  # it has not read the schema of our kinds yet
            return stamp_of(await world.kube.create(typed(AccessRequest), body, dry_run=True))

    async def frozen():
        with contextlib.suppress(Forbidden):
            marks = {"metadata": {"annotations": {CREATOR_ANNOTATION: "me"}}}
            await world.kube.patch(
                typed(AccessRequest), "probe", MergePatch(marks), namespace=world.namespace, dry_run=True
            )
            return False
        return True

    await until(stamped, "creations are stamped")
    await world.kube.create(typed(AccessRequest), body)
    await until(frozen, "stamps are frozen")
    await world.delete(AccessRequest, "probe")
    for who in (ALICE, BOB):
        await allow(world, who, "accessrequests", "create", "patch", "get", "delete")


async def created(world, who, name="entry", **metadata):
    """The request as this user creates it; rights take a moment to be known."""
    body = an_object(AccessRequest, name, world.namespace, spec={"clusterRef": {"name": "home"}, **TOKEN})
    body["metadata"] |= metadata
    async with acting(world, who) as client:

        async def once():
            with contextlib.suppress(Forbidden):
                return await client.create(typed(AccessRequest), body)

        return await until(once, f"{who.user} may create requests")


async def changed(world, who, body, name="entry"):
    async with acting(world, who) as client:
        return await client.patch(typed(AccessRequest), name, MergePatch(body), namespace=world.namespace)


@pytest.mark.usefixtures("stamping")
async def test_a_second_installation_writes_nothing(world):
    async def generations():
        kinds = [await world.kube.resource(one["apiVersion"], one["kind"]) for one in admission_objects()]
        return [(await world.kube.get(kind, POLICY))["metadata"]["generation"] for kind in kinds]

    before = await generations()
    for one in admission_objects():
        await put(world.kube, one)
    assert await generations() == before


@pytest.mark.usefixtures("stamping")
async def test_the_stamp_tells_who_asked(world):
    request = await created(world, ALICE)
    stamp = stamp_of(request)
    assert stamp == Stamp(
        user=ALICE.user,
        uid="42",
        groups=("devs", 'a,"b', "system:authenticated"),
        extra={"example.com/b": ("x", "y"), "a": ("1",)},
    )


@pytest.mark.usefixtures("stamping")
async def test_a_stamp_cannot_be_forged(world):
    forged = json.dumps({"user": "system:admin", "groups": ["system:masters"]})
    request = await created(world, BOB, annotations={CREATOR_ANNOTATION: forged})
    assert stamp_of(request).user == "bob", "what he brought along is written over"
    for value in (forged, None, ""):
        with pytest.raises(Forbidden, match="written by the server"):
            await changed(world, BOB, {"metadata": {"annotations": {CREATOR_ANNOTATION: value}}})
    both = {"metadata": {"annotations": {CREATOR_ANNOTATION: forged}}, "spec": {"ttl": "1h"}}
    assert stamp_of(await changed(world, BOB, both)).user == "bob"
    await created(world, ALICE, "other")
    await changed(world, BOB, {"metadata": {"labels": {"a": "b"}}}, "other")
    assert stamp_of(await world.get(AccessRequest, "other")).user == ALICE.user, "a label asks for nothing"


@pytest.mark.usefixtures("stamping")
async def test_whoever_changes_the_spec_becomes_the_creator(world):
    await created(world, ALICE)
    there = await changed(world, BOB, {"spec": {"token": {"lifetime": "1h"}}})
    assert stamp_of(there).user == "bob"


@pytest.mark.usefixtures("stamping")
async def test_mooring_carries_stamps_over(world):
    ourselves = Impersonation(user="mooring", groups=(GROUP,))
    binding = unique("mooring")
    subject = {"apiGroup": RBAC, "kind": "Group", "name": GROUP}
    role = await allow(world, BOB, "accessrequests", "create", "patch")
    reference = {"apiGroup": RBAC, "kind": "Role", "name": role}
    metadata = {"name": binding, "namespace": world.namespace}
    bound = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata}
    await world.kube.create(BINDINGS, {**bound, "roleRef": reference, "subjects": [subject]})
    carried = json.dumps({"user": "carol", "groups": ["devs"]})
    request = await created(world, ourselves, annotations={CREATOR_ANNOTATION: carried})
    assert stamp_of(request) == Stamp(user="carol", groups=("devs",))
    filled = await changed(world, ourselves, {"spec": {"clusterRef": {"namespace": world.namespace}}})
    assert stamp_of(filled).user == "carol", "filling in a reference does not make it ours"


@pytest.fixture
async def creators_only(world):
    await world.patch(ClusterProfile, world.gold, {"spec": {"access": {"policy": "Creator"}}})
    return await world.cluster()


@pytest.mark.usefixtures("stamping", "creators_only")
async def test_only_who_may_access_the_cluster_enters(world):
    async with preparing(mooring(world)) as manager:
        await created(world, BOB)
        there = await world.stands("Denied", "CreatorMayNot")
        assert "bob" in there.status.message
        await heard(manager, there)
        assert not (await world.get(AccessRequest)).metadata.labels
        await allow(world, BOB, "clusters", "access")
        assert (await may_enter(world.kube, there, ObjectKey(world.namespace, "home"))).allowed
        await world.patch(AccessRequest, "entry", {"metadata": {"annotations": {OPERATION_ANNOTATION: "reconcile"}}})
        await world.prepared()


@pytest.mark.usefixtures("stamping", "creators_only")
async def test_another_who_changes_the_spec_is_judged_instead(world):
    await allow(world, ALICE, "clusters", "access")
    await created(world, ALICE)
    async with preparing(mooring(world)):
        assert stamp_of(await world.prepared()).user == ALICE.user, "preparing it does not make it ours"
        await changed(world, BOB, {"spec": {"token": {"lifetime": "1h"}}})
        there = await world.stands("Denied", "CreatorMayNot")
        assert "bob" in there.status.message
        await changed(world, ALICE, {"spec": {"token": {"lifetime": "2h"}}})
        await world.until(lambda one: one.status.phase == "Pending", "is no longer denied")


@pytest.mark.usefixtures("stamping", "creators_only")
async def test_requests_without_a_stamp_are_denied_with_what_to_do(world):
    """As those that are older than the policies: Mooring's own account is not stamped, either."""
    await allow(world, ALICE, "clusters", "access")
    body = an_object(AccessRequest, "entry", world.namespace, spec={"clusterRef": {"name": "home"}, **TOKEN})
    async with Client(mooring(world)) as client:
        await client.create(typed(AccessRequest), body)
    async with preparing(mooring(world)):
        there = await world.stands("Denied", "CreatorUnknown")
        assert "spec" in there.status.message
        await changed(world, ALICE, {"spec": {"ttl": "10h"}})
        await world.prepared()


@pytest.mark.parametrize("missing", ["validatingadmissionpolicies", "validatingadmissionpolicybindings"])
@pytest.mark.usefixtures("stamping", "creators_only")
async def test_a_stamp_counts_only_if_it_cannot_be_forged(world, proxy, missing):
    await allow(world, ALICE, "clusters", "access")
    await created(world, ALICE)
    gone = proxy.answer(404, times=None, matching=lambda one: one.resource == missing)
    async with preparing(proxy.connection):
        there = await world.stands("Denied", "CreatorPolicyUnsupported")
        assert "not installed" in there.status.message
        gone.lift()
        await world.patch(AccessRequest, "entry", {"metadata": {"annotations": {OPERATION_ANNOTATION: "reconcile"}}})
        await world.prepared()


@pytest.mark.usefixtures("creators_only")
async def test_a_server_that_cannot_note_down_creators_refuses_the_policy(world, proxy):
    proxy.answer(404, times=None, matching=lambda one: one.path == "/apis/admissionregistration.k8s.io/v1")
    await world.access()
    async with Client(proxy.connection) as client:
        assert not await stamps_are_written(client)
    assert await stamps_are_written(world.kube)
    async with preparing(proxy.connection):
        there = await world.stands("Denied", "CreatorPolicyUnsupported")
        assert "MutatingAdmissionPolicy" in there.status.message
    assert key_of(there).namespace == world.namespace

"""Doors in a cluster where others live too: made, mended and closed, and nothing of anybody else is touched."""

import asyncio
from dataclasses import replace

import pytest
from entry_kit import (
    CLUSTER_ROLES,
    RBAC,
    ROLES,
    Counted,
    a_rule,
    an_entrant,
    new_namespace,
    oidc,
    picture,
    reading,
    secrets_of,
    settle,
    there,
    token,
    unique,
)

from mooring.entry.closing import close
from mooring.entry.doors import oidc_door, token_door
from mooring.entry.entrants import ENTRANT_LABEL, INSTALLATION_LABEL
from mooring.entry.opening import NamespaceMissing, NotOurs, Unsettled, make, mend, parts_of
from mooring.entry.resources import PARTS
from mooring.entry.tokens import issue
from mooring.kube import Client, MergePatch, key_of
from mooring.kube.connection import Impersonation
from mooring.kube.errors import Forbidden
from mooring.testing.builders import NAMESPACES, SERVICE_ACCOUNTS, namespace_object, service_account
from mooring.testing.managers import until

HOLD = "example.dev/hold"


@pytest.fixture
def heard():
    return Counted()


@pytest.fixture
async def counted(own_kube, heard):
    """A client whose calls are counted."""
    async with Client(own_kube.connection, heard=heard) as client:
        yield client


def a_door(entrant, accounts, *permissions, role_refs=()):
    return token_door(entrant, token(permissions=permissions, roleRefs=list(role_refs)), accounts=accounts)


async def a_role(kube, name, *, labels=None, kind="ClusterRole", namespace=None):
    metadata = {"name": name, "labels": labels or {}} | ({"namespace": namespace} if namespace else {})
    role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": [a_rule("list")]}
    return await kube.create(PARTS[kind], role)


async def hold(kube, kind, name, namespace=None, *, held=True):
    finalizers = {"metadata": {"finalizers": [HOLD] if held else None}}
    await kube.patch(PARTS[kind], name, MergePatch(finalizers), namespace=namespace)


async def test_a_fresh_door_costs_as_many_calls_as_it_has_objects(counted, heard, accounts):
    first, second = (a_door(an_entrant(), accounts, reading()) for _ in range(2))
    await make(counted, first)
    # The namespace of accounts was missing: one call in vain, and one to make it.
    assert heard.taken() == {"POST": 5}
    await make(counted, second)
    assert heard.taken() == {"POST": 3}
    await issue(counted, second, accounts=accounts, lifetime=3600.0, now=0.0)
    assert heard.taken() == {"POST": 2}
    assert await mend(counted, second) is False
    assert heard.taken() == {"GET": 5}
    changed = a_door(second.entrant, accounts, {"rules": [a_rule("list")]})
    assert await mend(counted, changed) is True
    assert heard.taken() == {"GET": 5, "PUT": 1}
    for door in (first, second):
        await close(counted, door.entrant, accounts=accounts)


async def test_whoever_may_not_bind_every_role_makes_doors_to_what_it_may_do(own_kube, accounts):
    """Servers then look up what a role allows before they let it be bound: roles are there before their bindings."""
    maker = unique("maker")
    rbac = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]
    verbs = ["get", "list", "create", "update", "delete"]
    rules = [
        {"verbs": verbs, "apiGroups": [RBAC], "resources": rbac},
        {"verbs": verbs, "apiGroups": [""], "resources": ["serviceaccounts", "secrets", "namespaces"]},
        a_rule(),
    ]
    subject = {"kind": "User", "name": maker, "apiGroup": RBAC}
    reference = {"kind": "ClusterRole", "name": maker, "apiGroup": RBAC}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": maker}, "rules": rules}
    await own_kube.create(CLUSTER_ROLES, role)
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": maker}}
    await own_kube.create(PARTS["ClusterRoleBinding"], binding | {"roleRef": reference, "subjects": [subject]})
    await settle(own_kube, await new_namespace(own_kube))
    entrant, place = an_entrant(), unique("place")
    async with Client(replace(own_kube.connection, impersonation=Impersonation(user=maker))) as client:
        await make(client, a_door(entrant, accounts, reading(), reading(namespace=place)))
        assert len(await parts_of(client, entrant)) == 5
        more = a_door(entrant, accounts, reading(), {"rules": [a_rule("delete")]})
        with pytest.raises(Forbidden, match="not currently held"):
            await mend(client, more)
        await close(client, entrant, accounts=accounts)
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        await own_kube.delete(PARTS[kind], maker)
    await own_kube.delete(NAMESPACES, place)


async def test_everything_made_bears_the_marks_and_the_names_of_upstream(own_kube, accounts):
    place = await new_namespace(own_kube)
    entrant = an_entrant()
    role = {"kind": "ClusterRole", "name": "view", "namespace": place}
    await make(own_kube, a_door(entrant, accounts, reading(), reading(namespace=place), role_refs=[role]))
    own = entrant.hash
    assert set(await picture(own_kube, entrant)) == {
        f"ServiceAccount {accounts}/{own}",
        f"ClusterRole openmcp:permission:{own}:0",
        f"ClusterRoleBinding openmcp:permission:{own}:0",
        f"Role {place}/openmcp:permission:{own}:1",
        f"RoleBinding {place}/openmcp:permission:{own}:1",
        f"RoleBinding {place}/openmcp:roleref:{own}:0",
    }
    await close(own_kube, entrant, accounts=accounts)
    assert await picture(own_kube, entrant) == {}
    assert await there(own_kube, NAMESPACES, accounts)


async def test_what_is_asked_for_no_longer_is_removed(own_kube, accounts):
    place = await new_namespace(own_kube)
    entrant = an_entrant()
    large = a_door(entrant, accounts, reading(name=unique()), reading(namespace=place), reading())
    small = a_door(entrant, accounts, reading(namespace=place))
    await make(own_kube, large)
    assert await mend(own_kube, small) is True
    assert set(await parts_of(own_kube, entrant)) == parts(small)
    assert await mend(own_kube, small) is False
    nothing = a_door(entrant, accounts)
    await mend(own_kube, nothing)
    assert set(await parts_of(own_kube, entrant)) == parts(nothing)
    await close(own_kube, entrant, accounts=accounts)


def parts(door):
    return {(one["kind"], key_of(one)) for one in door.objects}


async def test_a_binding_to_another_role_is_made_anew(own_kube, accounts):
    entrant = an_entrant()
    await make(own_kube, a_door(entrant, accounts, role_refs=[{"kind": "ClusterRole", "name": "admin"}]))
    (old,) = [one for (kind, _), one in (await parts_of(own_kube, entrant)).items() if kind == "ClusterRoleBinding"]
    await mend(own_kube, a_door(entrant, accounts, role_refs=[{"kind": "ClusterRole", "name": "view"}]))
    (new,) = [one for (kind, _), one in (await parts_of(own_kube, entrant)).items() if kind == "ClusterRoleBinding"]
    assert new["roleRef"]["name"] == "view"
    assert new["metadata"]["name"] == old["metadata"]["name"]
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    await close(own_kube, entrant, accounts=accounts)


async def test_what_others_changed_is_put_right(own_kube, accounts):
    """Rights are as asked for, whoever widened them."""
    entrant = an_entrant()
    door = a_door(entrant, accounts, reading())
    await make(own_kube, door)
    asked_for = await picture(own_kube, entrant)
    name = f"openmcp:permission:{entrant.hash}:0"
    gather_all = {"clusterRoleSelectors": [{"matchLabels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}]}
    stranger = {"kind": "User", "name": "eve", "apiGroup": RBAC}
    await own_kube.patch(CLUSTER_ROLES, name, MergePatch({"aggregationRule": gather_all}))
    await own_kube.patch(PARTS["ClusterRoleBinding"], name, MergePatch({"subjects": [stranger]}))
    assert await mend(own_kube, door) is True
    assert "aggregationRule" not in await own_kube.get(CLUSTER_ROLES, name)

    async def is_right():
        # The server's own controller may write once more what it had gathered.
        return not await mend(own_kube, door)

    await until(is_right, "nothing is left to mend")
    assert await picture(own_kube, entrant) == asked_for
    await close(own_kube, entrant, accounts=accounts)


@pytest.mark.parametrize("marks", ["none", "others", "installation", "entrant", "another entrant"])
async def test_a_strangers_role_is_neither_taken_over_nor_deleted(own_kube, accounts, marks):
    entrant, name = an_entrant(), unique("theirs")
    labels = {
        "none": {},
        "others": {"app": "theirs", "mooring.dev/other": "x"},
        "installation": {INSTALLATION_LABEL: entrant.installation},
        "entrant": {ENTRANT_LABEL: entrant.uid},
        "another entrant": an_entrant(installation=entrant.installation).labels,
    }[marks]
    theirs = await a_role(own_kube, name, labels=labels)
    before = a_door(entrant, accounts, reading())
    await make(own_kube, before)
    door = a_door(entrant, accounts, reading(name=name))
    for way in (make, mend):
        with pytest.raises(NotOurs, match=f"the ClusterRole '{name}' already"):
            await way(own_kube, door)
    # The binding was not made either, and what is asked for no longer is gone.
    assert set(await picture(own_kube, entrant)) == {f"ServiceAccount {accounts}/{entrant.hash}"}
    await close(own_kube, entrant, accounts=accounts)
    assert await own_kube.get(CLUSTER_ROLES, name) == theirs
    await own_kube.delete(CLUSTER_ROLES, name)


async def test_a_strangers_account_is_bound_to_nothing(own_kube):
    accounts = await new_namespace(own_kube)
    entrant = an_entrant()
    theirs = await own_kube.create(SERVICE_ACCOUNTS, service_account(entrant.hash, accounts))
    door = a_door(entrant, accounts, reading())
    for way in (make, mend):
        with pytest.raises(NotOurs, match=f"the ServiceAccount '{entrant.hash}' in the namespace '{accounts}'"):
            await way(own_kube, door)
    assert {kind for kind, _ in await parts_of(own_kube, entrant)} <= {"ClusterRole"}
    await close(own_kube, entrant, accounts=accounts)
    assert await own_kube.get(SERVICE_ACCOUNTS, entrant.hash, namespace=accounts) == theirs


async def test_rights_that_were_withdrawn_end_also_where_new_ones_cannot_be_given(own_kube, accounts):
    entrant, name = an_entrant(), unique("theirs")
    await a_role(own_kube, name)
    admin, view = ({"kind": "ClusterRole", "name": word} for word in ("cluster-admin", "view"))
    await make(own_kube, a_door(entrant, accounts, role_refs=[admin, admin]))
    with pytest.raises(NotOurs):
        await mend(own_kube, a_door(entrant, accounts, reading(name=name), role_refs=[view]))
    assert "cluster-admin" not in str(await picture(own_kube, entrant))
    await close(own_kube, entrant, accounts=accounts)
    await own_kube.delete(CLUSTER_ROLES, name)


async def test_two_installations_on_one_cluster(own_kube, accounts):
    """The same request in both: where even the environment is the same, the second is told."""
    here = an_entrant(installation="here", environment="test")
    there_ = an_entrant(here.key.name, installation="there", environment="prod")
    twin = an_entrant(here.key.name, installation="there", environment="test")
    doors = {one: a_door(one, accounts, reading()) for one in (here, there_, twin)}
    await make(own_kube, doors[here])
    await make(own_kube, doors[there_])
    issued = await issue(own_kube, doors[here], accounts=accounts, lifetime=3600.0, now=0.0)
    pictures = {one: await picture(own_kube, one) for one in (here, there_)}
    for way in (make, mend):
        with pytest.raises(NotOurs):
            await way(own_kube, doors[twin])
    await close(own_kube, twin, accounts=accounts)
    assert pictures == {one: await picture(own_kube, one) for one in (here, there_)}
    await close(own_kube, there_, accounts=accounts)
    assert await picture(own_kube, here) == pictures[here]
    assert await secrets_of(own_kube, here) == [issued.issue]
    await close(own_kube, here, accounts=accounts)


async def test_namespaces_are_made_unless_somebody_says_no(own_kube, accounts):
    wanted, unwanted = unique("wanted"), unique("unwanted")
    entrant = an_entrant()
    closed = reading(namespace=unwanted, disableAutomaticNamespaceCreation=True)
    refers = {"kind": "Role", "name": "x", "namespace": unwanted}
    for door in (
        a_door(entrant, accounts, reading(namespace=wanted), closed),
        a_door(entrant, accounts, reading(namespace=wanted), role_refs=[refers]),
    ):
        with pytest.raises(NamespaceMissing, match=f"no namespace '{unwanted}'"):
            await make(own_kube, door)
    assert await there(own_kube, NAMESPACES, wanted)
    assert not await there(own_kube, NAMESPACES, unwanted)
    await own_kube.create(NAMESPACES, namespace_object(unwanted))
    await mend(own_kube, a_door(entrant, accounts, reading(namespace=wanted), closed))
    assert await there(own_kube, ROLES, f"openmcp:permission:{entrant.hash}:1", unwanted)
    await close(own_kube, entrant, accounts=accounts)
    for name in (wanted, unwanted):
        await own_kube.delete(NAMESPACES, name)


async def test_the_namespace_of_accounts_is_made_whoever_else_refers_to_it(own_kube, accounts):
    entrant = an_entrant()
    closed = reading(namespace=accounts, disableAutomaticNamespaceCreation=True)
    role = {"kind": "Role", "name": "x", "namespace": accounts}
    await make(own_kube, a_door(entrant, accounts, closed, role_refs=[role]))
    await close(own_kube, entrant, accounts=accounts)


async def test_a_namespace_that_is_just_being_deleted(own_kube, accounts):
    """An error as long as it is there, and a door as soon as it is gone."""
    place = await new_namespace(own_kube)
    entrant = an_entrant()
    door = a_door(entrant, accounts, reading(namespace=place))
    await a_role(own_kube, "held", kind="Role", namespace=place)
    await hold(own_kube, "Role", "held", place)
    await own_kube.delete(NAMESPACES, place)

    async def is_ending():
        return (await own_kube.get(NAMESPACES, place))["status"]["phase"] == "Terminating"

    await until(is_ending, "the namespace is being deleted")
    for way in (make, mend):
        with pytest.raises(Forbidden, match="being terminated"):
            await way(own_kube, door)
    await hold(own_kube, "Role", "held", place, held=False)

    async def is_gone():
        return await there(own_kube, NAMESPACES, place) is None

    await until(is_gone, "the namespace is gone")
    await mend(own_kube, door)
    assert set(await parts_of(own_kube, entrant)) == parts(door)
    await close(own_kube, entrant, accounts=accounts)
    await own_kube.delete(NAMESPACES, place)


@pytest.mark.parametrize("kind", ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"])
async def test_an_object_that_somebody_holds_while_it_is_deleted(own_kube, accounts, kind):
    """It is not taken for one that is there, and closing does not pretend that it is gone."""
    entrant = an_entrant()
    door = a_door(entrant, accounts, reading())
    await make(own_kube, door)
    (name,) = [one["metadata"]["name"] for one in door.objects if one["kind"] == kind]
    place = accounts if kind == "ServiceAccount" else None
    await hold(own_kube, kind, name, place)
    await own_kube.delete(PARTS[kind], name, namespace=place)
    for way in (make, mend):
        with pytest.raises(Unsettled, match=name):
            await way(own_kube, door)
    with pytest.raises(Unsettled, match=name):
        await close(own_kube, entrant, accounts=accounts)
    assert {of for of, _ in await parts_of(own_kube, entrant)} == {kind}
    await hold(own_kube, kind, name, place, held=False)
    await mend(own_kube, door)
    assert set(await parts_of(own_kube, entrant)) == parts(door)
    await close(own_kube, entrant, accounts=accounts)
    assert not await parts_of(own_kube, entrant)


async def test_many_at_once_make_and_mend_the_same_door(own_kube, accounts):
    entrant = an_entrant()
    place = unique("place")
    door = a_door(
        entrant, accounts, reading(), reading(namespace=place), role_refs=[{"kind": "ClusterRole", "name": "view"}]
    )
    await asyncio.gather(*(way(own_kube, door) for way in (make, make, mend, mend, make)))
    assert set(await parts_of(own_kube, entrant)) == parts(door)
    assert await mend(own_kube, door) is False
    await close(own_kube, entrant, accounts=accounts)
    await own_kube.delete(NAMESPACES, place)


async def test_two_that_want_different_things_end_in_one_of_them(own_kube, accounts):
    """One of them has an old request in mind. Whoever mends last, alone, is right; neither breaks anything."""
    entrant = an_entrant()
    old = a_door(entrant, accounts, reading(), role_refs=[{"kind": "ClusterRole", "name": "admin"}])
    new = a_door(entrant, accounts, {"rules": [a_rule("list")]}, role_refs=[{"kind": "ClusterRole", "name": "view"}])
    await make(own_kube, old)
    for _ in range(5):
        ends = await asyncio.gather(*(mend(own_kube, one) for one in (old, new, old, new)), return_exceptions=True)
        assert all(isinstance(end, bool | Unsettled) for end in ends), ends
    await mend(own_kube, new)
    assert await mend(own_kube, new) is False
    assert "'admin'" not in str(await picture(own_kube, entrant))
    await close(own_kube, entrant, accounts=accounts)


async def test_one_makes_while_another_closes(own_kube, accounts):
    entrant = an_entrant()
    door = a_door(entrant, accounts, reading(), reading())
    for _ in range(5):
        ends = await asyncio.gather(
            *(mend(own_kube, door), close(own_kube, entrant, accounts=accounts), make(own_kube, door)),
            return_exceptions=True,
        )
        assert all(end is None or isinstance(end, bool | Unsettled) for end in ends), ends
    await close(own_kube, entrant, accounts=accounts)
    assert not await parts_of(own_kube, entrant)


async def test_whoever_stops_in_between_leaves_nothing_under_way(own_kube, accounts):
    door = a_door(an_entrant(), accounts, *(reading() for _ in range(20)))
    before = asyncio.all_tasks()
    making = asyncio.create_task(make(own_kube, door))
    for _ in range(3):
        await asyncio.sleep(0)  # a round of the loop: the first calls are begun
    assert len(asyncio.all_tasks()) > len(before) + 20
    making.cancel()
    await asyncio.wait([making])
    await until(lambda: asyncio.all_tasks() <= before, "nothing is under way")
    await close(own_kube, door.entrant, accounts=accounts)


async def test_roles_of_an_identity_provider(own_kube, accounts):
    entrant, name = an_entrant(), unique("reader")
    subjects = [{"kind": "User", "name": "jane"}, {"kind": "Group", "name": "::system:masters"}]
    bound = {"subjects": subjects, "roleRefs": [{"kind": "ClusterRole", "name": name}]}
    door = oidc_door(entrant, oidc(roles=[reading(name=name)], roleBindings=[bound]))
    await make(own_kube, door)
    assert set(await parts_of(own_kube, entrant)) == parts(door)
    assert await mend(own_kube, door) is False
    fewer = {**bound, "subjects": subjects[:1]}
    await mend(own_kube, oidc_door(entrant, oidc(roles=[reading(name=name)], roleBindings=[fewer])))
    (binding,) = [one for (kind, _), one in (await parts_of(own_kube, entrant)).items() if kind == "ClusterRoleBinding"]
    assert binding["subjects"] == [{"kind": "User", "name": "corp:jane", "apiGroup": RBAC}]
    # From a provider's users to a token: what was for them goes.
    await mend(own_kube, a_door(entrant, accounts))
    assert {kind for kind, _ in await parts_of(own_kube, entrant)} == {"ServiceAccount"}
    await close(own_kube, entrant, accounts=accounts)

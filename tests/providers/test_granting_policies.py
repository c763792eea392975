"""Who may enter, as the granting side sees it alone: labels, policies, creators, and hands that try to pass them by."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from granting_kit import LABELS, PROFILE, READ_PODS, Gate, Porter, a_gate, closed, let_in, login, refused
from provider_kit import WorkshopConfig

from mooring.access.admission import admission_objects
from mooring.api.access import AccessRequest
from mooring.api.clusters import ClusterProfile
from mooring.api.marks import GRANT_FINALIZER, PROVIDER_LABEL
from mooring.entry.creators import REVIEWS, stamp_of
from mooring.entry.resources import NAMESPACES, PARTS, SECRETS
from mooring.kube import Client, typed
from mooring.kube.credentials import bearer
from mooring.kube.errors import AlreadyExists, Forbidden, ServerError
from mooring.testing.builders import SERVICE_ACCOUNTS, an_object, namespace_object, service_account
from mooring.testing.managers import heard, until

ASKING = {"apiGroups": ["clusters.openmcp.cloud"], "resources": ["accessrequests"], "verbs": ["create"]}
TOKEN = {"token": {"permissions": [{"rules": [READ_PODS]}]}}
RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = PARTS["ClusterRole"], PARTS["ClusterRoleBinding"]


@pytest.fixture
async def gate(world, kube):
    async with a_gate(world, kube, provider=Porter) as gate:
        yield gate


# -- labels, and what they do not open --------------------------------------------------------------------------------


async def test_the_right_labels_open_nothing_from_a_foreign_namespace(gate: Gate) -> None:
    """Nobody has prepared this one: whoever wrote the labels knew what they have to be."""
    async with gate.granting():
        there = await another_namespace(gate)
        request = await asked_from(gate, there)
        denied = await gate.world.becomes(AccessRequest, "mine", is_denied, "is denied", namespace=there)
        assert (denied.status.reason, denied.status.secret_ref) == ("ForeignNamespace", None)
        assert denied.metadata.finalizers == ()
        assert await gate.parts(request) == {}
        assert (await gate.world.kube.list(SECRETS, namespace=there)).items == []


async def test_labels_that_become_wrong_close_the_door(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": {PROVIDER_LABEL: "other"}}})
        await closed(gate, request, "WrongLabel")
        await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": LABELS}})
        await gate.granted()
        await let_in(await gate.entry())


OUT_OF_REACH = {"metadata": {"finalizers": None, "labels": {PROVIDER_LABEL: "other"}}}


async def test_no_hand_puts_a_door_out_of_reach(gate: Gate) -> None:
    """Without our finalizer and with a wrong label it looks like somebody else's; but its Secret is there."""
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        await gate.world.patch(AccessRequest, "mine", OUT_OF_REACH)
        await closed(gate, request, "WrongLabel")


async def test_a_door_that_nothing_on_the_platform_tells_of_is_found_in_the_cluster(gate: Gate) -> None:
    async with gate.granting() as manager:
        request = await gate.ask()
        await gate.granted()
        # Left alone, so that all of it happens before anybody looks.
        await gate.annotate("mine", "ignore")
        await gate.touch_secret({"metadata": {"ownerReferences": None, "labels": None}})
        await heard(manager, await gate.world.patch(AccessRequest, "mine", OUT_OF_REACH))
        await gate.remove_secret()
        await gate.annotate("mine", None)
        assert set(await gate.parts(request)) == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Secret"}
        await gate.sweep()
        await closed(gate, request, "WrongLabel")


# -- policies ---------------------------------------------------------------------------------------------------------


async def test_a_policy_that_becomes_stricter_closes_doors(gate: Gate) -> None:
    async with gate.granting() as manager:
        await gate.world.ready()
        await heard(manager, await policy_is(gate, "All"))
        there = await another_namespace(gate)
        request = await asked_from(gate, there)
        granted = await gate.world.becomes(AccessRequest, "mine", _has_secret, "is granted", namespace=there)
        assert granted.status.phase == "Granted"
        await policy_is(gate, "SameNamespace")
        denied = await gate.world.becomes(AccessRequest, "mine", is_denied, "is denied", namespace=there)
        assert (denied.status.reason, denied.status.secret_ref) == ("ForeignNamespace", None)
        assert await gate.parts(request) == {}
        assert (await gate.world.kube.list(SECRETS, namespace=there)).items == []


async def test_creators_must_be_allowed_and_are_asked_again(gate: Gate) -> None:
    await stamping(gate)
    async with gate.granting() as manager:
        await gate.world.ready()
        request = await asked_by(gate, await somebody(gate, ASKING))
        await gate.granted()
        await heard(manager, await policy_is(gate, "Creator"))
        await closed(gate, request, "CreatorMayNot")
        binding = await let_enter(gate, request)
        await _look_until_granted(gate)
        entry = await gate.entry()
        await let_in(entry)
        await gate.world.kube.delete(BINDINGS, binding)

        async def rotated():
            await gate.annotate("mine", "rotate")
            return (await gate.world.get(AccessRequest, "mine")).status.phase == "Denied"

        await until(rotated, "she may enter no more")
        await closed(gate, request, "CreatorMayNot")
        await refused(entry)

        # Whoever prepares requests may be the one who notices.
        await let_enter(gate, request, again=True)
        await _look_until_granted(gate)
        await gate.world.kube.delete(BINDINGS, binding)
        await _not_any_more(gate, request)
        told = {"phase": "Denied", "reason": "CreatorMayNot", "secretRef": None}
        ready = {"type": "Ready", "status": "False", "reason": "CreatorMayNot", "message": ""}
        told["conditions"] = [{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        await gate.world.patch(AccessRequest, "mine", {"status": told}, subresource="status")
        await closed(gate, request, "CreatorMayNot")


async def test_no_issuer_is_trusted_for_somebody_who_may_not_enter(gate: Gate) -> None:
    """Our finalizer on it and left alone, it looks like one that was granted before."""
    await stamping(gate)
    async with gate.granting() as manager:
        await gate.world.ready()
        await heard(manager, await policy_is(gate, "Creator"))
        jane = await somebody(gate, ASKING)
        forged = {
            "labels": LABELS,
            "finalizers": [GRANT_FINALIZER],
            "annotations": {"openmcp.cloud/operation": "ignore"},
        }
        request = await asked_by(gate, jane, metadata=forged, oidc=login("evil", "https://evil.example"))
        await heard(manager, request)
        await gate.sweep()
        assert gate.trusted == []
        # What she may do is asked anew at each look.
        binding = await let_enter(gate, request)

        async def is_trusted():
            await gate.sweep()
            return gate.trusted == ["https://evil.example"]

        async def is_not():
            await gate.sweep()
            return gate.trusted == []

        await until(is_trusted, "the issuer of somebody who may enter is trusted")
        await gate.world.kube.delete(BINDINGS, binding)
        await until(is_not, "it is forgotten when she may enter no more")


# -- identity providers that do not answer ----------------------------------------------------------------------------


async def test_what_was_given_ends_though_what_is_wanted_instead_cannot_be_had(gate: Gate) -> None:
    """A token before, and now an identity provider that does not answer."""
    gate.silent.add("https://late.example")
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        entry = await gate.entry()
        wish = login("late", "https://late.example")
        await gate.world.patch(AccessRequest, "mine", {"spec": {"token": None, "oidc": wish}})
        told = await gate.standing("mine", "IssuerNotTrusted")
        assert (told.status.phase, told.status.secret_ref, await gate.secret()) == ("Pending", None, None)
        assert await gate.parts(request) == {}
        await refused(entry)
        gate.silent.clear()
        await gate.granted()
        assert set(await gate.parts(request)) == {"ClusterRole", "ClusterRoleBinding"}
        # Its roles become fewer while another is waited for: they do not wait for that.
        gate.silent.add("https://later.example")
        fewer = {"issuer": "https://later.example", "roles": [], "roleBindings": []}
        await gate.world.patch(AccessRequest, "mine", {"spec": {"oidc": fewer}})
        await gate.standing("mine", "IssuerNotTrusted")
        assert await gate.parts(request) == {}


# -- who does what ----------------------------------------------------------------------------------------------------


async def policy_is(gate: Gate, policy):
    """The platform's owner says who may enter; the provider publishes it."""
    await gate.world.patch(WorkshopConfig, "house", {"spec": {"access": {"policy": policy}}})
    published = lambda one: one.spec.access is not None and one.spec.access.policy == policy  # noqa: E731
    return await gate.world.becomes(ClusterProfile, PROFILE, published, f"says {policy}")


async def another_namespace(gate: Gate):
    name = f"{gate.world.namespace}-b"
    await gate.world.kube.create(NAMESPACES, namespace_object(name))
    return name


async def asked_from(gate: Gate, namespace):
    home = {"name": "one", "namespace": gate.world.namespace}
    spec = {"clusterRef": home, "token": {"permissions": []}}
    return await gate.world.create(AccessRequest, "mine", metadata={"labels": LABELS}, namespace=namespace, spec=spec)


async def asked_by(gate: Gate, who, *, metadata=None, **way):
    """A request of somebody who may do no more than ask."""
    body = an_object(
        AccessRequest, "mine", gate.world.namespace, spec={"clusterRef": {"name": "one"}, **(way or TOKEN)}
    )
    body["metadata"] |= metadata or {"labels": LABELS}
    async with Client(who) as client:

        async def created():
            with contextlib.suppress(Forbidden):  # servers learn of new bindings a moment later
                return await client.create(typed(AccessRequest), body)

        return await until(created, "she may ask")


def is_denied(request) -> bool:
    return request.status is not None and request.status.phase == "Denied"


def _has_secret(request) -> bool:
    return request.status is not None and request.status.secret_ref is not None


async def _look_until_granted(gate: Gate):
    async def asked_again():
        await gate.annotate("mine", "reconcile")
        return (await gate.world.get(AccessRequest, "mine")).status.phase == "Granted"

    await until(asked_again, "she may enter")


async def _not_any_more(gate: Gate, request):
    """Until the server has heard of it, too."""
    place = {"group": "clusters.openmcp.cloud", "resource": "clusters", "verb": "access", "name": "one"}
    place |= {"namespace": gate.world.namespace}
    review = {"spec": {"user": stamp_of(request).user, "resourceAttributes": place}}

    async def is_so():
        return not (await gate.world.kube.create(REVIEWS, review))["status"]["allowed"]

    await until(is_so, "the server lets her not enter any more")


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


async def let_enter(gate: Gate, request, *, again=False):
    """Give its creator the right to enter clusters; gives the name of the binding."""
    rule = {"apiGroups": ["clusters.openmcp.cloud"], "resources": ["clusters"], "verbs": ["access"]}
    subject = {"apiGroup": RBAC, "kind": "User", "name": stamp_of(request).user}
    return await bound(gate, f"enter-{gate.world.namespace}", rule, subject, has_role=again)


async def bound(gate: Gate, name, rule, subject, *, has_role=False):
    about = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    if not has_role:
        await gate.world.kube.create(ROLES, {**about, "kind": "ClusterRole", "rules": [rule]})
    binding = {**about, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": role}
    await gate.world.kube.create(BINDINGS, binding)
    return name

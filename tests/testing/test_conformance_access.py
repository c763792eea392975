"""How the suite asks for access, enters clusters, and reads what it is given."""

from __future__ import annotations

import base64
import json
import sys
import uuid
from pathlib import Path

import pytest

from mooring.api.marks import MANAGED_BY_LABEL, MANAGED_BY_MOORING, PROFILE_LABEL, PROVIDER_LABEL
from mooring.kube import MergePatch, connection_from_document, key_of
from mooring.testing.builders import NAMESPACES, access_request, cluster_profile, namespace_object
from mooring.testing.conformance import Outcome, Settings, check_provider, command_subject
from mooring.testing.conformance.asking import (
    ACCESS_REQUESTS,
    PROFILES,
    call_pending,
    explanation_in,
    how_it_stands,
    is_granted,
    take_back,
)
from mooring.testing.conformance.checks import Unmet
from mooring.testing.conformance.entrants import Deed, entered, kubeconfig_in, secret_of, users_in

PLAIN = (sys.executable, str(Path(__file__).parent / "plain_provider.py"))


async def test_clusters_that_cannot_be_reached_from_here(own_plane):
    """What can be seen without entering is checked all the same."""
    there = connection_from_document(own_plane.admin_kubeconfig(name="own"))
    report = await check_provider(command_subject([*PLAIN, "unreachable"]), there, Settings(only=["access"]))
    assert report.named(Outcome.FAILED) == []
    assert set(report.named(Outcome.SKIPPED)) == {
        "access.token",
        "access.nothing-else",
        "access.token-namespace",
        "access.token-no-namespace",
        "access.token-role-refs",
        "access.change",
        "access.deletion",
    }
    assert "the cluster at https://127.0.0.1:1 cannot be reached from here" in report.of("access.token").why


# -- preparing --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def house(own_kube):
    """A namespace, and a profile of the same name that goes, too."""
    name = f"house-{uuid.uuid4().hex[:8]}"
    await own_kube.create(NAMESPACES, namespace_object(name))
    await own_kube.create(PROFILES, cluster_profile(name, provider=name))
    yield name
    await own_kube.delete(PROFILES, name)
    await own_kube.delete(NAMESPACES, name)


async def asked(kube, house, **status):
    body = access_request("mine", house)
    body["metadata"]["labels"] = {PROVIDER_LABEL: house, PROFILE_LABEL: house}
    key = key_of(await kube.create(ACCESS_REQUESTS, body))
    if status:
        patch = MergePatch({"status": status})
        await kube.patch(ACCESS_REQUESTS, "mine", patch, namespace=house, subresource="status")
    return key


async def status_there(kube, key):
    return (await kube.get(ACCESS_REQUESTS, key.name, namespace=key.namespace)).get("status")


async def test_a_request_is_called_pending_until_it_is_answered(own_kube, house):
    key = await asked(own_kube, house)
    await call_pending(own_kube, key)
    assert await status_there(own_kube, key) == {"phase": "Pending", "observedGeneration": 1}
    granted = MergePatch({"status": {"phase": "Granted"}})
    await own_kube.patch(ACCESS_REQUESTS, key.name, granted, namespace=house, subresource="status")
    await call_pending(own_kube, key)
    assert (await status_there(own_kube, key))["phase"] == "Granted", "it was answered as it is"
    await own_kube.patch(ACCESS_REQUESTS, key.name, MergePatch({"spec": {"ttl": "1h"}}), namespace=house)
    await call_pending(own_kube, key)
    assert await status_there(own_kube, key) == {"phase": "Pending", "observedGeneration": 2}


async def test_providers_that_look_for_themselves_are_not_told_again(own_kube, house):
    labels = MergePatch({"metadata": {"labels": {MANAGED_BY_LABEL: MANAGED_BY_MOORING}}})
    await own_kube.patch(PROFILES, house, labels)
    key = await asked(own_kube, house, phase="Granted", observedGeneration=1)
    await own_kube.patch(ACCESS_REQUESTS, key.name, MergePatch({"spec": {"ttl": "1h"}}), namespace=house)
    await call_pending(own_kube, key)
    assert await status_there(own_kube, key) == {"phase": "Granted", "observedGeneration": 1}


async def test_a_request_that_is_held_is_called_pending_when_it_is_deleted(own_kube, house):
    key = await asked(own_kube, house, phase="Granted", observedGeneration=1)
    holding = MergePatch({"metadata": {"finalizers": ["example.com/held"]}})
    await own_kube.patch(ACCESS_REQUESTS, key.name, holding, namespace=house)
    await take_back(own_kube, key)
    assert await status_there(own_kube, key) == {"phase": "Pending", "observedGeneration": 2}
    await own_kube.patch(ACCESS_REQUESTS, key.name, MergePatch({"metadata": {"finalizers": None}}), namespace=house)
    await take_back(own_kube, key)  # and one that is gone


# -- reading ----------------------------------------------------------------------------------------------------------


def request_with(**status):
    return {"metadata": {"name": "mine", "namespace": "there", "generation": 2}, "status": status}


def test_where_a_request_stands():
    granted = request_with(phase="Granted", observedGeneration=2, secretRef={"name": "key"})
    assert is_granted(granted)
    assert how_it_stands(granted) == "phase 'Granted', secretRef key, finalizers none"
    assert not is_granted(request_with(phase="Granted", observedGeneration=1))
    assert "of another generation" in how_it_stands(request_with(phase="Granted", observedGeneration=1))
    assert how_it_stands({}) == "it is gone"


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"phase": "Denied", "reason": "No", "message": "because"}, "No: because"),
        ({"phase": "Pending", "conditions": [{"type": "A", "status": "False", "reason": "Waits"}]}, "Waits: "),
        ({"phase": "Pending", "conditions": [{"type": "A", "status": "True", "reason": "Fine"}]}, ""),
        ({"phase": "Pending"}, ""),
    ],
)
def test_why_a_request_is_not_granted(status, told):
    assert explanation_in(request_with(**status)) == told


def secret_with(**texts):
    data = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
    return {"metadata": {"name": "key"}, "data": data}


def test_who_is_in_a_kubeconfig():
    assert users_in(secret_with(kubeconfig=json.dumps({"users": [{"user": {"token": "x"}}, {}]}))) == [
        {"token": "x"},
        {},
    ]
    assert users_in(secret_with(kubeconfig="{}")) == []
    with pytest.raises(Unmet, match="something else"):
        users_in(secret_with(kubeconfig="[just, words]"))
    with pytest.raises(Unmet, match="the Secret key has token"):
        kubeconfig_in(secret_with(token="x"))
    with pytest.raises(Unmet, match="the Secret key has nothing"):
        kubeconfig_in(secret_with())


async def test_a_kubeconfig_for_a_token_is_data_only():
    program = {"users": [{"name": "a", "user": {"exec": {"command": "rm"}}}]}
    with pytest.raises(Unmet, match="exec"):
        async with entered(secret_with(kubeconfig=json.dumps(program))):
            pass


async def test_a_secret_that_is_not_there(own_kube, house):
    with pytest.raises(Unmet, match="there is none"):
        await secret_of(own_kube, request_with(phase="Granted"))
    lost = request_with(phase="Granted", secretRef={"name": "lost"})
    lost["metadata"]["namespace"] = house
    with pytest.raises(Unmet, match="no Secret lost"):
        await secret_of(own_kube, lost)


def test_deeds_in_words():
    assert str(Deed("get", "pods", "here")) == "get pods in here"
    assert str(Deed("create", "roles", group="rbac.authorization.k8s.io")) == (
        "create roles.rbac.authorization.k8s.io everywhere"
    )

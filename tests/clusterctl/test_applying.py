"""Many deeds side by side, and the waves in which objects go."""

from __future__ import annotations

import asyncio

import pytest

from mooring.clusterctl.applying import side_by_side, waves
from mooring.kube import Object


async def test_the_first_failure_ends_it_when_nothing_is_under_way_any_more():
    begun, finished = [], []
    others_may_go = asyncio.Event()

    async def deed(number: int) -> None:
        begun.append(number)
        if number == 2:
            others_may_go.set()
            raise ValueError("it sank")
        await others_may_go.wait()
        await asyncio.sleep(0)
        finished.append(number)

    with pytest.raises(ValueError, match="it sank"):
        await side_by_side([deed(number) for number in range(9)], at_once=3)
    assert begun == [0, 1, 2]
    assert finished == [0, 1]


async def test_who_is_cancelled_leaves_nothing_behind():
    """Deeds that never began would be told of as never awaited, which fails a test."""
    begun = asyncio.Event()

    async def deed() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def interrupt(doing: asyncio.Task[None]) -> None:
        await begun.wait()
        doing.cancel()
        await doing

    with pytest.raises(asyncio.CancelledError):
        await interrupt(asyncio.create_task(side_by_side([deed() for _ in range(9)], at_once=2)))


def one(kind: str, group: str = "", name: str = "x", **more: object) -> Object:
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": {"name": name}, **more}


def test_waves():
    defining = {"spec": {"group": "dock.example.com", "names": {"kind": "Dock"}}}
    objects = [
        one("ValidatingWebhookConfiguration", "admissionregistration.k8s.io"),
        one("Deployment", "apps"),
        one("Dock", "dock.example.com"),
        one("CustomResourceDefinition", "apiextensions.k8s.io", **defining),
        one("ClusterRoleBinding", "rbac.authorization.k8s.io"),
        one("ConfigMap", data={"first": "1"}),
        one("ConfigMap", data={"second": "2"}),
        one("Certificate", "cert-manager.io"),
        one("ClusterRole", "rbac.authorization.k8s.io"),
        one("ServiceAccount"),
        one("Namespace"),
    ]
    kinds = [[run[0]["kind"] for run in wave] for wave in waves(objects)]
    assert kinds == [
        ["Namespace"],
        ["Certificate", "ClusterRole", "ServiceAccount"],
        ["CustomResourceDefinition", "ClusterRoleBinding", "ConfigMap"],
        ["Dock"],
        ["Deployment"],
        ["ValidatingWebhookConfiguration"],
    ]
    same = next(run for wave in waves(objects) for run in wave if run[0]["kind"] == "ConfigMap")
    assert [each["data"] for each in same] == [{"first": "1"}, {"second": "2"}]  # one after the other: the last wins

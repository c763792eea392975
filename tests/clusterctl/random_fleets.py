"""Clusters to describe that nobody has thought up: made by chance, the same ones for the same seed.

Two groups of the same size below one parent are avoided (DEVIATION describe-equal-groups).
"""

from __future__ import annotations

from random import Random
from typing import Any

from clusters import (
    CLUSTER_LABEL,
    cluster,
    condition,
    conditions,
    harbor_cluster,
    harbor_machine,
    harbor_machine_pool,
    harbor_machine_template,
    kubeadm_config,
    kubeadm_config_template,
    kubeadm_control_plane,
    machine,
    machine_deployment,
    machine_pool,
    machine_set,
    old_condition,
    owner,
    put,
    resource_set_binding,
)

from mooring.kube import Client, Object

STATUSES = ("True", "False", "Unknown")
SEVERITIES = ("", "Info", "Warning", "Error")
TYPES = ("Available", "Ready", "UpToDate", "Paused", "Deleting", "ScalingUp", "Remediating", "NodeHealthy", "Ünruly")
WORDS = ("anchor", "bilge", "* crow", "漢字", "é", "👩\u200d🚀", "☃", "x" * 40, "\n", "\n  * ", "\t", "  ", "ﾊ", "→")


class Fleet:
    """One cluster, with a chance of everything."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client, self._namespace, self.name = client, namespace, name
        self._chance = Random(name)

    async def make(self) -> None:
        control_plane = await self._put(
            kubeadm_control_plane,
            "cp",
            replicas=self._maybe(self._chance.randrange(5)),
            version=self._maybe("v1.36.0") or "",
            template=self._maybe(await self._put(harbor_machine_template, "cp")),
            status=self._status(replicas=True),
        )
        infrastructure = await self._put(harbor_cluster, "infra", status=self._status())
        await put(
            self._client,
            cluster(
                self.name,
                self._namespace,
                control_plane=self._maybe(control_plane),
                infrastructure=self._maybe(infrastructure),
                topology=self._maybe({"classRef": {"name": "boat"}, "version": "v1.36.1"}),
                status=self._status(controlPlane=self._counts(), workers=self._counts()),
            ),
        )
        await self._machines("cp", owner(control_plane), is_control_plane=True)
        for index in range(self._chance.randrange(3)):
            await self._deployment(f"md-{index}")
        for index in range(self._chance.randrange(3)):
            await self._pool(f"mp-{index}")
        if self._chance.random() < 0.5:
            await self._machines("adrift", None)
        if self._chance.random() < 0.5:
            sets = self._chance.sample(["net", "store", "log"], self._chance.randrange(4))
            await put(self._client, resource_set_binding(self.name, self._namespace, sets=sets))

    async def _deployment(self, name: str) -> None:
        template = await self._put(harbor_machine_template, name)
        bootstrap = self._maybe(await self._put(kubeadm_config_template, name))
        given = {"cluster": self.name, "infrastructure": template, "bootstrap": bootstrap}
        many = self._maybe(self._chance.randrange(9))
        deployment = await self._put(
            machine_deployment, name, replicas=many, status=self._status(replicas=True), **given
        )
        for part in ("empty", "full"):
            status, owners = self._status(replicas=True), [owner(deployment)]
            machines = await self._put(
                machine_set, f"{name}-{part}", replicas=many, status=status, owners=owners, **given
            )
        await self._machines(name, owner(machines))

    async def _pool(self, name: str) -> None:
        given = {
            "infrastructure": self._maybe(await self._put(harbor_machine_pool, name, status=self._status())),
            "bootstrap": self._maybe(await self._put(kubeadm_config, name, status=self._status())),
        }
        pool = await self._put(machine_pool, name, cluster=self.name, status=self._status(replicas=True), **given)
        await self._machines(name, owner(pool))

    async def _machines(self, name: str, owned_by: Object | None, **given: Any) -> None:
        """One more in each further state."""
        count = 0
        for many in range(1, self._chance.randrange(2, 4)):
            looks = self._status()
            for _ in range(many):
                count += 1
                await self._machine(f"{name}-{count}", looks, owners=[owned_by] if owned_by else [], **given)

    async def _machine(self, name: str, status: Object, **given: Any) -> None:
        labels = {CLUSTER_LABEL: self.name}
        infrastructure = await self._put(harbor_machine, name, labels=labels, status=self._status())
        bootstrap = self._maybe(await self._put(kubeadm_config, name, labels=labels, status=self._status()))
        held = {"finalizers": ["harbor.example/held"]} if self._chance.random() < 0.15 else {}
        made = await self._put(
            machine,
            name,
            cluster=self.name,
            infrastructure=infrastructure,
            bootstrap=bootstrap,
            status=status,
            **held,
            **given,
        )
        if held:
            resource = await self._client.resource(made["apiVersion"], made["kind"])
            await self._client.delete(resource, made["metadata"]["name"], namespace=self._namespace)

    async def _put(self, make: Any, name: str, **given: Any) -> Object:
        return await put(self._client, make(f"{self.name}-{name}", self._namespace, **given))

    def _status(self, *, replicas: bool = False, **fields: Any) -> Object:
        chance = self._chance
        now = [
            condition(kind, chance.choice(STATUSES), chance.choice(("", "Why", "Because")), self._message())
            for kind in TYPES
            if chance.random() < 0.4
        ]
        old = [
            old_condition(
                kind, chance.choice(STATUSES), chance.choice(SEVERITIES), chance.choice(("", "Why")), self._message()
            )
            for kind in TYPES
            if chance.random() < 0.4
        ]
        place = chance.choice(("deprecated", "first", "v1beta2"))
        if place == "first":  # a provider that never left v1beta1
            return {"conditions": old, **(self._counts() if replicas else {}), **fields}
        status = conditions(*now, old=old, **(self._counts() if replicas else {}), **fields)
        if place == "v1beta2":
            status |= {"conditions": old, "v1beta2": {"conditions": now}}
        return status

    def _counts(self) -> Object:
        names = ("replicas", "desiredReplicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
        return {name: self._chance.randrange(9) for name in names if self._chance.random() < 0.7}

    def _message(self) -> str:
        count = self._chance.choice((0, 0, 1, 3, 30))
        return " ".join(self._chance.choice(WORDS) for _ in range(count))

    def _maybe(self, thing: Any) -> Any:
        return thing if self._chance.random() < 0.75 else None

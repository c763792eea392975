"""Clusters to describe: an ordinary one with some of everything, and others that are odd in one way each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from clusters import (
    CLUSTER_LABEL,
    CONTROL_PLANE,
    CONTROL_PLANE_LABEL,
    an_object,
    cluster,
    condition,
    conditions,
    definition,
    harbor_cluster,
    harbor_cluster_identity,
    harbor_machine,
    harbor_machine_pool,
    harbor_machine_template,
    kubeadm_config,
    kubeadm_config_template,
    kubeadm_control_plane,
    machine,
    machine_deployment,
    machine_health_check,
    machine_pool,
    machine_set,
    old_condition,
    owner,
    put,
    resource_set_binding,
)

from mooring.kube import Client, Object

LONG = (
    "* Machine harbour-cp-3:\n"
    "  * EtcdPodHealthy: Waiting for an explanation that goes on and on, word by word, until the line has to be broken "
    "somewhere in the middle of it\n"
    "* another bullet"
)
# Kinds whose definitions say something else than today's.
OLD_CONTROL_PLANE = definition(
    CONTROL_PLANE, "OldControlPlane", versions=("v1beta1", "v1alpha4"), contracts={"v1beta1": "v1alpha4_v1beta1"}
)
SILENT_MACHINE = definition("infrastructure.cluster.x-k8s.io", "SilentMachine", contracts={})
BOTH_MACHINE = definition(
    "infrastructure.cluster.x-k8s.io",
    "BothMachine",
    versions=("v1beta2", "v1alpha1", "v1"),
    contracts={"v1beta1": "v1alpha1", "v1beta2": "v1beta2_v1"},
)
MORE_DEFINITIONS = (OLD_CONTROL_PLANE, SILENT_MACHINE, BOTH_MACHINE)

Story = Callable[[Client, str], Awaitable[None]]
STORIES: dict[str, Story] = {}


def story(name: str) -> Callable[[Story], Story]:
    """The story of the cluster of this name."""

    def told(make: Story) -> Story:
        STORIES[name] = make
        return make

    return told


async def _machine(client: Client, name: str, namespace: str, state: str = "True", **given: Any) -> Object:
    """With infrastructure and bootstrap configuration that say the same, in other words."""
    labels = {CLUSTER_LABEL: given["cluster"]}
    infrastructure = await put(
        client,
        harbor_machine(
            name, namespace, labels=labels, status=conditions(condition("Ready", state, message="é 漢字 😀"))
        ),
    )
    bootstrap = await put(
        client, kubeadm_config(name, namespace, labels=labels, status=conditions(condition("Ready", state)))
    )
    status = conditions(
        condition("Available", state),
        condition("Ready", state, message="" if state == "True" else LONG),
        condition("UpToDate"),
        old=[old_condition("Ready", state, "" if state == "True" else "Warning", "Storm")],
    )
    made = machine(
        name,
        namespace,
        infrastructure=infrastructure,
        bootstrap=bootstrap,
        **{"status": status, **given},
    )
    return await put(client, made)


@story("harbour")
async def ordinary(client: Client, namespace: str) -> None:
    """Some of everything, not all of it well."""
    template = await put(client, harbor_machine_template("harbour-cp", namespace))
    waiting = condition("Ready", "False", "Waiting", "the pier is not built")
    infrastructure = await put(
        client,
        harbor_cluster(
            "harbour",
            namespace,
            status=conditions(waiting, old=[old_condition("Ready", "False", "Error", "Waiting", "the pier")]),
        ),
    )
    control_plane = await put(
        client,
        kubeadm_control_plane(
            "harbour-cp",
            namespace,
            replicas=3,
            template=template,
            status=conditions(
                condition("Available"),
                condition("Paused", "False"),
                condition("MachinesReady", "False", message=LONG),
                old=[old_condition("Ready"), old_condition("Available", "False", "Warning", "Sad", "x" * 150)],
                replicas=3,
                readyReplicas=2,
                availableReplicas=2,
                upToDateReplicas=3,
            ),
        ),
    )
    await put(
        client,
        cluster(
            "harbour",
            namespace,
            infrastructure=infrastructure,
            control_plane=control_plane,
            topology={"classRef": {"name": "pier"}, "version": "v1.36.1"},
            status=conditions(
                condition("Available", "False", message=LONG),
                condition("Paused", "False"),
                condition("Deleting", "False", message="not yet"),
                condition("ScalingUp", "Unknown"),
                condition("RollingOut"),
                old=[
                    old_condition("Ready", "False", "Info", "Waits", "two\nlines"),
                    old_condition("ControlPlaneReady", "Unknown"),
                ],
                controlPlane={"replicas": 3, "desiredReplicas": 3, "availableReplicas": 2},
                workers={"replicas": 5, "readyReplicas": 4, "upToDateReplicas": 0},
            ),
        ),
    )
    for index, state in enumerate(("True", "True", "False"), 1):
        name = f"harbour-cp-{index}"
        given = {"cluster": "harbour", "is_control_plane": True, "owners": [owner(control_plane)]}
        await _machine(client, name, namespace, state, **given)
    await _workers(client, namespace)
    await put(client, resource_set_binding("harbour", namespace, sets=["storage", "net"]))
    await _health_checks(client, namespace)


async def _workers(client: Client, namespace: str) -> None:
    template = await put(client, harbor_machine_template("harbour-md", namespace))
    bootstrap = await put(client, kubeadm_config_template("harbour-md", namespace))
    deployment = await put(
        client,
        machine_deployment(
            "harbour-md",
            namespace,
            cluster="harbour",
            replicas=4,
            infrastructure=template,
            bootstrap=bootstrap,
            status=conditions(
                condition("Available", "Unknown", "Fog", "漢字 ☃"),
                replicas=4,
                readyReplicas=3,
                availableReplicas=1,
                upToDateReplicas=4,
            ),
        ),
    )
    machines = await put(
        client,
        machine_set(
            "harbour-md-1",
            namespace,
            cluster="harbour",
            replicas=4,
            infrastructure=template,
            owners=[owner(deployment)],
            status=conditions(condition("MachinesReady"), replicas=4, readyReplicas=3),
        ),
    )
    for index in range(1, 5):
        status = conditions(condition("Ready", "True" if index < 4 else "Unknown"))
        given = {"cluster": "harbour", "owners": [owner(machines)], "status": status, "labels": {"pool": "md"}}
        await _machine(client, f"harbour-md-{index}", namespace, **given)
    pooled = await put(
        client, harbor_machine_pool("harbour-mp", namespace, status=conditions(condition("Ready", "False", "Down")))
    )
    pool = await put(
        client,
        machine_pool(
            "harbour-mp",
            namespace,
            cluster="harbour",
            infrastructure=pooled,
            status=conditions(condition("Ready"), replicas=2),
        ),
    )
    await put(client, machine("harbour-mp-0", namespace, cluster="harbour", owners=[owner(pool)]))
    await put(client, machine("harbour-adrift", namespace, cluster="harbour", version="", status=conditions()))


async def _health_checks(client: Client, namespace: str) -> None:
    counted = conditions(condition("RemediationAllowed"), expectedMachines=3, currentHealthy=2)
    for name, selector in (
        ("harbour-cp", {CONTROL_PLANE_LABEL: ""}),
        ("harbour-md", {"pool": "md"}),
        ("harbour-all", {}),
    ):
        await put(client, machine_health_check(name, namespace, cluster="harbour", selector=selector, status=counted))


@story("bare")
async def bare(client: Client, namespace: str) -> None:
    """A cluster and nothing else."""
    await put(client, cluster("bare", namespace))


@story("lost")
async def lost(client: Client, namespace: str) -> None:
    """Whatever is named is not there, or is of a kind that is not, or that does not say what it can."""
    silent = await put(client, an_object("infrastructure.cluster.x-k8s.io/v1beta2", "SilentMachine", "lost", namespace))
    unknown = an_object("infrastructure.cluster.x-k8s.io/v1beta2", "GhostMachine", "lost", namespace)
    gone = harbor_machine("lost", namespace)
    await put(
        client,
        cluster(
            "lost",
            namespace,
            infrastructure=harbor_cluster("lost", namespace),
            control_plane=kubeadm_control_plane("lost", namespace),
            status=conditions(condition("Available", "Unknown")),
        ),
    )
    for name, infrastructure in (("silent", silent), ("unknown", unknown), ("gone", gone)):
        status = conditions(condition("Ready", "False", name.title()))
        await put(
            client, machine(f"lost-{name}", namespace, cluster="lost", infrastructure=infrastructure, status=status)
        )
    await put(client, machine("lost-cp", namespace, cluster="lost", is_control_plane=True))


@story("sinking")
async def sinking(client: Client, namespace: str) -> None:
    """Being deleted, and paused."""
    held = {"finalizers": ["harbor.example/held"]}
    infrastructure = await put(client, harbor_cluster("sinking", namespace, **held))
    control_plane = await put(
        client,
        kubeadm_control_plane("sinking", namespace, replicas=None, version="", **held, status=conditions(replicas=1)),
    )
    root = await put(
        client,
        cluster(
            "sinking",
            namespace,
            infrastructure=infrastructure,
            control_plane=control_plane,
            paused=True,
            **held,
            status=conditions(condition("Paused", "True"), condition("Deleting", "True", message="it goes")),
        ),
    )
    one = await put(
        client,
        machine(
            "sinking-1",
            namespace,
            cluster="sinking",
            is_control_plane=True,
            **held,
            status=conditions(condition("Ready")),
        ),
    )
    await put(
        client,
        machine(
            "sinking-2", namespace, cluster="sinking", is_control_plane=True, status=conditions(condition("Ready"))
        ),
    )
    for thing in (root, control_plane, infrastructure, one):
        resource = await client.resource(thing["apiVersion"], thing["kind"])
        await client.delete(resource, thing["metadata"]["name"], namespace=namespace)


@story("fleet")
async def fleet(client: Client, namespace: str) -> None:
    """Many machines in few states; two deployments that share a template; a set that nobody owns."""
    template = await put(client, harbor_machine_template("fleet", namespace))
    control_plane = await put(
        client,
        kubeadm_control_plane(
            "fleet", namespace, replicas=0, template=template, status=conditions(condition("Ready", "Unknown"))
        ),
    )
    await put(client, cluster("fleet", namespace, control_plane=control_plane))
    # No two groups below one parent are of the same size (DEVIATION describe-equal-groups).
    states = [("True", "True")] * 3 + [("False", "True")] * 2 + [("False", "False")]
    # "fleet" is the name of the control plane, too.
    for name in ("fleet", "fleet-b"):
        deployment = await put(
            client, machine_deployment(name, namespace, cluster="fleet", replicas=None, infrastructure=template)
        )
        for part in range(2):
            owned = {"owners": [owner(deployment)], "status": conditions(replicas=6)}
            machines = await put(client, machine_set(f"{name}-{part}", namespace, cluster="fleet", **owned))
            for index, (ready, fresh) in enumerate(states):
                status = conditions(condition("Ready", ready), condition("UpToDate", fresh))
                given = {"cluster": "fleet", "owners": [owner(machines)], "status": status}
                await put(client, machine(f"{name}-{part}-{index}", namespace, **given))
    alone = await put(client, machine_set("fleet-alone", namespace, cluster="fleet"))
    for index in range(2):
        await put(client, machine(f"fleet-alone-{index}", namespace, cluster="fleet", owners=[owner(alone)]))
    pool = await put(client, machine_pool("fleet-pool", namespace, cluster="fleet", version=""))
    for index in range(3):
        await put(client, machine(f"fleet-pool-{index}", namespace, cluster="fleet", owners=[owner(pool)]))


@story("yawl")
async def yawl(client: Client, namespace: str) -> None:
    """A control plane of the old contract, and conditions in every place and shape."""
    shaped = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HarborMachineTemplate"}
    template = {**shaped, "namespace": namespace, "name": "yawl"}
    control_plane = await put(
        client,
        an_object(
            f"{CONTROL_PLANE}/v1beta1",
            "OldControlPlane",
            "yawl",
            namespace,
            spec={"replicas": 2, "version": "v1.30.0", "machineTemplate": {"infrastructureRef": template}},
            status={
                "replicas": 2,
                "readyReplicas": 1,
                "updatedReplicas": 2,
                "upToDateReplicas": 9,
                "conditions": [old_condition("Ready", "False", "Error", "Leak", "old words"), old_condition("Bilge")],
                "v1beta2": {"conditions": [condition("Ready", "False", "Leaking"), condition("Available", "False")]},
            },
        ),
    )
    infrastructure = await put(
        client,
        harbor_cluster("yawl", namespace, status={"conditions": [old_condition("Ready", "False", "Warning")]}),
    )
    await put(client, cluster("yawl", namespace, infrastructure=infrastructure, control_plane=control_plane))
    for name, listed in {
        "nonsense": [condition("Ready", "Maybe")],
        "untimely": [{"type": "Ready", "status": "False", "reason": "Never"}],
        "nameless": [condition("Ready", "False"), {"status": "False"}],
        "twice": [condition("Ready", "Unknown", "First"), condition("Ready", "False", "Second")],
        "severe": [old_condition("Ready", "False", "Error", "OfSevere")],  # an echo today, and none in v1beta1
        "belated": [condition("Ready", "False", "Late", since="yesterday")],
        "precise": [condition("Ready", "False", "Then", since="2001-02-03T04:05:06.123456789+02:00")],
    }.items():
        foreign = await put(client, harbor_machine(f"yawl-{name}", namespace, status={"conditions": listed}))
        status = conditions(
            condition("Ready", "False", f"Of{name.title()}"), old=[old_condition("Ready", "False", "Info")]
        )
        given = {"cluster": "yawl", "is_control_plane": True, "infrastructure": foreign, "status": status}
        await put(client, machine(f"yawl-{name}", namespace, **given))


@story("tale")
async def tale(client: Client, namespace: str) -> None:
    """Messages that are hard to lay out."""
    told = {
        "Empty": "",
        "Blank": "\n\n",
        "Spaces": "   leading and trailing   ",
        "Tabs": "a\tb\t\tc",
        "Bullets": "  * " + "one " * 40 + "\n* " + "two " * 40 + "\n    * deep " + "three " * 30,
        "Word": "x" * 250,
        "Words": "y" * 99 + " " + "z" * 100 + " " + "w" * 98,
        "Wide": "漢字" * 30 + " " + "é" * 60 + " 😀 ☃",
        "Combining": "e\u0301a\u0308\u200bo",
        "Mixed": "first line\n\n  second, indented, " + "and long " * 20 + "\n\nend\n",
    }
    listed = [condition(name, "False", name, message) for name, message in told.items()]
    old = [old_condition(f"Old{name}", "False", "Error", name, message) for name, message in told.items()]
    infrastructure = await put(
        client,
        harbor_cluster("tale", namespace, status=conditions(condition("Ready", "False", "Told", told["Bullets"]))),
    )
    ready = condition("Available", "False", "Told", told["Mixed"])
    await put(
        client,
        cluster("tale", namespace, infrastructure=infrastructure, status=conditions(ready, *listed, old=old)),
    )
    await put(
        client, machine("tale-1", namespace, cluster="tale", status=conditions(condition("Ready", "False", "A", LONG)))
    )


@story("both")
async def both(client: Client, namespace: str) -> None:
    """A machine of the control plane that a set owns, too; no machine besides, and a deployment without any."""
    control_plane = await put(client, kubeadm_control_plane("both-cp", namespace))
    await put(client, cluster("both", namespace, control_plane=control_plane))
    template = harbor_machine_template("both", namespace)
    deployment = await put(client, machine_deployment("both", namespace, cluster="both", infrastructure=template))
    machines = await put(client, machine_set("both", namespace, cluster="both", owners=[owner(deployment)]))
    await put(client, machine("both-1", namespace, cluster="both", is_control_plane=True, owners=[owner(machines)]))
    await put(client, machine("elsewhere", namespace, cluster="another"))


@story("ferry")
async def ferry(client: Client, namespace: str) -> None:
    """Infrastructure in no namespace, a kind of several versions, and a binding of no set at all."""
    identity = await put(client, harbor_cluster_identity("ferry", status=conditions(condition("Ready", "False"))))
    await put(client, cluster("ferry", namespace, infrastructure=identity))
    both = "infrastructure.cluster.x-k8s.io/v1beta2"
    for name in ("ferry-1", "ferry-2"):
        status = conditions(condition("Ready", "Unknown"))
        boat = await put(client, an_object(both, "BothMachine", name, namespace, status=status))
        await put(client, machine(name, namespace, cluster="ferry", infrastructure=boat))
    await put(client, resource_set_binding("ferry", namespace, sets=[]))


@story("driftwood")
async def driftwood(client: Client, namespace: str) -> None:
    """Machines of a control plane that the cluster does not name."""
    await put(client, cluster("driftwood", namespace, topology={}))
    for index in range(2):
        await put(client, machine(f"driftwood-{index}", namespace, cluster="driftwood", is_control_plane=True))


async def tell_all(client: Client, namespace: str) -> None:
    await asyncio.gather(*(make(client, namespace) for make in STORIES.values()))

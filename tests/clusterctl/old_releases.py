"""Releases as providers made them in the days of v1alpha3: webhooks of all instances in a namespace that all share."""

from __future__ import annotations

from typing import Any

from components_kit import HOME, MANAGER, RBAC, account, binding, container, namespace, thing, workload
from releases import Object, definition

WEBHOOKS = "capi-webhook-system"
CONTRACT = "v1alpha3"
ADMISSION = "admissionregistration.k8s.io/v1"


def shipyard(*, manager: Object | None = None, image: str = MANAGER, extra: tuple[Object, ...] = ()) -> list[Object]:
    """The objects of a release; ``manager`` is the container with the controller."""
    return [
        namespace(HOME, labels={"control-plane": "controller-manager"}),
        namespace(WEBHOOKS),
        shipyard_clusters(image),
        *webhook_configurations(image),
        *backstage(image),
        *rights(),
        workload(home=HOME, containers=[manager or container(image=image, args=["--leader-elect"])]),
        *extra,
    ]


def shipyard_clusters(image: str = MANAGER) -> Object:
    """A definition that says which release it is of, and is converted by the webhooks."""
    one = definition("infrastructure.cluster.x-k8s.io", "ShipyardCluster", contract=CONTRACT)
    service = {"name": "webhook-service", "namespace": WEBHOOKS, "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    one["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    one["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": f"{WEBHOOKS}/serving-cert", "of": image}
    return one


def webhook_configurations(image: str) -> list[Object]:
    """What calls the webhooks: on objects that nobody has, since nobody answers."""
    service = {"name": "webhook-service", "namespace": WEBHOOKS, "path": "/do"}
    rule = {"apiGroups": ["nothing.example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["any"]}
    hook = {
        "name": "default.shipyard.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "rules": [rule],
        "sideEffects": "None",
    }
    made = []
    for kind in ("Mutating", "Validating"):
        one = thing(ADMISSION, f"{kind}WebhookConfiguration", f"shipyard-{kind.lower()}", home=None, webhooks=[hook])
        one["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": f"{WEBHOOKS}/serving-cert", "of": image}
        made.append(one)
    return made


def backstage(image: str) -> list[Object]:
    """What answers the webhooks."""
    return [
        thing("v1", "Service", "webhook-service", home=WEBHOOKS, spec={"ports": [{"port": 443}]}),
        workload(
            name="shipyard-webhooks", home=WEBHOOKS, containers=[container(image=image, args=["--webhook-port=1"])]
        ),
        thing(
            "cert-manager.io/v1",
            "Certificate",
            "serving-cert",
            home=WEBHOOKS,
            spec={"dnsNames": [f"webhook-service.{WEBHOOKS}.svc"], "secretName": "webhook-cert"},
        ),
        thing("cert-manager.io/v1", "Issuer", "selfsigned-issuer", home=WEBHOOKS, spec={"selfSigned": {}}),
    ]


def rights() -> list[Object]:
    rules: dict[str, Any] = {"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}
    return [
        thing("v1", "ServiceAccount", "manager", home=HOME),
        thing(f"{RBAC}/v1", "ClusterRole", "manager-role", home=None, **rules),
        thing(f"{RBAC}/v1", "Role", "leader-election-role", home=HOME, **rules),
        binding("RoleBinding", "leader-election", [account(home=HOME)], role="leader-election-role"),
        binding("ClusterRoleBinding", "manager-rolebinding", [account(home=HOME), account("webhook", WEBHOOKS)]),
        binding("ClusterRoleBinding", "foreign", [account(home=HOME)], role="cluster-admin"),
    ]

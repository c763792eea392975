"""The objects that a provider's program needs, as plain documents: accounts, rights, the Job, the Deployment.

Functions from a ClusterProvider to what should be there. A value of None means that the field should not be: what was
set for an earlier generation is thereby taken back, and what others set beside ours is left to them (``placing``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from mooring.api.kinds import owned_by
from mooring.api.marks import (
    PROVIDER_GENERATION_ANNOTATION,
    PROVIDER_KIND_ANNOTATION,
    PROVIDER_NAME_ANNOTATION,
    TOPOLOGY_LABEL,
    TOPOLOGY_NAMESPACE_LABEL,
)
from mooring.api.providers import ClusterProvider, ProviderRights
from mooring.api.rbac import PolicyRule
from mooring.providers.deployment.contract import (
    POD_VARIABLES,
    WEBHOOK_CERTIFICATES,
    Command,
    arguments,
    cluster_name_of,
    container_of,
    labels_of,
    metrics_of,
    metrics_service_of,
    name_of,
    own_variables,
    webhook_secret_of,
)
from mooring.providers.deployment.grounds import Home
from mooring.providers.sdk.controllers import lease_rights

Document = dict[str, Any]

# On the Job: which attempt for one generation it is.
ATTEMPT_ANNOTATION: Final = "mooring.dev/attempt"
BACKOFF_LIMIT: Final = 4

_RBAC = "rbac.authorization.k8s.io"
_EVERYTHING = "cluster-admin"
# What upstream's init may do in the namespace; of use where its other rights are taken away.
_INIT_NOTES = [
    {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["create", "update", "patch", "delete"]}
]
_WEBHOOK_VOLUME = "webhook-tls"


# -- who it is and what it may do -------------------------------------------------------------------------------------


def account(provider: ClusterProvider, home: Home, command: Command) -> Document:
    """The ServiceAccount of a command."""
    return _object("v1", "ServiceAccount", _metadata(provider, command, name_of(provider, command), home.namespace))


def rules_of(rights: ProviderRights | None, command: Command) -> list[Document] | None:
    """The rules for a command; None where nobody has said what it needs."""
    if rights is None:
        return None
    return [_whole(rule) for rule in (rights.init if command is Command.INIT else rights.run)]


def access(
    provider: ClusterProvider, home: Home, command: Command, rights: ProviderRights | None
) -> Sequence[Document]:
    """Roles and bindings of a command: exactly its rights, or everything where they are not known.

    Roles come before what binds them, so that nobody is bound to the role of another moment.
    """
    rules = rules_of(rights, command)
    if rules is None:
        whole = [_cluster_binding(provider, home, command, role=_EVERYTHING)]
        return whole if command is Command.RUN else [*whole, *_local(provider, home, command, _INIT_NOTES)]
    own = cluster_name_of(provider, command)
    role = {**_object(f"{_RBAC}/v1", "ClusterRole", _metadata(provider, command, own)), "rules": rules}
    whole = [role, _cluster_binding(provider, home, command, role=own)]
    if command is Command.INIT:
        return whole
    return [*whole, *_local(provider, home, command, lease_rights(provider.metadata.name))]


def _cluster_binding(provider: ClusterProvider, home: Home, command: Command, *, role: str) -> Document:
    metadata = _metadata(provider, command, cluster_name_of(provider, command))
    return _binding("ClusterRoleBinding", metadata, provider, home, command, role={"kind": "ClusterRole", "name": role})


def _local(
    provider: ClusterProvider, home: Home, command: Command, rules: Sequence[Mapping[str, Any]]
) -> list[Document]:
    """What it may do in the namespace that it is at home in."""
    name = name_of(provider, command)
    metadata = _metadata(provider, command, name, home.namespace)
    return [
        {**_object(f"{_RBAC}/v1", "Role", metadata), "rules": [_rule(rule) for rule in rules]},
        _binding("RoleBinding", metadata, provider, home, command, role={"kind": "Role", "name": name}),
    ]


def _rule(rule: Mapping[str, Any]) -> Document:
    """With None for what it does not say: a rule is compared as a whole, because each word less may allow more."""
    return _whole(msgspec.convert(rule, PolicyRule))


def _binding(
    kind: str, metadata: Document, provider: ClusterProvider, home: Home, command: Command, *, role: Document
) -> Document:
    subject = {"kind": "ServiceAccount", "name": name_of(provider, command), "namespace": home.namespace}
    return {
        **_object(f"{_RBAC}/v1", kind, metadata),
        "roleRef": {"apiGroup": _RBAC, **role},
        "subjects": [subject],
    }


# -- what runs --------------------------------------------------------------------------------------------------------


def job(provider: ClusterProvider, home: Home, volumes: Sequence[Document] = (), *, attempt: int = 1) -> Document:
    """The init command, for this generation of the provider."""
    metadata = _metadata(provider, Command.INIT, name_of(provider, Command.INIT), home.namespace)
    metadata["annotations"] = {**_generation(provider), ATTEMPT_ANNOTATION: str(attempt)}
    pod = _pod(provider, home, Command.INIT, volumes)
    template = {
        "metadata": {"labels": labels_of(provider, Command.INIT), "annotations": _of(provider)},
        "spec": {**pod, "restartPolicy": "Never"},
    }
    spec = {"backoffLimit": BACKOFF_LIMIT, "suspend": False, "template": template}
    return {**_object("batch/v1", "Job", metadata), "spec": spec}


def deployment(provider: ClusterProvider, home: Home, volumes: Sequence[Document] = ()) -> Document:
    """The run command, in as many replicas as the provider says. ``volumes`` are its extra ones, in full."""
    labels = labels_of(provider, Command.RUN)
    metadata = _metadata(provider, Command.RUN, name_of(provider), home.namespace)
    metadata["annotations"] = _generation(provider)
    topology = {TOPOLOGY_LABEL: name_of(provider), TOPOLOGY_NAMESPACE_LABEL: home.namespace}
    pod = {
        **_pod(provider, home, Command.RUN, volumes),
        "topologySpreadConstraints": [
            {**_whole(one), "labelSelector": {"matchLabels": topology}}
            for one in provider.spec.topology_spread_constraints
        ]
        or None,
    }
    template = {
        "metadata": {"labels": {**labels, **topology}, "annotations": {**_of(provider), **_scraping(provider)}},
        "spec": pod,
    }
    spec = {"replicas": provider.spec.run_replicas, "selector": {"matchLabels": labels}, "template": template}
    return {**_object("apps/v1", "Deployment", metadata), "spec": {**spec, "paused": None}}


def metrics_service(provider: ClusterProvider, home: Home) -> Document | None:
    """The Service in front of its metrics; None if it has none."""
    metrics = metrics_of(provider)
    if metrics is None:
        return None
    port = {"name": "metrics-http", "port": metrics.port, "targetPort": metrics.port, "protocol": "TCP"}
    spec = {"type": "ClusterIP", "selector": labels_of(provider, Command.RUN), "ports": [port]}
    metadata = _metadata(provider, Command.RUN, metrics_service_of(provider), home.namespace)
    return {**_object("v1", "Service", metadata), "spec": spec}


def _scraping(provider: ClusterProvider) -> dict[str, str | None]:
    """By which Prometheus finds the metrics."""
    metrics = metrics_of(provider)
    return {
        "prometheus.io/scrape": None if metrics is None else "true",
        "prometheus.io/path": None if metrics is None else metrics.path,
        "prometheus.io/port": None if metrics is None else str(metrics.port),
    }


def _pod(provider: ClusterProvider, home: Home, command: Command, volumes: Sequence[Document]) -> Document:
    spec = provider.spec
    mounts = [_whole(one) for one in spec.extra_volume_mounts]
    volumes = [dict(one) for one in volumes]
    if command is Command.RUN and _has_room_for_certificates(mounts, volumes):
        mounts.append({"name": _WEBHOOK_VOLUME, "mountPath": WEBHOOK_CERTIFICATES, "readOnly": True})
        # Optional: the Secret may come later, or never; and we need not be able to read it to find that out.
        certificates = {"secretName": webhook_secret_of(provider), "optional": True}
        volumes.append({"name": _WEBHOOK_VOLUME, "secret": certificates})
    container = {
        "name": container_of(provider, command),
        "image": spec.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(provider, home, command),
        "env": environment(provider),
        "volumeMounts": mounts or None,
        # The last lines of a log are in the status of the Pod, and from there in ours.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "ports": _ports(provider, command),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "serviceAccountName": name_of(provider, command),
        "imagePullSecrets": [{"name": one.name} for one in spec.image_pull_secrets] or None,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": volumes or None,
    }


def _has_room_for_certificates(mounts: Sequence[Document], volumes: Sequence[Document]) -> bool:
    """Whether the owner has not put something else there."""
    return all(one["mountPath"].rstrip("/") != WEBHOOK_CERTIFICATES for one in mounts) and all(
        one["name"] != _WEBHOOK_VOLUME for one in volumes
    )


def _ports(provider: ClusterProvider, command: Command) -> list[Document] | None:
    metrics = metrics_of(provider)
    if command is Command.INIT or metrics is None:
        return None
    return [{"name": "metrics-http", "containerPort": metrics.port, "protocol": "TCP"}]


def environment(provider: ClusterProvider) -> list[Document]:
    """The environment of both commands in a Pod. Unfit if a variable is set twice."""
    own = [{"name": name, "value": value} for name, value in own_variables(provider).items()]
    given = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in POD_VARIABLES.items()]
    return own + given


# -- forms ------------------------------------------------------------------------------------------------------------


def _object(api_version: str, kind: str, metadata: Document) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _metadata(provider: ClusterProvider, command: Command, name: str, namespace: str | None = None) -> Document:
    metadata: Document = {
        "name": name,
        "labels": labels_of(provider, command),
        "ownerReferences": [_plain(owned_by(provider))],
    }
    return metadata if namespace is None else {**metadata, "namespace": namespace}


def _of(provider: ClusterProvider) -> Document:
    """Whose Pods they are. A label would do if names were not longer than labels at times."""
    return {PROVIDER_NAME_ANNOTATION: provider.metadata.name, PROVIDER_KIND_ANNOTATION: provider.API.kind}


def _generation(provider: ClusterProvider) -> Document:
    return {**_of(provider), PROVIDER_GENERATION_ANNOTATION: str(provider.metadata.generation)}


def _whole(part: msgspec.Struct) -> Document:
    """As it is written in JSON, with None for each field that says nothing."""
    said = _plain(part)
    return {field.encode_name: said.get(field.encode_name) for field in msgspec.structs.fields(part)}


def _plain(part: msgspec.Struct) -> Document:
    """As it is written in JSON: with lists, and without the fields that say nothing."""
    document: Document = msgspec.json.decode(msgspec.json.encode(part))
    return document

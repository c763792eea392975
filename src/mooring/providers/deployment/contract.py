"""What a provider's program can rely on, and what its things are called: upstream's contract, letter for letter.

Programs of either side run under either deployment controller. Everything here is a function of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mooring.api.kinds import PLATFORM_GROUP
from mooring.api.names import LONGEST_NAME, name_hash, shortened
from mooring.api.providers import ClusterProvider
from mooring.api.references import ObjectReference
from mooring.providers.deployment.grounds import Home

PREFIX: Final = "cp"
MANAGER: Final = "mooring"

# On the labels of what is made for a provider.
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
NAME: Final = "app.kubernetes.io/name"
INSTANCE: Final = "app.kubernetes.io/instance"
COMPONENT: Final = "app.kubernetes.io/component"

WEBHOOK_CERTIFICATES: Final = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where such programs look for them
METRICS_PATH: Final = "/metrics"
METRICS_PORT: Final = 8080

# Set for both commands after the owner's own variables, and where in a Pod their values are found.
POD_VARIABLES: Final[Mapping[str, str]] = {
    "POD_NAME": "metadata.name",
    "POD_NAMESPACE": "metadata.namespace",
    "POD_IP": "status.podIP",
    "POD_SERVICE_ACCOUNT_NAME": "spec.serviceAccountName",
}


class Command(StrEnum):
    """The two commands of a provider's program."""

    INIT = "init"
    RUN = "run"

    @property
    def component(self) -> str:
        return "init-job" if self is Command.INIT else "controller"


class Unfit(Exception):
    """The provider cannot be set up as things are, and the message says what somebody has to change."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


# -- names ------------------------------------------------------------------------------------------------------------


def name_of(provider: ClusterProvider, command: Command = Command.RUN) -> str:
    """Of its Deployment, Job, ServiceAccount, Role and RoleBinding."""
    name = f"{PREFIX}-{provider.metadata.name}".lower()
    return shortened(f"{name}-init" if command is Command.INIT else name)


def cluster_name_of(provider: ClusterProvider, command: Command) -> str:
    """Of its ClusterRole and ClusterRoleBinding."""
    return f"{PLATFORM_GROUP}:{name_of(provider, command)}"


def container_of(provider: ClusterProvider, command: Command) -> str:
    return "init" if command is Command.INIT else undotted(name_of(provider))


def metrics_service_of(provider: ClusterProvider) -> str:
    return undotted(shortened(f"{PREFIX}-{provider.metadata.name}-metrics".lower()))


def webhook_secret_of(provider: ClusterProvider) -> str:
    """Of the Secret with the certificate of its webhooks, which somebody else makes if there are any."""
    ending = "-webhook-tls"
    return shortened(provider.metadata.name.lower(), LONGEST_NAME - len(ending)) + ending


def undotted(name: str) -> str:
    """For things whose names have no dots, such as Services; names that differ stay different."""
    if "." not in name:
        return name
    ending = f"--{name_hash(name)}"
    return name.replace(".", "-")[: LONGEST_NAME - len(ending)].rstrip("-") + ending


def labels_of(provider: ClusterProvider, command: Command | None = None) -> dict[str, str]:
    """By which everything that is made for a provider is found; with a command, what is made for that one."""
    labels = {
        MANAGED_BY: MANAGER,
        NAME: provider.API.kind,
        INSTANCE: shortened(provider.metadata.name),
    }
    return labels if command is None else {**labels, COMPONENT: command.component}


# -- what a program is given ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Where a program serves its metrics."""

    path: str
    port: int


def metrics_of(provider: ClusterProvider) -> Metrics | None:
    """None if they are disabled; whoever says nothing has them."""
    said = provider.spec.metrics
    if said is None:
        return Metrics(path=METRICS_PATH, port=METRICS_PORT)
    return None if said.disabled else Metrics(path=said.path or METRICS_PATH, port=said.port or METRICS_PORT)


def metrics_reference(provider: ClusterProvider, home: Home) -> ObjectReference | None:
    if metrics_of(provider) is None:
        return None
    return ObjectReference(name=metrics_service_of(provider), namespace=home.namespace)


def arguments(provider: ClusterProvider, home: Home, command: Command) -> list[str]:
    """The words of a command, the command itself first."""
    spec = provider.spec
    words = list((spec.init_command if command is Command.INIT else spec.run_command) or (command.value,))
    words += [
        f"--environment={home.environment}",
        f"--verbosity={spec.verbosity}",
        f"--provider-name={provider.metadata.name}",
    ]
    return words if command is Command.INIT else words + _run_flags(provider)


def _run_flags(provider: ClusterProvider) -> list[str]:
    flags = ["--leader-elect=true"] if provider.spec.run_replicas > 1 else []
    metrics = metrics_of(provider)
    if metrics is not None:
        flags += [f"--metrics-bind-address=:{metrics.port}", "--metrics-secure=false"]
    return flags


def own_variables(provider: ClusterProvider) -> dict[str, str]:
    """The variables that the provider's owner sets. Unfit if one is set twice, or is one that programs are given."""
    variables: dict[str, str] = {}
    for one in provider.spec.env:
        if one.name in POD_VARIABLES or one.name in variables:
            by = "by the deployment of every provider" if one.name in POD_VARIABLES else "twice"
            raise Unfit(
                f"spec.env: the environment variable is not unique: {one.name} is set {by}; remove it, or rename it.",
                reason="EnvironmentVariableNotUnique",
            )
        variables[one.name] = one.value
    return variables

"""How the Kubernetes components of a control plane are run: which flags, and why.

Functions from what a control plane has (files, ports) to a :class:`Program`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mooring.controlplane.files import read_private
from mooring.controlplane.ports import LOOPBACK
from mooring.controlplane.processes import Program

API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
AUTHENTICATION_FILE = "authentication.json"

# What a cluster without nodes needs: namespaces that end, accounts and their tokens, owners that take their objects
# along, the authority that workloads look for, and ClusterRoles that are made of others.
_CONTROLLERS = (
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "garbage-collector-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
)


def api_server_program(
    *,
    directory: Path,
    executable: Path,
    port: int,
    issuer: str,
    etcd_url: str,
    etcd_ca: Path,
    etcd_prefix: str,
    extra: Mapping[str, str],
    environment: Mapping[str, str],
) -> Program:
    pki = directory / "pki"
    flags = {
        "bind-address": LOOPBACK,
        "advertise-address": LOOPBACK,
        "secure-port": str(port),
        "tls-cert-file": f"{pki}/server.crt",
        "tls-private-key-file": f"{pki}/server.key",
        "client-ca-file": f"{pki}/ca.crt",
        "authentication-config": str(directory / AUTHENTICATION_FILE),
        "authorization-mode": "RBAC",
        "service-account-issuer": issuer,
        "service-account-key-file": f"{pki}/service-accounts.key",
        "service-account-signing-key-file": f"{pki}/service-accounts.key",
        "service-cluster-ip-range": "10.96.0.0/16",
        # Nobody reaches a loopback address through a Service; trying to publish one is an error every ten seconds.
        "endpoint-reconciler-type": "none",
        "etcd-servers": etcd_url,
        "etcd-cafile": str(etcd_ca),
        "etcd-certfile": f"{pki}/etcd-client.crt",
        "etcd-keyfile": f"{pki}/etcd-client.key",
        "etcd-prefix": etcd_prefix,
        "etcd-compaction-interval": "0",  # etcd does it for all control planes
        "profiling": "false",
        # Without it, one open watch keeps the server from ending until it is killed.
        "shutdown-watch-termination-grace-period": "1s",
    }
    return _program(API_SERVER, directory, executable, flags | dict(extra), environment)


def controller_manager_program(
    *, directory: Path, executable: Path, port: int, kubeconfig: Path, environment: Mapping[str, str]
) -> Program:
    pki = directory / "pki"
    flags = {
        "bind-address": LOOPBACK,
        "secure-port": str(port),
        "tls-cert-file": f"{pki}/server.crt",
        "tls-private-key-file": f"{pki}/server.key",
        "kubeconfig": str(kubeconfig),
        "authentication-kubeconfig": str(kubeconfig),
        "authorization-kubeconfig": str(kubeconfig),
        # Nobody comes to it through an aggregator, and it need not wait for the API server to learn that.
        "authentication-skip-lookup": "true",
        "controllers": ",".join(_CONTROLLERS),
        "leader-elect": "false",  # the lock on its directory already sees to it that there is one
        "root-ca-file": f"{pki}/ca.crt",
        "service-account-private-key-file": f"{pki}/service-accounts.key",
        "use-service-account-credentials": "true",
        "profiling": "false",
    }
    # It reads its kubeconfig once: another port of the API server, or a renewed certificate, takes another process.
    inputs = (read_private(kubeconfig).decode(errors="replace"),)
    return _program(CONTROLLER_MANAGER, directory, executable, flags, environment, inputs)


def _program(
    name: str,
    directory: Path,
    executable: Path,
    flags: Mapping[str, str],
    environment: Mapping[str, str],
    inputs: tuple[str, ...] = (),
) -> Program:
    return Program(
        name=name,
        executable=executable,
        arguments=tuple(f"--{flag}={value}" for flag, value in flags.items()),
        directory=directory,
        inputs=inputs,
        environment=tuple(environment.items()),
    )

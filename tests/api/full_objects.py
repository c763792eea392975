"""Objects of each kind that use every field, none at its default; a test sees that no field is forgotten."""

from __future__ import annotations

from typing import Any

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Kind
from mooring.api.kyma import KubeconfigRequest
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant

Parts = dict[str, Any]

NOW = "2026-11-16T10:00:00Z"
REF = {"name": "a-cluster", "namespace": "clusters"}
CONDITIONS = [
    {
        "type": "Ready",
        "status": "True",
        "reason": "AllGood",
        "message": "All is well.",
        "lastTransitionTime": NOW,
        "observedGeneration": 3,
    }
]
ANSWER = {
    "observedGeneration": 3,
    "phase": "Granted",
    "reason": "Success",
    "message": "Here you are.",
    "lastReconcileTime": NOW,
    "conditions": CONDITIONS,
}
WISHES = [
    {"trait": "a", "optional": True, "negated": True},
    {"name": "b"},
    {"or": [{"trait": "c"}, {"and": [{"name": "d", "optional": True}, {"xor": [{"trait": "e", "negated": True}]}]}]},
    {"and": [{"or": [{"and": [{"xor": [{"trait": "f"}]}]}]}], "optional": True},
    {"xor": [{"trait": "g"}, {"trait": "h"}], "negated": True},
]
VERSIONS = [{"version": "1.33.3", "deprecated": True}]
TRAITS = [{"trait": "infrastructure/vendor/aws"}, {"name": "kubernetes.io/apis/compute"}]
REQUEST = {
    "purposes": ["platform", "onboarding"],
    "kubernetes": {"version": "1.33"},
    "dedicated": False,
    "traits": WISHES,
    "prefix": "abc-",
    "waitForClusterDeletion": True,
    "ttl": "72h",
}
RULE = {
    "apiGroups": [""],
    "resources": ["pods"],
    "resourceNames": ["a"],
    "nonResourceURLs": ["/healthz"],
    "verbs": ["get"],
}
PERMISSION = {
    "name": "a-role",
    "namespace": "here",
    "disableAutomaticNamespaceCreation": True,
    "rules": [RULE],
}
ROLE_REFS = [{"kind": "Role", "name": "a-role", "namespace": "here"}]
TOKEN = {"permissions": [PERMISSION], "roleRefs": ROLE_REFS, "lifetime": "1h"}
OIDC = {
    "name": "idp",
    "issuer": "https://idp.example.com",
    "clientID": "me",
    "usernameClaim": "email",
    "usernamePrefix": "u:",
    "groupsClaim": "teams",
    "groupsPrefix": "",
    "extraScopes": ["profile"],
    "roles": [PERMISSION],
    "roleBindings": [
        {
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b", "apiGroup": "c"}],
            "roleRefs": ROLE_REFS,
        }
    ],
}
SELECTOR = {
    "matchLabels": {"tier": "gold"},
    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
}

FULL: list[tuple[type[Kind], Parts]] = [
    (ClusterRequest, {"spec": {"purpose": "workload"}, "status": ANSWER | {"cluster": REF}}),
    (ClusterRequest, {"spec": REQUEST}),
    (
        ClusterRequestGrant,
        {
            "spec": {"clusterRef": REF, "prefix": "abc-"},
            "status": {"request": {"metadata": {"name": "a", "namespace": "b"}, "spec": REQUEST}},
        },
    ),
    (
        AccessRequest,
        {
            "spec": {"clusterRef": REF, "requestRef": REF, "token": TOKEN, "ttl": "8h"},
            "status": ANSWER | {"secretRef": {"name": "a.kubeconfig"}},
        },
    ),
    (AccessRequest, {"spec": {"requestRef": {"name": "a"}, "oidc": OIDC}}),
    (
        Cluster,
        {
            "spec": {
                "profile": "a-profile",
                "tenancy": "Shared",
                "purposes": ["a", "b"],
                "kubernetes": {"version": "1.33.3"},
                "clusterConfigs": [{"name": "a-config"}],
            },
            "status": {
                "observedGeneration": 3,
                "phase": "Ready",
                "lastReconcileTime": NOW,
                "conditions": CONDITIONS,
                "endpoints": [{"name": "apiserver-external", "url": "https://a.example.com"}],
                "apiServer": "https://a.example.com",
                "providerStatus": {"any": {"thing": [1, None, "x"]}},
            },
        },
    ),
    (
        ClusterProfile,
        {
            "spec": {
                "providerRef": {"name": "local"},
                "providerConfigRef": {"name": "default"},
                "supportedVersions": VERSIONS,
                "maxClusters": 20,
                "access": {"policy": "Creator", "boundToPrefix": True},
                "supportedTraits": TRAITS,
            }
        },
    ),
    (
        Purpose,
        {
            "spec": {
                "dedicated": False,
                "traits": WISHES,
                "tenancyCount": 20,
                "selector": SELECTOR,
                "strategy": "Packed",
                "warm": 2,
                "template": {
                    "metadata": {
                        "name": "the-one",
                        "generateName": "one-of-",
                        "namespace": "clusters",
                        "labels": {"a": "b"},
                        "annotations": {"c": "d"},
                    },
                    "spec": {
                        "profile": "a-profile",
                        "tenancy": "Shared",
                        "purposes": ["more"],
                        "kubernetes": {"version": "1.33.3"},
                        "clusterConfigs": [{"name": "a-config"}],
                    },
                },
            }
        },
    ),
    (TraitEquivalence, {"spec": {"traits": ["clusters.openmcp.cloud/workerless", "foo.bar.baz/nodeless"]}}),
    (
        ClusterProvider,
        {
            "spec": {
                "image": "provider:v1",
                "imagePullSecrets": [{"name": "a"}],
                "initCommand": ["prepare"],
                "runCommand": ["go"],
                "env": [{"name": "A", "value": "b"}],
                "verbosity": "debug",
                "runReplicas": 2,
                "extraVolumes": [{"name": "v"}],
                "extraVolumeMounts": [
                    {
                        "name": "v",
                        "mountPath": "/v",
                        "subPath": "a",
                        "subPathExpr": "$(A)",
                        "readOnly": True,
                        "recursiveReadOnly": "Enabled",
                        "mountPropagation": "None",
                    }
                ],
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": SELECTOR,
                        "matchLabelKeys": ["hash"],
                        "minDomains": 2,
                        "nodeAffinityPolicy": "Honor",
                        "nodeTaintsPolicy": "Honor",
                    }
                ],
                "metrics": {"disabled": True, "path": "/m", "port": 8081},
                "rights": {"init": [RULE], "run": [RULE]},
            },
            "status": {
                "observedGeneration": 3,
                "phase": "Ready",
                "ready": True,
                "reason": "AllGood",
                "message": "All is well.",
                "lastReconcileTime": NOW,
                "conditions": CONDITIONS,
                "profiles": [
                    {
                        "name": "aws",
                        "providerConfigRef": {"name": "aws"},
                        "supportedVersions": VERSIONS,
                        "supportedTraits": TRAITS,
                    }
                ],
                "metrics": {"serviceRef": REF},
            },
        },
    ),
    (
        KubeconfigRequest,
        {
            "spec": {
                "cluster": "clusters/a-cluster",
                "clusterRole": {"rules": [RULE]},
                "role": {"namespace": "here", "rules": [RULE]},
                "expiration": 300,
                "secretRef": {"name": "a-secret", "key": "config"},
            },
            "status": {
                "observedGeneration": 3,
                "expirationTimestamp": NOW,
                "kubeconfig": "LS0tLS1...",
                "conditions": CONDITIONS,
            },
        },
    ),
]

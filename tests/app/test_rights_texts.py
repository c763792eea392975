"""Rights as people type them."""

import pytest

from mooring.app.rights_texts import permissions_of, role_refs_of
from mooring.app.settings import SettingError


def test_rules_of_one_place_are_one_permission():
    said = ["get,list:pods,deployments.apps@shop", "delete:secrets/token@shop", "get:/metrics", "*:*.*", "get:nodes"]
    assert permissions_of(said) == [
        {
            "namespace": "shop",
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["delete"], "resourceNames": ["token"]},
            ],
        },
        {
            "rules": [
                {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
            ]
        },
    ]


def test_roles():
    assert role_refs_of(["view", "edit@shop", "role/editor@shop", "clusterrole/admin"]) == [
        {"kind": "ClusterRole", "name": "view"},
        {"kind": "ClusterRole", "name": "edit", "namespace": "shop"},
        {"kind": "Role", "name": "editor", "namespace": "shop"},
        {"kind": "ClusterRole", "name": "admin"},
    ]


@pytest.mark.parametrize(
    "text",
    ["", "pods", "get", ":pods", "get:", "get:@shop", "get:pods@", "get:pods/", "get:.apps", "get:/metrics@shop", ","],
)
def test_rules_that_cannot_be_read(text):
    with pytest.raises(SettingError, match="--rule"):
        permissions_of([text])


@pytest.mark.parametrize("text", ["", "role/editor", "thing/editor@shop", "view@", "role/@shop", "@shop"])
def test_roles_that_cannot_be_read(text):
    with pytest.raises(SettingError, match="--role"):
        role_refs_of([text])

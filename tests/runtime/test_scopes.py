"""Our reading of selectors is the server's."""

import pytest
from runtime_kit import thing

from mooring.runtime.scopes import Scope
from mooring.testing.builders import CONFIG_MAPS, SECRETS, config_map

LABELS = [{}, {"a": "1"}, {"a": "2"}, {"a": "1", "b": ""}, {"b": "x", "example.org/c-d_e": "y"}]
SELECTORS = [
    "a",
    "!a",
    "a=1",
    "a==1",
    "a!=1",
    "a in (1,2)",
    "a in ( 1 , 3 ), b",
    "a notin (1)",
    "a=1,b=",
    "!a,b=x",
    "example.org/c-d_e=y",
    "example.org/c-d_e,a notin (1, 2)",
    "b!=x,a",
    "instance=x",
]


async def test_label_selectors_choose_what_the_server_chooses(kube, namespace):
    made = [
        await kube.create(CONFIG_MAPS, config_map(f"n{index}", namespace, labels={"ours": "yes", **labels}))
        for index, labels in enumerate(LABELS)
    ]
    for selector in SELECTORS:
        listing = await kube.list(CONFIG_MAPS, namespace=namespace, label_selector=f"{selector},ours")
        scope = Scope(namespace=namespace, label_selector=f"{selector},ours")
        assert [one for one in made if scope.admits(one)] == listing.items, selector


async def test_field_selectors_choose_what_the_server_chooses(kube, namespace):
    body = {"apiVersion": "v1", "kind": "Secret"}
    made = [
        await kube.create(SECRETS, {**body, "type": kind, "metadata": {"name": name, "namespace": namespace}})
        for name, kind in (("a", "Opaque"), ("b", "example.org/kind"))
    ]
    fields = [
        "type=Opaque",
        "type!=Opaque",
        "metadata.name=b",
        "metadata.name=a,type=Opaque",
        f"metadata.namespace={namespace}",
    ]
    for selector in fields:
        listing = await kube.list(SECRETS, namespace=namespace, field_selector=selector)
        scope = Scope(field_selector=selector)
        assert [one for one in made if scope.admits(one)] == listing.items, selector


def test_a_namespace_is_a_scope():
    assert Scope(namespace="n").admits(thing("a", "n"))
    assert not Scope(namespace="other").admits(thing("a", "n"))
    assert Scope().admits(thing("a", "n"))


def test_what_is_no_selector_is_refused():
    with pytest.raises(ValueError, match="a in 1"):
        Scope(label_selector="a in 1").admits(thing("a", "n"))


def test_a_field_that_is_not_there_is_empty():
    assert Scope(field_selector="spec.none=").admits(thing("a", "n"))
    assert Scope(field_selector="spec.size=3,spec.on=true").admits(thing("a", "n", size=3, on=True))

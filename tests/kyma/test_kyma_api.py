"""Bad KubeconfigRequests are refused by the server, with a message that names the field."""

from __future__ import annotations

import pytest
from kyma_kit import READ_PODS, World

from mooring.api.kyma import KubeconfigRequest
from mooring.kube import typed
from mooring.kube.errors import Invalid
from mooring.testing.builders import an_object

RULES = {"rules": [READ_PODS]}


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"cluster": "", "clusterRole": RULES}, "spec.cluster", "at least 1 chars"),
        ({"cluster": "a/b/c", "clusterRole": RULES}, "spec.cluster", "should match"),
        ({"cluster": "/b", "clusterRole": RULES}, "spec.cluster", "should match"),
        ({"cluster": "A", "clusterRole": RULES}, "spec.cluster", "should match"),
        ({"clusterRole": RULES}, "spec.cluster", "Required"),
        ({"cluster": "a"}, "spec", "at least one of spec.clusterRole and spec.role"),
        ({"cluster": "a", "role": RULES}, "spec.role.namespace", "Required"),
        ({"cluster": "a", "role": {**RULES, "namespace": ""}}, "spec.role.namespace", "at least 1 chars"),
        ({"cluster": "a", "role": {**RULES, "namespace": "A"}}, "spec.role.namespace", "should match"),
        ({"cluster": "a", "clusterRole": RULES, "expiration": 0}, "spec.expiration", "greater than or equal to 1"),
        ({"cluster": "a", "clusterRole": RULES, "expiration": 2**33}, "spec.expiration", "less than or equal to"),
        ({"cluster": "a", "clusterRole": RULES, "secretRef": {"name": ""}}, "spec.secretRef.name", "at least 1"),
        ({"cluster": "a", "clusterRole": RULES, "secretRef": {"name": "A"}}, "spec.secretRef.name", "should match"),
        (
            {"cluster": "a", "clusterRole": RULES, "secretRef": {"name": "a", "key": "a/b"}},
            "spec.secretRef.key",
            "should match",
        ),
    ],
)
async def test_it_is_refused(world: World, spec, field, words) -> None:
    body = an_object(KubeconfigRequest, "bad", world.namespace, spec=spec)
    with pytest.raises(Invalid) as refusal:
        await world.kube.create(typed(KubeconfigRequest), body, dry_run=True)
    assert any(cause.field == field and words in f"{cause.reason} {cause.message}" for cause in refusal.value.causes)


async def test_a_request_stays_with_its_cluster(world: World) -> None:
    await world.ask()
    with pytest.raises(Invalid, match=r"spec\.cluster is immutable"):
        await world.change(cluster="two")
    await world.change(expiration=60, secretRef={"name": "copy"}, role={"namespace": "here", **RULES})

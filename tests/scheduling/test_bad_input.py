"""Bad input: refused by the server where it can, else denied; always with the field named."""

from __future__ import annotations

import pytest
from scheduling_kit import scheduling

from mooring.api.clusters import Cluster
from mooring.api.requests import ClusterRequest
from mooring.kube.errors import ApiError


def nested(depth):
    wish = {"trait": "x"}
    for _ in range(depth):
        wish = {"or": [wish]}
    return wish


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"purpose": "mcp", "traits": [{"nor": [{"trait": "x"}]}]}, "traits"),
        ({"purpose": "mcp", "traits": [{"or": []}]}, "traits"),
        ({"purpose": "mcp", "traits": [{"trait": "x", "and": [{"trait": "y"}]}]}, "traits"),
        ({"purpose": "mcp", "purposes": ["mcp"]}, "spec.purposes"),
        ({}, "spec.purpose"),
        ({"purpose": ""}, "spec.purpose"),
        ({"purpose": "mcp", "kubernetes": {"version": "1.x"}}, "spec.kubernetes.version"),
        ({"purpose": "mcp", "prefix": "A_"}, "spec.prefix"),
        ({"purpose": "mcp", "prefix": "-abc"}, "spec.prefix"),
        ({"purpose": "mcp", "traits": [nested(50)]}, "spec.traits"),
        ({"purpose": "mcp", "ttl": "soon"}, "spec.ttl"),
        ({"purpose": "mcp", "ttl": "0s"}, "spec.ttl"),
        ({"purpose": "mcp", "dedicated": "yes"}, "spec.dedicated"),
    ],
)
async def test_the_server_refuses_it_and_names_the_field(world, spec, field):
    with pytest.raises(ApiError) as refused:
        await world.request("one", **spec)
    assert refused.value.code in (400, 422)
    assert field in str(refused.value)


@pytest.mark.parametrize(
    ("purpose", "word"),
    [
        ({"template": {"metadata": {"labels": {"a": "not a label"}}}}, "metadata.labels"),
        ({"template": {"metadata": {"labels": {"not a key": "a"}}}}, "metadata.labels"),
        ({"template": {"metadata": {"annotations": {"not a key": "a"}}}}, "metadata.annotations"),
        ({"template": {"metadata": {"generateName": "Not_A_Name-"}}}, "spec.template.metadata.generateName"),
        ({"template": {"spec": {"kubernetes": {"version": "1.x"}}}}, "spec.template.spec.kubernetes.version"),
    ],
)
async def test_a_purpose_that_cannot_be_used_denies_its_requests(world, purpose, word):
    await world.profile()
    await world.purpose("mcp", dedicated=True, **purpose)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        denied = await world.reaches("one", "Denied", reason="InvalidPurpose")
        assert word in denied.status.message
        assert "mcp" in denied.status.message
        assert await world.all(Cluster) == []


async def test_what_was_asked_for_cannot_be_changed_but_for_its_end(world):
    await world.request("one", purpose="mcp", prefix="team-")
    for change in ({"purpose": "other"}, {"prefix": "crew-"}, {"dedicated": True}, {"prefix": None}):
        with pytest.raises(ApiError, match=r"spec\." + next(iter(change))):
            await world.patch(ClusterRequest, "one", {"spec": change})
    changed = await world.patch(ClusterRequest, "one", {"spec": {"ttl": "1h"}})
    assert changed.spec.ttl == "1h"


async def test_a_name_that_grew_too_long_is_told(world):
    await world.profile()
    await world.purpose("p" * 60, dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="p" * 60)
        denied = await world.reaches("one", "Denied", reason="InvalidPurpose")
        assert "generateName" in denied.status.message

"""Stories as golden files: what ``mooring why`` tells, word by word. ``pytest --update-golden`` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from story_kit import World, a_cluster, a_grant, a_profile, a_provider, a_purpose, a_request, an_equivalence

from mooring.api.names import name_hash
from mooring.scheduling.telling import as_text

STORIES = Path(__file__).parent / "stories"

AWS, GCP = "infrastructure/vendor/aws", "infrastructure/vendor/gcp"
WORKERLESS, NODELESS = "cluster.openmcp.cloud/workerless", "foo.bar.baz/nodeless"

WORKLOAD = a_purpose("workload", dedicated=False, tenancyCount=2)
MCP = a_purpose("mcp", dedicated=True, traits=[{"trait": WORKERLESS, "optional": True}])
LOCAL = a_profile("local")
NEW_WEB = f"workload-{name_hash('shop', 'web')}"

_GRANTED = {"observedGeneration": 1, "phase": "Granted", "reason": "Granted"}


def _waiting(reason: str) -> dict[str, object]:
    return {"observedGeneration": 1, "phase": "Pending", "reason": reason}


def _denied(reason: str) -> dict[str, object]:
    return {"observedGeneration": 1, "phase": "Denied", "reason": reason}


WORLDS = {
    "granted-shared": World(
        request=a_request(purpose="workload", prefix="web-", status=_GRANTED),
        purposes=[WORKLOAD],
        profiles=[LOCAL],
        clusters=[
            a_cluster("one", "workload", holders=["web", "api"]),
            a_cluster("two", "workload", holders=["db"]),
            a_cluster("three", "mcp", tenancy="Exclusive", holders=["x"]),
            a_cluster("four", "workload", deleting=True),
        ],
        grant=a_grant("web", "one", "web-"),
    ),
    "granted-dedicated": World(
        request=a_request(purpose="mcp", status=_GRANTED),
        purposes=[MCP],
        profiles=[LOCAL, a_profile("slim", traits=[WORKERLESS])],
        clusters=[a_cluster("mcp-one", "mcp", tenancy="Exclusive", profile="slim", holders=["web"], ready="False")],
        grant=a_grant("web", "mcp-one"),
    ),
    "seat-taken": World(
        request=a_request(purpose="workload", kubernetes={"version": "1.33"}, prefix="web-"),
        purposes=[WORKLOAD],
        profiles=[LOCAL],
        clusters=[
            a_cluster("full", "workload", holders=["a", "b"]),
            a_cluster("half", "workload", holders=["web-shop"]),
            a_cluster("half-too", "workload", holders=["d"]),
            a_cluster("ill", "workload", ready="False"),
            a_cluster("old", "workload", kubernetes={"version": "1.30.0"}),
            a_cluster("other", "platform"),
            a_cluster("ready-made", "workload", labels={"mooring.dev/warm": "workload"}),
        ],
    ),
    "warm-taken": World(
        request=a_request(purpose="mcp"),
        purposes=[MCP],
        profiles=[LOCAL],
        clusters=[
            a_cluster("mcp-busy", "mcp", tenancy="Exclusive", holders=["other"]),
            a_cluster("mcp-warm", "mcp", tenancy="Exclusive", labels={"mooring.dev/warm": "mcp"}),
            a_cluster("mcp-warm-too", "mcp", tenancy="Exclusive", labels={"mooring.dev/warm": "mcp"}),
        ],
    ),
    "many-clusters": World(
        request=a_request(purpose="workload"),
        purposes=[WORKLOAD],
        profiles=[LOCAL, a_profile("large")],
        clusters=[
            *(a_cluster(f"full-{number:02}", "workload", holders=[f"a{number}", f"b{number}"]) for number in range(20)),
            *(a_cluster(f"theirs-{number}", "platform") for number in range(5)),
        ],
    ),
    "pending-unknown-purpose": World(
        request=a_request(purpose="worklod", status={"observedGeneration": 1, "phase": "Denied", "reason": "Odd"}),
        purposes=[WORKLOAD, MCP],
        profiles=[LOCAL],
    ),
    "pending-no-capacity": World(
        request=a_request(status=_waiting("NoCapacity"), purpose="workload"),
        purposes=[WORKLOAD],
        profiles=[a_profile("local", maxClusters=1)],
        clusters=[a_cluster("one", "workload", holders=["a", "b"])],
    ),
    "pending-provider-silent": World(
        request=a_request(status=_waiting("NoProfilesYet"), purpose="workload", traits=[{"trait": AWS}]),
        purposes=[WORKLOAD],
        profiles=[LOCAL],
        providers=[a_provider("gardener")],
    ),
    "pending-profile-missing": World(
        request=a_request(status=_waiting("ProfileNotFound"), purpose="fixed"),
        purposes=[a_purpose("fixed", template={"spec": {"profile": "locall"}})],
        profiles=[LOCAL],
    ),
    "denied-by-trait": World(
        request=a_request(status=_denied("NoFittingProfile"), purpose="mcp", traits=[{"trait": AWS}]),
        purposes=[MCP],
        profiles=[LOCAL, a_profile("gcp", traits=[GCP, WORKERLESS])],
    ),
    "denied-by-version": World(
        request=a_request(status=_denied("NoFittingProfile"), purpose="workload", kubernetes={"version": "1.30"}),
        purposes=[WORKLOAD],
        profiles=[a_profile("local", versions=("1.33.3", "1.30.9!")), a_profile("newest", versions=("1.36.4",))],
    ),
    "clash-of-purposes": World(
        request=a_request(status=_denied("PurposesClash"), purposes=["platform", "onboarding"]),
        purposes=[
            a_purpose("platform", template={"metadata": {"namespace": "core"}}),
            a_purpose("onboarding", template={"metadata": {"namespace": "edge"}}),
        ],
        profiles=[LOCAL],
    ),
    "conflict-by-name": World(
        request=a_request(status=_waiting("ClusterConflict"), purpose="workload"),
        purposes=[WORKLOAD],
        profiles=[LOCAL],
        clusters=[a_cluster(NEW_WEB, "platform", holders=["stranger"])],
    ),
    "equivalences-and-operators": World(
        request=a_request(
            purposes=["mcp", "audited"],
            traits=[
                {"trait": NODELESS},
                {"or": [{"trait": AWS}, {"and": [{"trait": GCP}, {"trait": "eu", "negated": True}]}]},
                {"xor": [{"trait": "spot"}, {"trait": "reserved"}], "optional": True},
                {"trait": "beta", "negated": True},
            ],
        ),
        purposes=[MCP, a_purpose("audited", traits=[{"trait": "logs/audit", "optional": True}])],
        profiles=[
            a_profile("aws", traits=[AWS, WORKERLESS, "spot"]),
            a_profile("aws-audited", traits=[AWS, "serverless", "logs/audit", "reserved"]),
            a_profile("aws-beta", traits=[AWS, WORKERLESS, "beta"]),
            a_profile("gcp-eu", traits=[GCP, "eu", WORKERLESS]),
            a_profile("gcp-us", traits=[GCP, NODELESS], versions=("1.34.0",)),
        ],
        equivalences=[an_equivalence(WORKERLESS, NODELESS), an_equivalence(NODELESS, "serverless")],
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_story_is_told_as_it_was_agreed_on(name: str, golden) -> None:
    golden(STORIES / f"{name}.txt", as_text(WORLDS[name].told()))


def test_the_guide_shows_a_story_as_it_is_told() -> None:
    guide = Path(__file__).parents[2] / "docs/how-to/requests.md"
    assert (
        f"```\n$ mooring why web -n shop\n{(STORIES / 'pending-no-capacity.txt').read_text()}```\n" in guide.read_text()
    )


def test_no_story_is_left_over() -> None:
    assert {path.stem for path in STORIES.glob("*.txt")} == set(WORLDS)

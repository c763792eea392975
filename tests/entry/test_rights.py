"""Who comes through a door may do what was asked for and nothing else: the API server's word, asked for everything."""

import asyncio
import os

import pytest
from entry_kit import CLUSTER_ROLES, RBAC, ROLES, an_entrant, answers, new_namespace, settle, token, unique, user_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rights_kit import every_question, should, wishes

from mooring.entry.closing import close
from mooring.entry.doors import token_door
from mooring.entry.opening import make, mend, parts_of
from mooring.kube import Client, connection_from_document

LONG = bool(os.environ.get("MOORING_LONG_RUN"))
EXAMPLES = 100 if LONG else 12  # of two sets of rights each
# So many of all questions, drawn anew each time: of the door when it is made, and changed. A long run asks all of them.
ASKED = (60, 140)
# Nothing may be done where a door was closed.
ASKED_IN_VAIN = 30
# Names stand for namespaces and roles that each run of the test has of its own.
PLACES = ["first", "second"]
REFERENCES = [
    {"kind": "ClusterRole", "name": "wide"},
    {"kind": "ClusterRole", "name": "wide", "namespace": "second"},
    {"kind": "Role", "name": "narrow", "namespace": "first"},
    {"kind": "Role", "name": "nowhere", "namespace": "second"},
    {"kind": "ClusterRole", "name": "nowhere"},
]
WIDE = [
    {"verbs": ["list"], "apiGroups": ["", "apps"], "resources": ["pods", "deployments"]},
    {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
]
NARROW = [{"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"]}]


class World:
    """A cluster with two namespaces and two roles in it that are not ours."""

    def __init__(self, kube, actual):
        self.kube, self.actual = kube, actual
        self.accounts = actual["accounts"]
        self.known = {("ClusterRole", "", actual["wide"]): WIDE, ("Role", actual["first"], actual["narrow"]): NARROW}
        self.questions = every_question([actual["first"], actual["second"], actual["accounts"], "kube-system"])

    def asked(self, random, count):
        return self.questions if LONG else random.sample(self.questions, count)

    @classmethod
    async def new(cls, kube):
        actual = {word: await new_namespace(kube, word) for word in (*PLACES, "accounts")}
        actual |= {word: unique(word) for word in ("wide", "narrow", "nowhere")}
        for kind, resource, rules in (("ClusterRole", CLUSTER_ROLES, WIDE), ("Role", ROLES, NARROW)):
            place = {"namespace": actual["first"]} if kind == "Role" else {}
            metadata = {"name": actual["narrow" if place else "wide"], **place}
            role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
            await kube.create(resource, role)
        return cls(kube, actual)

    def wish(self, words):
        """With the true names."""

        def true(thing):
            named = {key: self.actual[thing[key]] for key in ("name", "namespace") if key in thing}
            return thing | named

        return {part: [true(thing) for thing in things] for part, things in words.items()}

    async def assert_rights(self, door, wish, questions):
        await settle(self.kube, self.accounts)
        told = await answers(self.kube, user_of(door, self.accounts), questions)
        expected = [should(wish, self.known, question) for question in questions]
        differing = [pair for pair in zip(questions, told, expected, strict=True) if pair[1] != pair[2]]
        assert not differing, f"(question, told, expected) for {wish}"


NOTHING = {"permissions": [], "roleRefs": []}


@pytest.mark.timeout(3600 if LONG else 300)
def test_rights_are_as_asked_for_and_follow_the_request(own_plane):
    """Made, changed to something else, and closed."""
    connection = connection_from_document(own_plane.admin_kubeconfig(name="own"))

    async def exercised(first, second, random):
        async with Client(connection) as kube:
            world = worlds[0] = worlds[0] or await World.new(kube)
            world.kube = kube
            entrant = an_entrant()
            asked = [world.wish(first), world.wish(second)]
            doors = [token_door(entrant, token(**wish), accounts=world.accounts) for wish in asked]
            await make(kube, doors[0])
            await world.assert_rights(doors[0], asked[0], world.asked(random, ASKED[0]))
            assert await mend(kube, doors[0]) is False
            await mend(kube, doors[1])
            assert len(await parts_of(kube, entrant)) == len(doors[1].objects)
            await world.assert_rights(doors[1], asked[1], world.asked(random, ASKED[1]))
            await close(kube, entrant, accounts=world.accounts)
            assert not await parts_of(kube, entrant)
            await world.assert_rights(doors[1], NOTHING, random.sample(world.questions, ASKED_IN_VAIN))

    worlds = [None]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(wishes(PLACES, REFERENCES), wishes(PLACES, REFERENCES), st.randoms(use_true_random=False))
    def exercise(first, second, random):
        asyncio.run(exercised(first, second, random))

    exercise()

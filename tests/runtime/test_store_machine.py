"""The store against a model: late events, relists in flight, own writes, deletions and restores, in every order.

The model knows each state that the server ever had. At every moment the store must show an object as it was at the
revision up to which the watch has told, or as a later write of ours left it, if we heard the answer: that is
read-your-writes, and convergence is the case that nothing is under way.
"""

import copy
import time
from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mooring.kube import Deleted, ObjectKey, Relisted, Undecodable, key_of, uid_of
from mooring.kube.events import Added
from mooring.runtime.store import Store

NAMES = st.sampled_from(["a", "b"])
LABELS = st.sets(st.sampled_from(["red", "green"]))


class Server:
    """All states of all objects by revision; can be set back."""

    def __init__(self):
        self.revision = 1
        self.states = {1: {}}
        self._uids = Counter()

    @property
    def now(self):
        return self.states[self.revision]

    def create(self, name, labels, **traits):
        self._uids[name] += 1
        return self._write(name, {"uid": f"{name}{self._uids[name]}", "labels": sorted(labels), **traits})

    def update(self, name, **traits):
        return self._write(name, {**self.now[name], **traits})

    def delete(self, name):
        self._write(name, None)

    def _write(self, name, content):
        self.revision += 1
        made = None if content is None else {**content, "revision": self.revision}
        state = {**self.states[self.revision - 1], name: made}
        self.states[self.revision] = {name: one for name, one in state.items() if one is not None}
        return made

    def set_back(self, revision):
        self.revision = revision
        self.states = {number: state for number, state in self.states.items() if number <= revision}

    def shown(self, revision):
        """What a watch shows of a state: all but what its selector leaves out."""
        return {name: one for name, one in self.states[revision].items() if not one.get("hidden")}

    def event(self, revision):
        """What a watch tells of the step to this revision; None if it shows nothing of it."""
        before, after = self.shown(revision - 1), self.shown(revision)
        for name in before.keys() | after.keys():
            old, new = before.get(name), after.get(name)
            if new is None:
                return told_gone(name, {**old, "revision": revision})
            if new != old:
                return told(name, new)
        return None


def thing(name, one):
    metadata = {"name": name, "namespace": "n", "uid": one["uid"], "resourceVersion": str(one["revision"])}
    return {"metadata": metadata, "labels": one["labels"], "hidden": one.get("hidden", False)}


def told(name, one):
    if one.get("poison"):
        return Undecodable(ObjectKey("n", name), "poison", revision=str(one["revision"]))
    return Added(thing(name, one))


def told_gone(name, one):
    if one.get("poison"):
        return Undecodable(ObjectKey("n", name), "poison", deleted=True, revision=str(one["revision"]))
    return Deleted(thing(name, one))


def by_label(one):
    return one["labels"]


class StoreMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.server = Server()
        self.heard = 1  # up to here the watch has told
        self.store = Store({"label": by_label}, admits=lambda one: not one["hidden"])
        self.shadow = {}  # what somebody knows who only listens
        self.store.subscribe(self._listen)
        self.answers = []  # to our own writes, on the way: (revision, name, object or None, as it was before)
        self.ours = {}  # name to the latest of them that was heard: (revision, object or None, when)
        self.doubtful = {}  # name to the revision up to which the store may be right or not
        self.asked = None  # since when a list is under way ...
        self.list = None  # ... and what it will bring, once it was made
        self.set_back = False  # the server was, and no list has told so yet
        self.ask_for_a_list()
        self.make_the_list()
        self.hear_the_list()

    def _listen(self, change):
        assert self.shadow.get(change.key) == change.before
        self.shadow[change.key] = change.after
        if change.after is None:
            del self.shadow[change.key]

    # Others write

    @rule(name=NAMES, labels=LABELS, deed=st.sampled_from(["update", "delete", "poison", "hide"]))
    def others_write(self, name, labels, deed):
        if name not in self.server.now:
            self.server.create(name, labels)
        elif deed == "delete":
            self.server.delete(name)
        else:
            traits = {"poison": deed == "poison", "hidden": deed == "hide"}
            self.server.update(name, labels=sorted(labels), **traits)

    # We write; the answer comes when it comes

    @rule(name=NAMES, labels=LABELS, delete=st.booleans())
    def we_write(self, name, labels, delete):
        seen, there = self._seen(name), self.server.now.get(name)
        if there is None:
            self.answers.append((name, self.server.create(name, labels), None))
        elif seen is None or uid_of(seen) != there["uid"]:
            return
        elif delete:
            self.server.delete(name)
            self.answers.append((name, {"revision": self.server.revision}, seen))
        else:
            made = self.server.update(name, labels=sorted(labels))
            if not made.get("poison"):
                self.answers.append((name, made, None))

    def _seen(self, name):
        return copy.deepcopy(self.store.get(ObjectKey("n", name)))

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def we_hear_an_answer(self, data):
        name, made, deleted = self.answers.pop(data.draw(st.integers(0, len(self.answers) - 1)))
        if deleted is None:
            self.store.wrote(thing(name, made))
            left = None if made.get("hidden") else made
        else:
            self.store.deleted(deleted)
            left = None
        if self.set_back:
            self.doubtful[name] = made["revision"]
        elif name not in self.ours or self.ours[name][0] < made["revision"]:
            self.ours[name] = (made["revision"], left, time.monotonic())

    # The watch

    @precondition(lambda self: self.asked is None and self.heard < self.server.revision)
    @rule(count=st.integers(1, 5))
    def events_arrive(self, count):
        for _ in range(min(count, self.server.revision - self.heard)):
            self.heard += 1
            event = self.server.event(self.heard)
            if event is not None:
                self.store.apply(event)

    @rule()
    def the_next_list_comes_closer(self):
        if self.asked is None:
            self.ask_for_a_list()
        elif self.list is None:
            self.make_the_list()
        else:
            self.hear_the_list()

    def ask_for_a_list(self):
        self.asked, self.list = time.monotonic(), None

    def make_the_list(self):
        shown = self.server.shown(self.server.revision)
        items = [thing(name, one) for name, one in shown.items() if not one.get("poison")]
        lost = [Undecodable(ObjectKey("n", name), "poison") for name, one in shown.items() if one.get("poison")]
        self.list = Relisted(items, str(self.server.revision), lost, self.asked)

    def hear_the_list(self):
        self.heard, self.set_back = int(self.list.resource_version), False
        self.ours = {name: own for name, own in self.ours.items() if own[2] >= self.asked}
        self.store.apply(self.list)
        self.asked = self.list = None

    @rule(steps=st.sampled_from([0, 0, 0, 0, 1, 2, 4, 8]))
    def the_server_is_set_back(self, steps):
        """With that, connections break: answers on the way are lost, and the watch must list.

        Until the list is here, the store cannot know that revisions began anew; what it shows of answers that come
        meanwhile is left open.
        """
        if steps == 0:
            return
        self.server.set_back(max(1, self.server.revision - steps))
        self.answers.clear()
        self.ours.clear()
        self.doubtful.clear()
        self.set_back = True
        self.ask_for_a_list()

    # What must hold

    @invariant()
    def the_store_shows_what_is_known(self):
        if self.set_back:
            return
        expected = {name: one for name, one in self.server.shown(self.heard).items() if not one.get("poison")}
        expected |= {name: one for name, (revision, one, _) in self.ours.items() if revision > self.heard}
        doubtful = {name for name, revision in self.doubtful.items() if revision > self.heard}
        known = {key_of(one).name: one for one in self.store}
        for name in (known.keys() | expected.keys()) - doubtful:
            one = expected.get(name)
            assert known.get(name) == (None if one is None else thing(name, one))

    @invariant()
    def an_index_equals_a_scan(self):
        for label in ("red", "green"):
            scan = {key_of(one) for one in self.store if label in one["labels"]}
            assert set(self.store.keys_by("label", label)) == scan
            assert {key_of(one) for one in self.store.by("label", label)} == scan
        assert set(self.store.values("label")) == {label for one in self.store for label in one["labels"]}

    @invariant()
    def who_listens_knows_the_same(self):
        assert self.shadow == {key_of(one): one for one in self.store}

    @invariant()
    def nothing_is_kept_for_ever(self):
        if self.heard == self.server.revision and self.asked is None and not self.answers:
            unreadable = {name for name, one in self.server.shown(self.heard).items() if one.get("poison")}
            assert {key.name for key in self.store.undecodable} == unreadable

    def teardown(self):
        while self.answers:
            name, made, deleted = self.answers.pop()
            if deleted is None:
                self.store.wrote(thing(name, made))
            else:
                self.store.deleted(deleted)
        if self.asked is not None:
            if self.list is None:
                self.make_the_list()
            self.hear_the_list()
        while self.heard < self.server.revision:
            self.events_arrive(5)
        self.ours.clear()
        self.the_store_shows_what_is_known()
        self.an_index_equals_a_scan()
        self.who_listens_knows_the_same()
        self.nothing_is_kept_for_ever()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=250,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)

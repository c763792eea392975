"""The store, case by case; what order things can come in is the business of test_store_machine."""

import pytest
from structlog.testing import capture_logs

from mooring.kube import Change, Deleted, ObjectKey, Relisted, Undecodable
from mooring.kube.events import Added
from mooring.runtime import Store


def one(name, revision, *, uid=None, team="x", **more):
    metadata = {"name": name, "namespace": "n", "uid": uid or f"uid-{name}", "resourceVersion": str(revision)}
    return {"metadata": metadata, "team": team, **more}


def key(name):
    return ObjectKey("n", name)


def by_team(thing):
    return (thing["team"],)


@pytest.fixture
def store():
    return Store({"team": by_team})


def test_an_index_is_shared_by_name_and_function(store):
    store.apply(Relisted([one("a", 1), one("b", 2, team="y")], "2"))
    store.index("team", by_team)
    with pytest.raises(ValueError, match="team"):
        store.index("team", lambda thing: ())
    store.index("letters", lambda thing: thing["team"] * 2)  # later, and with a value twice
    assert store.by("letters", "y") == [one("b", 2, team="y")]
    assert set(store.values("letters")) == {"x", "y"}
    assert list(store.keys_by("team", "nobody")) == []
    assert len(store) == 2
    assert key("a") in store


def test_an_object_whose_index_fails_is_named_and_skipped_and_the_rest_goes_on(store):
    told = []
    store.subscribe(told.append)
    poisoned = {name: value for name, value in one("bad", 2).items() if name != "team"}
    with capture_logs() as logs:
        store.apply(Relisted([one("a", 1), poisoned, one("c", 3)], "3"))
    assert {change.key.name for change in told} == {"a", "c"}
    assert list(store.undecodable) == [key("bad")]
    assert [entry["key"] for entry in logs] == ["n/bad"]
    # An object that was well, and is no longer, is gone.
    with capture_logs():
        store.apply(Added({**poisoned, "metadata": one("a", 4)["metadata"]}))
    assert told[-1] == Change(key("a"), one("a", 1), None)
    assert store.by("team", "x") == [one("c", 3)]
    with capture_logs():
        store.wrote({**poisoned, "metadata": one("c", 5)["metadata"]})
    store.apply(Relisted([one("bad", 6)], "6"))
    assert not store.undecodable
    assert store.by("team", "x") == [one("bad", 6)]


def test_a_listener_that_fails_keeps_nobody_from_hearing(store):
    told = []

    def fail(change):
        raise KeyError(change.key.name)

    store.subscribe(fail)
    store.subscribe(told.append)
    with capture_logs() as logs:
        store.apply(Relisted([one("a", 1)], "1"))
        store.wrote(one("a", 2))
    assert len(told) == 2
    assert [entry["key"] for entry in logs] == ["n/a", "n/a"]
    assert store.get(key("a")) == one("a", 2)


def test_the_same_revision_with_another_content_is_news_in_a_relist(store):
    """After a restore, revisions are given out again."""
    told = []
    store.apply(Relisted([one("a", 7)], "7"))
    store.subscribe(told.append)
    store.apply(Relisted([one("a", 7)], "7"))
    assert told == []
    store.apply(Relisted([one("a", 7, team="y")], "7"))
    assert told == [Change(key("a"), one("a", 7), one("a", 7, team="y"))]
    assert store.by("team", "y") == [one("a", 7, team="y")]


def test_an_answer_that_comes_after_the_news_of_the_deletion_raises_no_dead(store):
    store.apply(Relisted([one("a", 1)], "1"))
    store.apply(Deleted(one("a", 3)))
    store.wrote(one("a", 2))
    assert store.get(key("a")) is None
    store.deleted(one("a", 1))
    store.wrote(one("a", 4, uid="other"))
    assert store.get(key("a")) == one("a", 4, uid="other")


def test_news_of_a_deletion_does_not_hit_the_successor(store):
    store.apply(Relisted([one("a", 1)], "1"))
    store.wrote(one("a", 5, uid="other"))
    store.apply(Deleted(one("a", 4)))
    assert store.get(key("a")) == one("a", 5, uid="other")


def test_a_list_on_the_way_does_not_undo_what_we_wrote_meanwhile(store):
    asked = Relisted([], "0").asked
    store.wrote(one("created", 5))
    store.wrote(one("gone-again", 6))
    store.apply(Relisted([one("deleted", 3)], "3", (), asked))
    assert {thing["metadata"]["name"] for thing in store} == {"created", "gone-again", "deleted"}
    # A list that is later than the write knows better, although it was asked for before.
    store.apply(Relisted([one("created", 5)], "9", (), asked))
    assert [thing["metadata"]["name"] for thing in store] == ["created"]


def test_what_cannot_be_read_is_named_until_it_can_or_is_gone(store):
    store.apply(Relisted([one("a", 1)], "1", [Undecodable(key("b"), "no colour")]))
    assert dict(store.undecodable) == {key("b"): "no colour"}
    store.apply(Undecodable(key("a"), "no colour", revision="2"))
    assert store.get(key("a")) is None
    store.apply(Undecodable(key("a"), "no colour", deleted=True, revision="3"))
    store.apply(Added(one("b", 4)))
    assert not store.undecodable
    store.apply(Undecodable(None, "not even a name"))
    assert [thing["metadata"]["name"] for thing in store] == ["b"]


def test_nothing_is_left_of_what_we_deleted_once_the_watch_has_told(store):
    for number in range(1, 300, 3):
        made = one(f"n{number}", number)
        store.wrote(made)
        store.deleted(made)
        store.apply(Added(made))
        store.apply(Deleted(one(f"n{number}", number + 1)))
        store.deleted(made)  # the same, told once more, late
    assert not store._graves
    assert not store._written
    assert len(store) == 0


def test_clearing_forgets_without_a_word(store):
    told = []
    store.apply(Relisted([one("a", 1)], "9", [Undecodable(key("b"), "bad")]))
    store.subscribe(told.append)
    store.clear()
    assert (len(store), store.synced, dict(store.undecodable), told) == (0, False, {}, [])
    assert store.by("team", "x") == []
    store.wrote(one("a", 1))
    assert store.get(key("a")) == one("a", 1)


def test_books_kept_on_what_is_heard_are_emptied_with_the_store(store):
    def fail():
        raise RuntimeError("does not want to")

    book = {}
    store.subscribe(lambda change: None, cleared=fail)
    store.subscribe(lambda change: book.update({change.key: len(store)}), cleared=book.clear)
    store.apply(Relisted([one("a", 1), one("b", 1)], "9", []))
    assert set(book) == {key("a"), key("b")}
    store.clear()
    assert book == {}
    store.apply(Relisted([one("b", 1)], "9", []))
    assert set(book) == {key("b")}


def test_the_answer_to_an_earlier_write_does_not_raise_what_we_deleted(store):
    store.apply(Relisted([one("a", 1)], "1"))
    store.deleted(one("a", 1))
    store.wrote(one("a", 2))
    assert store.get(key("a")) is None


def test_what_we_deleted_before_the_watch_told_of_it_never_appears(store):
    store.apply(Relisted([], "1"))
    store.deleted(one("a", 5))
    store.apply(Added(one("a", 5)))
    assert store.get(key("a")) is None
    store.apply(Deleted(one("a", 6)))
    assert not store._graves


def test_what_we_put_out_of_sight_comes_back_when_others_show_it_again():
    store = Store(admits=lambda thing: not thing.get("hidden"))
    asked = Relisted([], "0").asked
    store.apply(Relisted([one("a", 1)], "1", (), asked))
    store.wrote(one("a", 3, hidden=True))
    store.apply(Added(one("a", 2)))
    assert store.get(key("a")) is None
    store.apply(Relisted([], "4", (), asked))
    store.apply(Added(one("a", 6)))
    assert store.get(key("a")) == one("a", 6)


def test_old_news_of_something_unreadable_does_not_hide_what_we_wrote(store):
    store.apply(Relisted([one("a", 1)], "1"))
    store.wrote(one("a", 5))
    store.apply(Undecodable(key("a"), "no colour", revision="4"))
    assert store.get(key("a")) == one("a", 5)
    store.apply(Undecodable(key("a"), "no colour", revision="6"))
    assert store.get(key("a")) is None

"""A picture by events: it tells every change, also those that nobody saw happen."""

from hypothesis import given
from hypothesis import strategies as st

from mooring.kube import Changed, Deleted, Interrupted, ObjectKey, Picture, Relisted, Undecodable
from mooring.kube.errors import Unreachable


def thing(name, *, uid="1", version="1"):
    return {"metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": version}}


def told(changes):
    return [(change.key.name, change.before is not None, change.after is not None) for change in changes]


def test_a_relist_tells_what_was_missed():
    picture = Picture()
    assert told(picture.apply(Relisted([thing("a"), thing("b"), thing("c")], "3"))) == [
        ("a", False, True),
        ("b", False, True),
        ("c", False, True),
    ]
    later = Relisted([thing("a"), thing("b", version="9"), thing("d")], "9")
    assert told(picture.apply(later)) == [("c", True, False), ("b", True, True), ("d", False, True)]
    assert [key.name for key in picture.objects] == ["a", "b", "d"]


def test_another_object_of_the_same_name_is_a_deletion_too():
    picture = Picture()
    picture.apply(Relisted([thing("a", uid="1")], "1"))
    assert told(picture.apply(Relisted([thing("a", uid="2")], "1"))) == [("a", True, False), ("a", False, True)]
    assert told(picture.apply(Changed(thing("a", uid="3")))) == [("a", True, False), ("a", False, True)]


def test_a_relist_counts_also_when_revisions_went_back():
    picture = Picture()
    picture.apply(Relisted([thing("a", version="900")], "1000"))
    picture.apply(Relisted([thing("a", version="90")], "100"))
    assert picture.objects[ObjectKey("n", "a")]["metadata"]["resourceVersion"] == "90"


def test_what_cannot_be_read_is_held_by_name():
    picture = Picture()
    picture.apply(Relisted([thing("a")], "1", [Undecodable(ObjectKey("n", "p"), "bad")]))
    assert dict(picture.undecodable) == {ObjectKey("n", "p"): "bad"}
    assert told(picture.apply(Undecodable(ObjectKey("n", "a"), "worse"))) == [("a", True, False)]
    assert picture.apply(Undecodable(ObjectKey("n", "a"), "worse", deleted=True)) == []
    picture.apply(Changed(thing("p")))
    assert picture.undecodable == {}
    assert picture.apply(Undecodable(None, "noise")) == []
    assert picture.apply(Interrupted(Unreachable("away", verb="GET", path="/"), 1.0)) == []


names = st.sampled_from("abcd")
version = st.integers(1, 5).map(str)
things = st.builds(thing, names, uid=st.sampled_from("12"), version=version)
events = st.one_of(
    st.builds(Changed, things),
    st.builds(Deleted, things),
    st.lists(things, unique_by=lambda item: item["metadata"]["name"]).map(lambda items: Relisted(items, "1")),
)


@given(st.lists(events, max_size=30))
def test_the_changes_alone_rebuild_the_picture(events):
    picture, rebuilt = Picture(), {}
    for event in events:
        for change in picture.apply(event):
            assert rebuilt.get(change.key) == change.before
            rebuilt[change.key] = change.after
            if change.after is None:
                del rebuilt[change.key]
        same = {key: item["metadata"] for key, item in picture.objects.items()}
        assert {key: item["metadata"] for key, item in rebuilt.items()} == same

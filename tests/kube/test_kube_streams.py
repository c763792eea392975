"""Bytes to lines to words: however the bytes were cut on the way, the same words come out."""

import json
import time
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kube import Changed, Deleted, Resource, Undecodable
from mooring.kube.decoding import Decoders, decoders_for
from mooring.kube.streams import LineSplitter

lines = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=20)


def cut(data, places):
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


@given(lines=lines, tail=st.binary(max_size=30), places=st.lists(st.integers(min_value=0), max_size=40))
def test_any_cutting_gives_the_same_lines(lines, tail, places):
    tail = tail.replace(b"\n", b"")
    data = b"".join(line + b"\n" for line in lines) + tail
    splitter = LineSplitter()
    blocks = [splitter.feed(chunk) for chunk in cut(data, places)]
    assert all(block == b"" or block.endswith(b"\n") for block in blocks)
    assert b"".join(blocks) == b"".join(line + b"\n" for line in lines)
    assert splitter.waiting == len(tail)


def test_a_long_line_in_small_pieces_costs_no_more_than_its_length():
    def seconds(pieces):
        splitter = LineSplitter()
        started = time.perf_counter()
        for _ in range(pieces):
            splitter.feed(b"x" * 100)
        assert len(splitter.feed(b"\n")) == 100 * pieces + 1
        return time.perf_counter() - started

    small, large = min(seconds(10_000) for _ in range(3)), min(seconds(160_000) for _ in range(3))
    assert large < small * 16 * 6  # sixteen times the work; were it quadratic, it would be 256 times


class Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Strict(msgspec.Struct):
    metadata: Meta
    size: int


STRICT = Resource("", "v1", "stricts", "Strict", True, Strict)


def line(kind, name, **fields):
    thing = {"metadata": {"name": name, "namespace": "n"}, **fields}
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


def test_one_poisoned_line_does_not_hide_the_others():
    block = (
        line("ADDED", "a", size=1)
        + line("MODIFIED", "poison", size="large")
        + line("DELETED", "gone", size=None)
        + b"{nonsense\n"
        + b"\xff\xfe\n"
        + b"\n"
        + line("DELETED", "b", size=2)
    )
    said = decoders_for(STRICT).lines(block)
    first, poison, gone, nonsense, noise, last = said
    assert isinstance(first, Changed)
    assert first.object.size == 1
    assert (poison.key, poison.deleted) == (("n", "poison"), False)
    assert (gone.key, gone.deleted) == (("n", "gone"), True)
    assert isinstance(nonsense, Undecodable)
    assert nonsense.key is noise.key is None
    assert isinstance(last, Deleted)


def test_one_poisoned_item_does_not_hide_the_list():
    items = [
        {"metadata": {"name": "a"}, "size": 1},
        {"metadata": {"name": "p", "namespace": "n"}, "size": []},
        {"metadata": 7},
        {"metadata": {"name": "b"}, "size": 2},
    ]
    body = json.dumps({"metadata": {"resourceVersion": "5"}, "items": items}).encode()
    fitting, misfits, meta = decoders_for(STRICT).page(body)
    assert [item.size for item in fitting] == [1, 2]
    assert [misfit.key for misfit in misfits] == [("n", "p"), None]
    assert meta.resource_version == "5"


@given(st.binary())
def test_any_bytes_are_words_or_told(data):
    for word in Decoders(dict).lines(data.replace(b"\n", b" ") + b"\n"):
        assert isinstance(word, Undecodable)


def test_what_is_no_list_is_an_error():
    with pytest.raises(msgspec.MsgspecError):
        decoders_for(STRICT).page(b"[]")

"""YAML beside the real clusterctl's: what text means, and how values are written again, byte for byte.

Documents that we can read go through one run of the judge, and of those that we cannot, each has one of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from runners import Runner

from mooring.clusterctl import yamls
from mooring.clusterctl.yamls import YamlError, documents, dump, load

_MARK = "before-each"
_BAD_DOCUMENTS = 15  # of the generated ones

_INDICATORS = "'\"!&*%@`|>[{]},?#"
_NO_VALUES = {"-", ".inf", ".Inf", "+.INF", "-.inf", ".nan", ".NaN"}
_NO_KEYS = {"-", "<<", "9223372036854775808", "18446744073709551615", "0xffffffffffffffff", "01777777777777777777777"}
_WORDS = """
y Y yes Yes YES yEs true True TRUE tRUE on On ON oN n N no No NO false False FALSE off Off OFF ~ null Null NULL nULL
t f o 1 0 -0 +0 00 07 08 09 017 0o17 0O17 0o8 0o 0x1F 0X1f 0xg 0x 0b101 0B101 0b2 0b -0b11 +0b1 0b+1 0b-1 -0b-1 -017
-0o17 -0x1F 1_000 1__0 _1 1_ 0_7 0x_1F 1_000.5 1e3 1E3 1e+3 1e-3 1e 1e+ .5 .5e3 5. 5.e3 +.5 -.5 .5_5 ._5 .5_ .e5 . ..
.5e400 -1.5e-7 1e400 -1e400 1e-400 0.1 0.30000000000000004 1.0 1.50 100000000000000000000.0 123456.0 1234567.0 1e20
1e21 1e22 0.000001 0.0000001 9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808
-9223372036854775809 18446744073709551615 18446744073709551616 +18446744073709551615 0xffffffffffffffff
0x1ffffffffffffffff 1e15 1e16 1e17 0777777777777777777777 01777777777777777777777 012345678901234567890123
99999999999999999999999999 1:30 1:30:59 190:20:30 1:99 12:30:45.5 -1:30 2001-12-14 2001-1-1 2001-13-01 2001-02-30
2000-02-29 0000-02-29 2001-12-14T21:59:43Z 2001-12-14t21:59:43.10-05:00 2001-12-14T21:59:43 2001-12-14T25:00:00Z
2001-12-14T21:59:60Z 20011-12-14 201-12-14 2001-12-14Z 2001- 2001-1 2001_12 .inf .Inf +.INF -.inf .nan .NaN +.nan
.iNF inf nan Infinity 0.0 -0.0 +1 + - -- = << @ 1,000 1.2.3 v1.2.3 1e3x 0x1p4 0x1.8p1 1_e3 1e_3 ٣ １２ é 日本 a:b a#b #x
http://a//b a\\b 'x "x x' x" a'b a"b !x &x *x %x @x `x |x >x [x {x ]x }x ,x ?x :x -x !!str ! !!int&a x:y:z 0.1.2 1..2
1-2 2-1 00.5 007.5 -.5e-5 +.5E+05 0e0 0E+1 00e1 0b1_0 0o1_7 0x1_f
"""
WORDS = _WORDS.split()

GOOD = [
    *(f"k: {word}" for word in WORDS if word[0] not in _INDICATORS and word not in _NO_VALUES),
    *(f"{word}: v" for word in WORDS if word[0] not in f"{_INDICATORS}~nN." and word not in _NO_KEYS),
    "? 0o17\n: a\n? 1.5\n: b\n? 1e30\n: c\n? .inf\n: d\n? 0.1\n: e\n? 16777217.0\n: f\n? 1e-5\n: g\n? -0.0\n: h",
    "k: !!str 1\nl: !!int 0x10\nm: !!float 1\nn: !!bool yes\no: !!null ~\np: !!timestamp 2001-01-01\n"
    "q: !foo 1\nr: ! 1",
    "k: !!str\nl: ! \nm: !foo\nn: !!binary aGVsbG8=\no: !!binary |\n  /w==\np: !<tag:yaml.org,2002:str> 1\n"
    "q: !!set {a, b}",
    "k: !!float 1e3\nl: !!str yes\nm: !!map {a: 1}\nn: !!seq [1]\no: !!omap [a: 1]\np: !!str [1]\n"
    "!!str 1: v\n! 2: w",
    "---\nk: v",
    "--- # a comment\nk: v",
    "# nothing but a comment",
    "",
    "~",
    "{}",
    "k: v\n...\nthis: [is lost",
    "a: &x {b: 1, c: [1, 2]}\nd: *x\ne:\n- *x\n- <<: *x\n  b: 2",
    "a: &x {b: 1}\nd: {b: 2, <<: *x}\ne: {<<: *x, b: 3}\nf: {<<: [{b: 4, g: 1}, *x, {b: 5, h: 2}]}\n"
    "g: {<<: {<<: *x, z: 1}}",
    "a: &x <<\nb: {*x : 1}\nc: {'<<': 1}\nd: {!!merge <<: {e: 1}}\nf: {! <<: {g: 1}}\nh: <<\ni: [<<]",
    "a: &x 1\nb: *x\nc: {*x : d}\ne: &x 2\nf: *x\ng: &y [&y h, *y]\ni: *y",
    "a: &n y\nb: *n\nc: {*n : *n}\nd: &e\nf: *e\ng: &t !!str 1\nh: *t",
    "a: 1\na: 2\nb: {c: 1, c: 2}\n1: x\n1: y\ntrue: p\nyes: q",
    "k: |\n  a\n   b\n\n  c\n\n\nl: |-\n  a\n\nm: |+\n  a\n\n\nn: >\n  a\n  b\n\n  c\n   d\n  e\no: >-\n  a\n"
    "  b\np: |2\n    a\nq: |1-\n  a",
    "k: |\n  --- not a separator\n  x\nl: >\n  ...\n",
    "k: |\n\n  a\nm: |\n  a\n \nn: >+\n\n\no: |-\n\np: |+\n\n",
    "k: a\n  b\n\n  c\nl: 'a\n  b\n\n  c'' d'\nm: \"a\n  b\\\n  c \\\n\n  d\"",
    r'k: "\0\a\b\t\n\v\f\r\e\"\\\N\_\L\P\x41é\U0001F600\ "',
    "k: 'a: b # c'\nl: \"a: b # c\"\nm: a # b\nn: a#b\no: [a, 'b, c', \"d]\"]\np: {a: {b: {}}, c: []}",
    "k: {a:}\nl: [a:, b:]\nm: {1:, y:}\nn: [it's:]\no: \"it\\'s \\'so\\'\"",
    "k: [a, b, ]\nl: {a: 1, }\nm: {a, b: , c}\nn: [a: 1, b]\no: [{}, []]\np: [1, y, ~, 1.5, '']\nq: {? a : b, ? c}",
    "k:\n- a\n- b\n- - c\n  - d\n-\n  e: f\n- g: h\n  i: j\n-\n- {}\n",
    "k:\n  - a\nl:\n- b\nm: -1",
    "? a\n: b\n? c\n? |\n  d\n: e",
    "k: http://host:80/path\nl: a:b\nm: [http://host]\nn: {u: http://host, v: a:b}\np: a::b",
    "k:\tv\nl: a\tb\nm: [\ta,\tb ]\nn: 'a\tb'",
    "k: v \t\nl: v\t# c",
    "\ufeffk: v",
    "k: é😀\u00a0\u2003x\n日本: 1\nm: \"\u0085\"",
    'k: "a\\x85b"\nl: "\\x85"\nm: "a \\x85 \\x85 b"',
    "k: 'trailing '\nl: ' leading'\nm: '  '\nn: \"a\\nb\"\no: \"a\\n\"\np: \"\\n\"\nq: \"\\n\\n\"\nr: \" a\\n"
    "b\"\ns: \"a \\nb\"\nt: \"\\ta\\n\"",
    "k: 'y'\nl: '1'\nm: '1e3'\nn: '1:30'\no: '2001-01-01'\np: '~'\nq: 'null'\nr: ''\ns: '0o17'\nt: '<<'\n"
    "u: '='\nv: '.5'",
    "k: '#a'\nl: 'a #b'\nm: 'a: b'\nn: 'a:'\no: '- a'\np: '-'\nq: '? a'\nr: '?'\ns: '!a'\nt: '&a'\nu: '*a'\n"
    "v: '[a'\nw: '{a'",
    "k: '%a'\nl: '@a'\nm: '`a'\nn: '|'\no: '>'\np: \"'\"\nq: '\"'\nr: 'a, b'\ns: ','\nt: 'a\\b'\nu: '---'\n"
    "v: '...'\nw: '--- a'",
    "k: " + "long " * 60 + "\nl: " + "x" * 300 + "\nm: '" + "word: " * 40 + "'\nn: \"" + "esc\\x01 " * 30 + '"',
    "node10: a\nnode2: b\nnode1: c\nnode01: d\nnode: e\nNode3: f\nnode-1: g\n_a: h\nA: i\né: j\n10: k\n9: l\n"
    "a1b2: n\na1b10: o",
    "a100: 1\na010: 2\na0010: 3\na10: 5\n٣: 6\na٣: 7\na99999999999999999999: 8\na1: 9\n18446744073709551617: 10",
    "k: [" + "[" * 90 + "]" * 90 + "]",
    "k" * 1022 + ": v",
    "k: a\r\nl: |\r\n  b\r\n  c\r\nm: 'd\r\n  e'\r\n",
    "k: a\rl: b\r",
    "kind: y\nmetadata: {name: 1, namespace: ~, labels: {n: y, 1: 2}}",
    "{\"k\": \"v\", \"l\": [1, 2.50, true, null], \"m\": {\"n\":1}, \"o\":\"p\"}",
]  # fmt: skip

BAD = [
    "- a list", "text", "1", "[1]", "true", "'quoted'", "k: v\n- a", "k: [", "k: {", "k: ]", "k: }", "k: 'a",
    'k: "a', "k: a: b", "k: - a", "\tk: v", "k:\n\tl: v", "k: @a", "k: `a", "k: %a\n%b", "k: *x", "k: &x [*x]",
    "k: !!int a", "k: !!float a", "k: !!bool 1", "k: !!null a", "k: !!timestamp a", "k: !!binary '*'", "k: !x!y 1",
    "k: .nan", "k: .inf", "k: [-.inf]", "~: v", "? [a]\n: v", "{a: b}: v", "? {a: b}\n: v",
    "18446744073709551615: v", "k: {<<: 1}", "k: {<<: [1]}", "k: {<<: ~}", "a: &x [1]\nb: {<<: *x}",
    "%YAML 1.2\n---\nk: v", "%YAML 1.1\n---\nk: v", "%TAG !y! tag:yaml.org,2002:\n---\nk: !y!str 1",
    "k" * 1023 + ": v", "%YAML 2.0\n---\nk: v", "%FOO\n---\nk: v", "--- k: v", "--- |\n a", "---a", "k: [a?b]",
    "k: [a ?b]", "k: [a\n ?b]", "k: {a?b: c}", 'k: "\\/"', 'k: "\\q"', 'k: "\\xzz"', 'k: "\\ud800"',
    'k: "\\U00110000"', "k: \x01", "k: \x7f", "k: \u0080", "k: \ufffe", 'k: "\\x7f"', 'k: "\\x80"', 'k: "\\ufffe"',
    '"\\x9f": v', "k: |x\n a", "k: |0\n a", "k: |\n a\n\tb", "k: a\n l: b", "k: 'a' b", "k: [a b: c: d]", "k: [a]b",
    "k: &a &b c", "k: &", "k: *", "k: ! !a b", "k: {a: b", "k\n", "k: v\nk2", "k: [a,\nb: c", "k: ::",
    "k: |\n   \n  a", "? " + "k" * 1100 + "\n: v", "k" * 1100 + ": v", "k: >2x\n  a",
]  # fmt: skip


def test_what_documents_mean_and_how_they_are_written(judge: Runner, ours: Runner) -> None:
    assert [one for one in GOOD if not _readable(one)] == []
    assert_alike(GOOD, judge, ours)


def test_what_is_no_document(judge: Runner, ours: Runner) -> None:
    with ThreadPoolExecutor(4) as pool:
        taken = pool.map(lambda one: judge("generate", "yaml", stdin=escaped(one)).code == 0, BAD)
        assert [one for one, good in zip(BAD, taken, strict=True) if good] == []
    told = {one: ours("generate", "yaml", stdin=escaped(one)) for one in BAD}
    assert [one for one, ended in told.items() if ended.code != 1 or ended.out] == []
    assert [one for one, ended in told.items() if ended.err.count("\n") != 1 or len(ended.err) > 400] == []


def test_files_that_are_not_utf_8_and_streams_without_anything(judge: Runner, ours: Runner, tmp_path: Path) -> None:
    files = {
        "broken": b"k: \xff\n",
        "latin": "k: é\n".encode("latin-1"),
        "wide": "k: v\n".encode("utf-16"),
        "surrogate": b"k: \xed\xa0\x80\n",
        "overlong": b"k: \xc0\xaf\n",
        "nothing": b"",
        "lines": b"\n\n\n",
        "separators": b"---\n---\n---\n",
        "separator": b"---",
        "cut": b"k: v\n---\n# c\n---\nl: w\n--- # d\n\n---\n~\n---\nm: |\n  a",
        "nul": b"k: v\n---\nl: \0 gone [",
        "crlf": b"k: v\r\n---\r\nl: w\r\n---\t# x\r\nm: x",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        theirs, mine = (one("generate", "yaml", "--from", str(tmp_path / name)) for one in (judge, ours))
        assert (name, mine.code, mine.out) == (name, theirs.code, theirs.out)
        listed, mine = (
            one("generate", "yaml", "--from", f"{tmp_path}/{name}", "--list-variables") for one in (judge, ours)
        )
        assert (name, mine.code, mine.out) == (name, listed.code, listed.out)


WORD = st.sampled_from(WORDS) | st.text(
    st.sampled_from("abxyN01234567890.-+_eEoxb:~#'\"!&*?|>%@,[]{}\\ é\t"), max_size=8
)
QUOTED = st.text(st.sampled_from("ab: #\\n0x1uU{}[],'\n \té\u0085😀"), max_size=8).flatmap(
    lambda text: st.sampled_from([f"'{text.replace(chr(39), chr(39) * 2)}'", f'"{text}"'])
)
BLOCK = st.tuples(
    st.sampled_from(["|", ">", "|-", ">-", "|+", ">+", "|2", ">1-"]),
    st.lists(st.sampled_from(["", "a", " b", "  c", "d e", "- f", "# g", "h: i", "\tj", "---"]), max_size=5),
).map(lambda made: f"{made[0]}\n" + "".join(f"    {line}\n" for line in made[1]))
VALUE = st.recursive(
    WORD | QUOTED,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(WORD | QUOTED, inner), max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items) + "}"
        ),
    ),
    max_leaves=4,
)
LINE = st.one_of(
    st.builds("{}: {}".format, WORD | QUOTED, VALUE),
    st.builds("k: {}".format, VALUE | BLOCK),
    st.builds("k:\n- {}\n-   {}\n- - {}".format, VALUE, VALUE, VALUE),
    st.builds("k:\n  {}: {}\n  {}: {}".format, WORD, VALUE, WORD, VALUE),
    st.builds("k: &a {}\nl: *a\nm: {{<<: *a, x: {}}}".format, VALUE, WORD),
    st.builds("? {}\n: {}".format, VALUE, VALUE),
    st.builds("k: {} {}".format, st.sampled_from(["!!str", "!!int", "!!float", "!!bool", "!!null", "!", "!x"]), WORD),
)
DOCUMENTS = st.lists(LINE, min_size=1, max_size=3).map("\n".join)


def generated_documents(count: int) -> list[str]:
    made: set[str] = set()

    @settings(max_examples=count, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    @given(DOCUMENTS)
    def gather(text: str) -> None:
        made.add(text)

    gather()
    return sorted(made)


def test_generated_documents(judge: Runner, ours: Runner) -> None:
    made = generated_documents(300)
    good = [one for one in made if _readable(one)]
    assert len(good) > 50  # the generator writes YAML, mostly
    assert_alike(good, judge, ours)
    bad = [one for one in made if not _readable(one)][:: max(1, (len(made) - len(good)) // _BAD_DOCUMENTS)]
    with ThreadPoolExecutor(4) as pool:
        taken = pool.map(lambda one: judge("generate", "yaml", stdin=escaped(one)).code == 0, bad)
        assert [one for one, is_good in zip(bad, taken, strict=True) if is_good] == []


def test_a_document_of_aliases_is_refused_where_upstream_refuses_it(judge: Runner, ours: Runner) -> None:
    def laughing(width: int, depth: int) -> str:
        lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, depth)]
        return "\n".join(lines)

    for text in (
        laughing(9, 9),
        laughing(40, 3),
        laughing(10, 5),
        laughing(50, 3),
        "a: &a [1]\nb: [" + "*a, " * 30_000 + "]",
    ):
        theirs, mine = judge("generate", "yaml", stdin=text), ours("generate", "yaml", stdin=text)
        assert (text[:80], mine.code) == (text[:80], theirs.code)
        assert mine.out == theirs.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # DEVIATION yaml-depth: upstream goes down 10,000 levels, and whoever walks through that may not come back.
        ("k: " + "[" * 100_000, "nested deeper than 500 levels"),
        ("k: " + "{a: " * 100_000, "nested deeper than 500 levels"),
        ("\n".join(" " * n + "a:" for n in range(2_000)), "nested deeper than 500 levels"),
        ("- " * 100_000, "nested deeper than 500 levels"),
        # DEVIATION yaml-flow-tags: upstream reads the comma as part of the tag, and one item less.
        ("k: [!a, b]", "line 1: between brackets or braces a space must follow a tag"),
        ("k: v\n" * 3 + "k: [1, 2\nl: 3", "line 5"),
        ("k: v\n---\na: 1\n---\nb: &x [*x]", "document 3, line 5: *x stands inside of what it names"),
        ("a: 1\n---\n- b", "document 2, line 3: a Kubernetes object must be a mapping, found a list"),
        ("a: 1\n--- b\n", "line 2: only a comment may follow ---, found 'b'"),
        ("a: .inf", "line 1: inf has no form in JSON"),
    ],
)
def test_bad_yaml_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(YamlError) as caught:
        documents(text)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 300


def test_one_value_is_read_whatever_it_is() -> None:
    assert [load(text) for text in ("[1, y]", "text", "", "1e3", "a: 1\n---\nb: 2")] == [
        [1, True],
        "text",
        None,
        1000,
        {"a": 1},
    ]


def test_large_streams_are_read_whole() -> None:
    one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}\ndata:\n" + "".join(
        f"  key{n}: 'value {n}'\n" for n in range(500)
    )
    found = documents("---\n".join(itertools.repeat(one, 60)))
    assert len(found) == 60
    assert found[0] == found[59]
    assert yamls.dump_one(found[7]) == yamls.dump_one(found[0])


def assert_alike(texts: Sequence[str], judge: Runner, ours: Runner) -> None:
    """Of documents that can be read: the same bytes. They are told apart by an object before each."""
    stream = "".join(f"{_MARK}: {number}\n---\n{escaped(text)}\n---\n" for number, text in enumerate(texts))
    theirs, mine = judge("generate", "yaml", stdin=stream), ours("generate", "yaml", stdin=stream)
    assert (theirs.code, mine.code) == (0, 0), (theirs.err[-600:], mine.err)
    judged, made = _parted(theirs.out), _parted(mine.out)
    assert [(text, made[n], judged[n]) for n, text in enumerate(texts) if made[n] != judged[n]] == []


def escaped(text: str) -> str:
    return text.replace("$", "$$")


def _parted(out: str) -> list[str]:
    parts = out.split(f"{_MARK}: ")[1:]
    return [part.partition("\n")[2] for part in parts]


def _readable(text: str) -> bool:
    try:
        dump(documents(text))
    except YamlError:
        return False
    return True

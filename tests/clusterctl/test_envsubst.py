"""Substitution, held against the real envsubst: bytes, and the class of the error where there is one.

The judge reads lines and ends at the first that it does not like. So all lines that we can read go through one
process, and of those that we cannot each has its own; there are at most `_BAD_LINES` of them in a test.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mooring.clusterctl.envsubst import BadSubstitution, Fault, parse

Judge = Callable[[bytes, Mapping[str, str]], tuple[int, bytes, bytes]]

_BAD_LINES = 60
_FAULTS = {
    b"bad substitution": Fault.FORM,
    b"missing closing brace": Fault.CLOSING,
    b"unable to parse variable name": Fault.NAME,
    b"unable to parse substitution within function": Fault.ARGUMENT,
}
VALUES = {
    "A": "abc",
    "a": "x",
    "B": "bcab/cab",
    "E": "",
    "N": "2",
    "MINUS": "-2",
    "SLASH": "/",
    "STAR": "*",
    "FILE": "dir/sub/name.tar.gz",
    "WIDE": "héllo wörld €😀",
    "CASE": "Straße ǆ İΣ ŉ ᾳ",
    "BROKEN": "\udcffa\udcc3\udca9b\udce2\udc82",
    "TORN": "\udca9",
    "BRACKETS": "[a-c]]\\*?",
    "ünïcode": "value",
    "é": "e",
    "_1": "underscore",
    "ZEROS": "000",
}

GOOD = r"""
plain text } { $ $A $(A) a$ \$ \\ http://host//path
$$ $$$$ $$A $${A} $$${A} $$$${A} a$$ $$}
${A}${A} ${A} x${a}y${E}z ${UNSET}|
${é}${ünïcode}${_1} ${1} ${0x}
${#A} ${#E} ${#UNSET} ${#WIDE} ${#BROKEN}
${A^} ${A^^} ${A,} ${A,,} ${A,^} ${A^,} ${E^} ${UNSET,,}
${CASE^} ${CASE^^} ${CASE,} ${CASE,,} ${WIDE^^} ${WIDE,}
${BROKEN^} ${BROKEN^^} ${BROKEN,} ${BROKEN,,} ${TORN^} ${TORN,}
${A:0} ${A:1} ${A:2} ${A:3} ${A:4} ${A:99} ${A: 1} ${A:+1}| ${A:-1} ${A: -1} ${A:x} ${A:1x} ${A:0x1} ${A:1_0} ${A:007}
${A:0:1} ${A:1:1} ${A:0:0} ${A:3:1} ${A:4:9} ${A:1:99} ${A:0:x} ${A:x:1} ${A:1:::1} ${A:0:1:2} ${A:1:+1} ${A:0: 1}
${A:${MINUS}} ${A:${MINUS}:1} ${A:${N}} ${A:0:${N}} ${A:${UNSET}} ${A:0:${E}} ${A:${N}:${N}}
${A:9223372036854775807} ${A:9223372036854775808} ${A:0:9223372036854775807} ${A:0:9223372036854775808} ${E:0:0}
${A:000000000000000000000000000001} ${A:99999999999999999999999999999999} ${A:${ZEROS}}
${A:5:-1}| ${A:9:-6}| ${WIDE:0:2} ${WIDE:1:1}x ${WIDE:2}
${A#a} ${A#b} ${A#abc} ${A#*} ${A##*} ${A%c} ${A%*} ${A%%*} ${A#?} ${A##?} ${A%?} ${A%%??} ${A###} ${A%%%}
${FILE#*/} ${FILE##*/} ${FILE%.*} ${FILE%%.*} ${FILE%/*} ${FILE%%/*} ${FILE#*a*a} ${FILE##*a*a} ${FILE#d?r} ${FILE##d*}
${A#[a-b]} ${A##[a-c]*} ${A#[^b]} ${A#[^a]} ${A%[a-c]} ${A%]c-a[}
${A%%]c-a[*} ${A#[} ${A#[a} ${A#[a-]} ${A#[]} ${A#[]a]}
${A#\a} ${A#\} ${A#a\} ${A#[\a]} ${A#[a\-z]} ${A#*\} ${A#*[} ${A#b[} ${A#*b\} ${A#[a-} ${A#[^]} ${A#[a]b} ${A#[-a]}
${BRACKETS#\[} ${BRACKETS#[[]} ${BRACKETS%\*\?} ${BRACKETS%[?]} ${BRACKETS##*]} ${BRACKETS#[\[]*[\]]} ${BRACKETS%?}
${WIDE#?} ${WIDE#h?} ${WIDE##h?} ${WIDE#h??} ${WIDE#h[é]}
${WIDE#h[a-ÿ]} ${WIDE#h[^a]} ${WIDE%?} ${WIDE%%??} ${WIDE%[😀]}
${WIDE#*ö} ${WIDE##*l} ${WIDE%ö*} ${WIDE%%é*} ${WIDE#*[ö]} ${WIDE##*[^o]l} ${WIDE%%[é]*} ${WIDE##*?€} ${WIDE#*??r}
${BROKEN#?} ${BROKEN##??} ${BROKEN%b} ${BROKEN%x} ${BROKEN%%?} ${BROKEN#[^a]} ${BROKEN##*[a-z]} ${TORN%x} ${TORN#?}
${A#${STAR}} ${A##${STAR}} ${A#${E}} ${A%${UNSET}} ${A#${A}} ${A%%${A}} ${A#${A:0:1}}
${UNSET#a} ${E##*} ${E%?}
${A/b/x} ${A/b/} ${A/b//} ${A/b///x} ${A/z/x} ${A/abc/} ${A/?/x} ${A/*/x} ${A/a}c/x} ${A/a}/x/y}
${B//b/x} ${B//b/} ${B//ab/} ${B//b/bb} ${B/b/x} ${B//cab/} ${B//${a}/y} ${B//b/${A}} ${B//${A:0:1}/-}
${B/\//x} ${B//\//\\} ${B/c\/c/\/} ${B/b/\\/} ${B/b/$$} ${B/b/$} ${B/b/\$} ${B/b/\} ${B/\b/x} ${B//\\/x} ${B/b/a\/b}
${A/#a/x} ${A/#b/x} ${A/#a/} ${A/%c/x} ${A/%b/x} ${A/%c/} ${A/#${E}/x} ${A/%${E}/x} ${A/##/x} ${A/%%/x} ${A/#a/a}
${A//${E}/-} ${A/${E}/-} ${A//${E}/} ${WIDE//${E}/-} ${BROKEN//${E}/-} ${E//${E}/-} ${A//${E}/${E}}
${E=default} ${E:=default} ${E:-default} ${E:?default} ${E:+default} ${A=d} ${A:=d} ${A:-d} ${A:?d} ${A:+d} ${UNSET:+d}
${E=} ${E:=}| ${E:-} ${E==x} ${E:==x} ${E:=-} ${E:=:=} ${E:-$$} ${E:-$} ${E:=$A} ${E:=a b\/c} ${E:={} ${E:={}}
${E:=${A}} ${E:=x${A}y} ${E:=${A}${B}} ${E:=${E:=${E:=deep}}} ${E:=${UNSET}} ${E:=$${A}} ${E:=${A:1:1}-${#A}-${A^^}}
${E:=${A/b/${B//b/${E:-x}}}} ${A:=${UNSET}} ${E:=${A#${A:0:1}}}
${E:=é} ${E=😀} ${A/b/é} ${A#é} ${E:=\} ${E:='quoted "text"'} ${E:="${A}"}
""".strip("\n").split("\n")

BAD = r"""
${|${}|${A|${ A}|${A }|${-}|${$A}|${${A}}|${²}|${A²}|${A$B}|${A.b}|${A-x}|${A+x}|${A?x}|${A*}|${A@}|${!A}|${A[0]}
${#}|${##}|${A#}}|${A##*${B}}|${#A|${#A:1}|${# A}|${#A#a}|${A#}
${A##}|${A%}|${A%%}|${A#a|${A#a${B}}|${A#${B}x}|${A%${|${A^^^}|${A,,,}|${A^x}
${A:}|${A::1}|${A:1|${A:1:}|${A:1:2|${A:é}|${A:1${N}}|${A:${N}1}|${A:|${A:1:${N}1}|${A:😀}|${A:${}}
${A/}|${A/b}|${A/b/|${A//}|${A//b|${A///x}|${A/#}|${A/#/x}|${A/%}|${A/b${B}/x}|${A/b/x${B}}|${A/b/${B}x}|${A/$|${A/${E}}
${A=|${A:=|${A:=x|${A:=${B}|${A:=${|${A:=${B|${A:-${}}|${A:=$|${E:=x${}
""".strip("\n").replace("\n", "|").split("|")  # fmt: skip

PANICS = ["${A:0:-1}", "${A:2:-1}", "${E:0:-1}", "${A:9:-8}", "${A:9223372036854775807:1}", "${A:0:${MINUS}}"]
ENDED_BY_NUL = [b"a\0b", b"${A}\0${", b"\0", b"x$\0$$", b"${E:=a}\0}"]
BAD_NUL = [b"${\0}", b"${A\0}", b"${A:\0}", b"${E:=a\0}", b"${A/b\0/x}", b"${A/b/\0}", b"${#\0}", b"${A#a\0}"]


def test_every_quirk_of_what_can_be_read(envsubst_judge: Judge) -> None:
    lines = [line.encode() for line in GOOD] + ENDED_BY_NUL + [b"\xff${A}\xc3", b"${A#\xff}", b"${A/b/\xc3}\xa9"]
    assert not [line for line in lines if isinstance(expanded(line), Fault)]
    assert_judged_alike(lines, envsubst_judge)


def test_every_quirk_of_what_cannot_be_read(envsubst_judge: Judge) -> None:
    lines = [line.encode() for line in BAD]
    assert [line for line in lines if not isinstance(expanded(line), Fault)] == []
    for line in lines:
        assert (line, expanded(line)) == (line, judged(line, envsubst_judge))


def test_what_makes_the_judge_panic_is_an_error_here_and_nul_is_the_end(envsubst_judge: Judge) -> None:
    for line in [*(line.encode() for line in PANICS), *BAD_NUL, b"${\xff}", b"${A\xc3}", b"${A\xff=x}"]:
        ours = expanded(line)
        assert isinstance(ours, Fault)
        assert (line, ours) == (line, judged(line, envsubst_judge))


def _call(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A call that can mostly be read, with arguments that may be calls themselves."""
    name = st.sampled_from([*VALUES, "UNSET"])
    number = st.sampled_from(["0", "1", "2", "5", "-1", "-0", "x", "+1", "99"]) | inner
    glob = st.text(st.sampled_from("*?[]^-\\abcé€/."), min_size=1, max_size=6) | inner
    word = st.text(st.sampled_from("abx/\\$*?:=-é 1"), min_size=1, max_size=4) | inner
    return st.one_of(
        st.builds("${{{}}}".format, name),
        st.builds("${{#{}}}".format, name),
        st.builds("${{{}{}}}".format, name, st.sampled_from(["^", "^^", ",", ",,", "^,"])),
        st.builds("${{{}:{}}}".format, name, number),
        st.builds("${{{}:{}:{}}}".format, name, number, number),
        st.builds("${{{}{}{}}}".format, name, st.sampled_from(["#", "##", "%", "%%"]), glob),
        st.builds("${{{}{}{}/{}}}".format, name, st.sampled_from(["/", "//", "/#", "/%"]), word, word),
        st.builds("${{{}{}{}}}".format, name, st.sampled_from(["=", ":=", ":-", ":?", ":+"]), word),
        st.builds("${{{}:={}{}{}}}".format, name, word, inner, word),
    )


CALLS = st.recursive(_call(st.just("${A}")), _call, max_leaves=4)
NOISE = st.text(st.sampled_from("$${}}A#%/:=-^,\\*[]é²\0 \udcff\udcc3\udca9"), max_size=12)
LINES = st.lists(CALLS | NOISE, min_size=1, max_size=3).map("".join) | st.tuples(CALLS, st.integers(0, 20)).map(
    lambda given: given[0][: given[1]] + given[0][given[1] + 1 :]  # a character is missing
)


def generated_lines(count: int) -> list[bytes]:
    lines: set[bytes] = set()

    @settings(max_examples=count, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    @given(LINES)
    def gather(line: str) -> None:
        lines.add(line.encode("utf-8", "surrogateescape"))

    gather()
    return sorted(lines)


def test_generated_lines(envsubst_judge: Judge) -> None:
    lines = generated_lines(800)
    bad: dict[Fault, list[bytes]] = defaultdict(list)
    for line in lines:
        if isinstance(ours := expanded(line), Fault):
            bad[ours].append(line)
    assert {Fault.FORM, Fault.CLOSING, Fault.NAME, Fault.ARGUMENT, Fault.BOUNDS} <= bad.keys()
    assert_judged_alike([line for line in lines if not isinstance(expanded(line), Fault)], envsubst_judge)
    for fault, group in bad.items():
        for line in group[:: len(group) * len(bad) // _BAD_LINES + 1]:
            assert (line, fault) == (line, judged(line, envsubst_judge))


def test_values_that_are_long_and_patterns_with_many_stars(envsubst_judge: Judge) -> None:
    values = {
        "LONG": "ab" * 500,
        "DEEP": "/".join(f"dir{place}" for place in range(200)),
        "LETTERS": "äöü€😀" * 60 + "x",
    }
    patterns = [
        "*a*b*a*b*x",
        "*" * 200 + "b",
        "*?b*?b",
        "*b" * 100,
        "?" * 300,
        "[a-b]" * 40 + "*",
        "*dir1*5",
        "*/*/d*9",
    ]
    wide = ["*?ü*?€", "*[ä-ü]*[€]", "*?" * 30, "??????", "*[^x]", "*ü?*x", "[^x]*?x", "*[a-z]", "*😀ä*?"]
    lines = [
        f"${{{name}{operator}{pattern}}}".encode()
        for name in values
        for operator in ("#", "##", "%", "%%")
        for pattern in patterns + wide
    ]
    assert_judged_alike(lines, envsubst_judge, values)


def test_names_and_cases_are_those_of_gos_unicode(envsubst_judge: Judge) -> None:
    characters = [chr(code) for code in range(0x80, sys.maxunicode) if not 0xD800 <= code < 0xE000]
    letters = [one for one in characters if one.isalpha() or one.isdecimal()]
    names = ["".join(letters[place : place + 10_000]) for place in range(0, len(letters), 10_000)]
    newer = "\U0001123f\U00011f04\U00011f59\U0001e4f0\U000323af"  # of Unicode 15.0
    cased = "".join(one for one in characters if {one.upper(), one.lower(), one.title()} != {one})
    lines = [f"${{{name}:=x}}".encode() for name in [*names, newer]] + [b"${CASED^^}", b"${CASED,,}"]
    assert_judged_alike(lines, envsubst_judge, {"CASED": cased})
    others = [next(one for one in characters if unicodedata.category(one) == kind) for kind in ("No", "Nl", "Mn", "So")]
    for one in [*others, "\U000323b0"]:
        assert expanded(f"${{{one}}}".encode()) is judged(f"${{{one}}}".encode(), envsubst_judge) is Fault.NAME


DEPTH = 100_000


@pytest.mark.parametrize(
    ("depth", "opening", "inmost", "closing", "result"),
    [
        (DEPTH, "${E:=", "x", "}", "x"),
        (DEPTH // 10, "${E:=x", "", "}", "x" * (DEPTH // 10)),
        (DEPTH // 10, "${N:", "0", "}", ""),
        (DEPTH // 10, "${a//x/", "y", "}", "y"),
        (DEPTH // 10, "${a/", "x", "/x}", "x"),
        (DEPTH // 10, "${E:=", "", "}", ""),
    ],
)
def test_depth_costs_nothing_but_memory(depth: int, opening: str, inmost: str, closing: str, result: str) -> None:
    assert parse(opening * depth + inmost + closing * depth).expand(looked_up) == result


@pytest.mark.parametrize(
    ("text", "values", "outcome"),
    [
        ("${E:=" * DEPTH, {}, Fault.ARGUMENT),
        ("${" * DEPTH, {}, Fault.NAME),
        ("$" * DEPTH, {}, "$" * (DEPTH // 2)),
        (" $" * DEPTH, {}, " $" * DEPTH),
        ("{" * DEPTH + "}" * DEPTH, {}, "{" * DEPTH + "}" * DEPTH),
        ("${" + "a" * DEPTH + "}", {"a" * DEPTH: "long"}, "long"),
        ("${" + "é" * DEPTH, {}, Fault.CLOSING),
        ("${V/b" + "/" * DEPTH + "x}", {"V": "abc"}, "axc"),
        ("${V/" + r"\/" * DEPTH + "/x}", {"V": "/" * DEPTH}, "x"),
        ("${V/" + "\\" * DEPTH, {}, Fault.FORM),
        ("${V:=" + "x${W}" * DEPTH + "}", {"W": "w"}, "xw" * DEPTH),
        ("${V#" + "*a" * 20_000 + "b}", {"V": "a" * DEPTH}, "a" * DEPTH),
        ("${V##*" + "?" * 20_000 + "b}", {"V": "a" * DEPTH}, "a" * DEPTH),
        ("${V%%b" + "*a" * 200 + "*}", {"V": "a" * DEPTH + "ba" + "a" * 300}, "a" * DEPTH),
        ("${V##*é}x", {"V": "é" * DEPTH}, "x"),
        ("${V##*[0-9]}", {"V": "é" * 20_000 + "7é"}, "é"),
        ("${V:" + "9" * DEPTH + "}", {"V": "whole"}, "whole"),
        ("${V:" + "0" * DEPTH + "1}", {"V": "whole"}, "hole"),
        # Sizes that nobody can want: upstream tries.
        ("${V//x/" * 60 + "y" + "}" * 60, {"V": "xx"}, Fault.EFFORT),
        ("${V/#x/" * DEPTH + "y" + "}" * DEPTH, {"V": "x" * 50_000}, Fault.EFFORT),
        ("${V##*" + "?" * 2_000 + "b}", {"V": "é" * 20_000}, Fault.EFFORT),
    ],
)
def test_hostile_input(text: str, values: Mapping[str, str], outcome: str | Fault) -> None:
    result, told = _outcome(text, values)
    assert result == outcome
    assert len(told) < 300


def _outcome(text: str, values: Mapping[str, str]) -> tuple[str | Fault, str]:
    try:
        return parse(text).expand(lambda name: values.get(name, "")), ""
    except BadSubstitution as error:
        return error.fault, str(error)


def test_an_error_says_where_and_what_to_do() -> None:
    with pytest.raises(BadSubstitution, match=re.escape("in line 3")) as caught:
        parse("a: 1\nb: ${A}\nc: ${A-x} # ${\nd: 2\n")
    assert caught.value.line == 3
    assert "'${A-x} # ${'" in str(caught.value)
    assert "$${" in str(caught.value)


def test_a_template_is_filled_in_as_often_as_one_likes() -> None:
    template = parse("${A}-${B:=${C}x}")
    assert template.expand({"A": "1", "B": "2", "C": "3"}.__getitem__) == "1-2"
    assert template.expand(lambda name: name.lower() if name != "B" else "") == "a-cx"
    assert template.defaults() == {"A": "", "B": "${C}x"}


def test_torn_characters_come_together_again() -> None:
    # The first byte of a character from one value, the second from the text behind it.
    assert parse("${V:0:1}\udca9").expand(lambda _: "é") == "é"
    assert parse("${V}").expand(lambda _: "\ud800x") == "\ufffdx"


def looked_up(name: str) -> str:
    return VALUES.get(name, "")


def expanded(line: bytes, values: Mapping[str, str] = VALUES) -> bytes | Fault:
    """What we make of a line."""
    try:
        text = parse(line.decode("utf-8", "surrogateescape")).expand(lambda name: values.get(name, ""))
    except BadSubstitution as error:
        return error.fault
    return text.encode("utf-8", "surrogateescape")


def judged(line: bytes, judge: Judge) -> bytes | Fault:
    """What the judge makes of one line."""
    code, out, err = judge(line + b"\n", VALUES)
    if code == 0:
        return out.removesuffix(b"\n")
    if err.startswith(b"panic:") and b"slice bounds out of range" in err:
        return Fault.BOUNDS
    return _FAULTS[err.rstrip().rpartition(b"envsubst: ")[2]]


def assert_judged_alike(lines: Iterable[bytes], judge: Judge, values: Mapping[str, str] = VALUES) -> None:
    """Of lines that can be read: byte for byte the same."""
    lines = [line for line in lines if line]
    assert all(len(line) < 60_000 and not line.endswith(b"\r") and b"\n" not in line for line in lines)
    code, out, err = judge(b"".join(line + b"\n" for line in lines), values)
    answers = out.split(b"\n")[:-1]
    wrong = [
        (line, ours, answer)
        for line, answer in zip(lines, answers, strict=False)
        if (ours := expanded(line, values)) != answer
    ]
    assert wrong == []
    assert (code, len(answers)) == (0, len(lines)), (lines[len(answers)], err)

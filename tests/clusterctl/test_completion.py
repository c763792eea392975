"""Completion: what could come next, and the scripts that ask for it; bash for real."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from runners import plain_environment

from mooring.cli.clusterctl.completing import candidates
from mooring.cli.clusterctl.completion import SCRIPTS
from mooring.cli.clusterctl.main import root


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["init", "generate"]),
        (["gen"], ["generate"]),
        (["generate", ""], ["cluster", "provider", "yaml"]),
        (["generate", "clus"], ["cluster"]),
        (["version", "--ou"], ["--output"]),
        (["version", "--output", ""], []),
        (["version", "-o", ""], []),
        (["version", "-o", "--he"], []),
        (["version", "--output=json", "--he"], ["--help"]),
        (["--config", "get", "ver"], ["version"]),
        (["describe", "cluster", "--show-m"], ["--show-machinehealthchecks", "--show-machinesets"]),
        (["describe", "cluster", "--echo", "--v1"], ["--v1beta2"]),
        (["__comp"], []),
        (["no-such-word", "gen"], ["generate"]),
    ],
)
def test_what_could_come_next(words, expected):
    found = [name for name, about in candidates(root(), words) if about]
    assert found[: len(expected) or None] == expected


def test_shells_are_known(ours):
    assert ours("__complete", "--", "completion", "").out.split() == sorted(SCRIPTS)
    assert ours("__complete", "--new", "--", "completion").out.split() == sorted(SCRIPTS)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_there_is_a_script_for_each_shell(ours, shell):
    ended = ours("completion", shell)
    assert ended.code == 0
    assert "clusterctl __complete" in ended.out


def test_the_judges_shells_are_ours(judge, ours):
    for shell in ("bash", "zsh", "fish", "tcsh", ""):
        assert ours("completion", shell).code == judge("completion", shell).code, shell


# What is asked, and what bash makes of it. Each costs a start of ours.
ASKED = (
    (("clusterctl", "upg"), ["upgrade"]),
    (("clusterctl", "upgrade", ""), ["plan", "apply"]),
    (("clusterctl", "completion", "b"), ["bash"]),
    (("clusterctl", "init", "--target-n"), ["--target-namespace"]),
    (("up",), ["of typer: up"]),
)


def test_bash_completes(tmp_path):
    """As readline does it: the function that is registered is called with the words of the line."""
    lines = ["_mooring_completion() { COMPREPLY=('of typer: up'); }", "source <(mooring clusterctl completion bash)"]
    lines.append('read -ra registered <<< "$(complete -p mooring)"; printf \'%s\\n\' "${registered[-1]}"')
    for words, _ in ASKED:
        lines += [
            f"COMP_WORDS=(mooring {shlex.join(words)}); COMP_CWORD={len(words)}; COMPREPLY=()",
            f"_mooring_clusterctl mooring {shlex.quote(words[-1])} mooring",
            'printf "%s\\n" "${COMPREPLY[@]}" --',
        ]
    environ = plain_environment(tmp_path)
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    ended = subprocess.run(
        ["bash", "--norc", "-euc", "\n".join(lines)], env=environ, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    registered, _, rest = ended.stdout.partition("\n")
    assert registered == "mooring"
    told = [part.splitlines() for part in rest.split("--\n")][:-1]
    assert told == [expected for _, expected in ASKED]

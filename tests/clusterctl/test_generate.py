"""generate cluster and generate yaml beside the real clusterctl: the same bytes, and the same is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from runners import Runner
from templates_kit import FLAVORS, IN_HARBOUR, LISTED, MANY, ODD, TEMPLATE, of_class, outcome, write_templates

Case = tuple[Sequence[str], Mapping[str, str]]

STDIN = (("cluster", "one", "-n", "harbour", "--from", "-"), ("yaml",))
WITH_VALUES = {"SECRET_VALUE": "s3cret", "POD_CIDR": "10.0.0.0/8"}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_templates(tmp_path_factory.mktemp("repository"))


FLAVORED = [(("one", *IN_HARBOUR, "-f", flavor), WITH_VALUES) for flavor in FLAVORS if flavor]
CASES: Sequence[Case] = [
    (("one", *IN_HARBOUR), {}),
    (("one", "-n", "harbour", "-i", "shipyard:v1.0.0"), {}),
    (("one", "-n", "harbour", "-i", "Shipyard:v1.1.0"), {}),
    (("one", "-n", "harbour", "--infrastructure=shipyard:1.1.0"), {}),
    (("one", "-n", "harbour", "-i", "shipyard:latest"), {}),
    (("one", "-n", "harbour", "-i", "shipyard:v9.9.9"), {}),
    (("one", "-n", "harbour", "-i", "shipyard"), {}),
    (("one", "-n", "harbour", "-i", "shipyard:"), {}),
    (("one", "-n", "harbour", "-i", "shipyard:v1:v2"), {}),
    (("one", "-n", "harbour", "-i", "nobody:v1.0.0"), {}),
    (("one", "-n", "harbour"), {}),
    (("one", "-i", "shipyard:v1.1.0"), {}),
    (("one", *IN_HARBOUR, "-f", "unknown"), {}),
    (("one", *IN_HARBOUR, "-f", "../v1.0.0/x"), {}),
    (("one", *IN_HARBOUR, "--kubernetes-version", "v1.31.1"), {"KUBERNETES_VERSION": "v1.29.0"}),
    (("one", *IN_HARBOUR), {"KUBERNETES_VERSION": "not checked: here"}),
    (("one", *IN_HARBOUR, "--kubernetes-version", "1.31"), {}),
    (("one", *IN_HARBOUR, "--kubernetes-version", "1.31.0-rc.1+x"), {}),
    (("one", *IN_HARBOUR, "--control-plane-machine-count=3", "--worker-machine-count=9"), {"WORKER_MACHINE_COUNT": ""}),
    (("one", *IN_HARBOUR), {"CONTROL_PLANE_MACHINE_COUNT": "+5", "WORKER_MACHINE_COUNT": "007"}),
    (("one", *IN_HARBOUR, "--control-plane-machine-count=0x3"), {"CONTROL_PLANE_MACHINE_COUNT": "nonsense"}),
    (("one", *IN_HARBOUR), {"CONTROL_PLANE_MACHINE_COUNT": "nonsense"}),
    (("one", *IN_HARBOUR), {"CONTROL_PLANE_MACHINE_COUNT": ""}),
    (("one", *IN_HARBOUR), {"WORKER_MACHINE_COUNT": "1_0"}),
    (("one", *IN_HARBOUR), {"WORKER_MACHINE_COUNT": "0" * 5_000 + "7"}),
    (("one", *IN_HARBOUR), {"WORKER_MACHINE_COUNT": "9" * 5_000}),
    (("one", *IN_HARBOUR), {"WORKER_MACHINE_COUNT": "-9223372036854775808"}),
    (("one", *IN_HARBOUR, "--control-plane-machine-count", "0"), {}),
    (("one", *IN_HARBOUR, "--worker-machine-count", "-1"), {}),
    (("one", *IN_HARBOUR, "--worker-machine-count", "1.5"), {}),
    (("one", *IN_HARBOUR, "--worker-machine-count", "9223372036854775808"), {}),
    (("One", *IN_HARBOUR), {}),
    (("one.two", *IN_HARBOUR), {}),
    (("one..two", *IN_HARBOUR), {}),
    (("o" * 254, *IN_HARBOUR), {}),
    (("", *IN_HARBOUR), {}),
    (("one", "two", *IN_HARBOUR), {}),
    (IN_HARBOUR, {}),
    (("one", "-n", "Harbour", "-i", "shipyard:v1.1.0"), {}),
    (("one", "-n", "har.bour", "-i", "shipyard:v1.1.0"), {}),
    (("one", *IN_HARBOUR), {"CLUSTER_NAME": "other", "NAMESPACE": "other", "NOTE": "told"}),
    (("one", *IN_HARBOUR), {"NOTE": "", "POD_CIDR": "a: b # c"}),
    (("one", *IN_HARBOUR), {"NOTE": "[1, 2]", "SIZE": '"'}),
    (("one", *IN_HARBOUR), {"NOTE": "a\n---\nb: c"}),
    (("one", *IN_HARBOUR, "-f", "many"), {}),
    (("one", *IN_HARBOUR, "-f", "missing"), {"A": "", "J": "x"}),
    (("one", *IN_HARBOUR, "-f", "cased"), {"MIXEDCASE": "CAPITALS", "from_file": "ignored", "NUMBER": ""}),
    (("one", *IN_HARBOUR, "--from", "x"), {}),
    (("one", "--from", "x", "--from-config-map", "y", "-n", "harbour"), {}),
    (("one", "-n", "harbour", "--from-config-map-key", "y"), {}),
    (("one", *IN_HARBOUR, "--nonsense"), {}),
    *FLAVORED,
    *((( *words, "--list-variables"), environ) for words, environ in FLAVORED),
    (("one", "-n", "harbour", "-i", "shipyard:v1.1.0", "--list-variables"), {}),
    (("one", *IN_HARBOUR, "-f", "listed", "--list-variables", "--kubernetes-version", "v1.31.1"), {}),
    (("one", *IN_HARBOUR, "-f", "listed", "--list-variables", "--worker-machine-count=4"), {"KUBERNETES_VERSION": ""}),
    (
        ("one", *IN_HARBOUR, "-f", "listed", "--list-variables", "--control-plane-machine-count=2"),
        {"WORKER_MACHINE_COUNT": "9", "CONTROL_PLANE_MACHINE_COUNT": "8"},
    ),
]  # fmt: skip


def test_generate_cluster_from_a_repository(judge: Runner, ours: Runner, config: Path) -> None:
    assert_alike(CASES, judge, ours, config, "generate", "cluster")


def test_config_cluster_is_the_same_under_its_old_name(ours: Runner, config: Path) -> None:
    words = ("one", *IN_HARBOUR, "--worker-machine-count", "2")
    today = ours("generate", "cluster", *words, "--control-plane-machine-count", "3", config=config)
    old = ours("config", "cluster", *words, "--controlplane-machine-count", "3", config=config)
    assert today.code == 0
    assert (old.code, old.out) == (today.code, today.out)
    both = ("--controlplane-machine-count", "3", "--control-plane-machine-count", "5")
    refused = ours("generate", "cluster", *words, *both, config=config)
    assert refused.code == 1
    assert "are the same flag" in refused.err


def test_overrides_stand_in_for_templates(judge: Runner, ours: Runner, config: Path) -> None:
    folder = config.parent / "overrides" / "infrastructure-shipyard" / "v1.1.0"
    folder.mkdir(parents=True)
    (folder / "cluster-template-mine.yaml").write_text("kind: Mine\n")
    (folder / "clusterclass-mine.yaml").write_text("kind: ClusterClass\n")
    (folder / "cluster-template-of-mine.yaml").write_text(of_class("{classRef: {name: mine}}"))
    cases = [(("one", *IN_HARBOUR, "-f", flavor), {}) for flavor in ("mine", "of-mine")]
    assert_alike(cases, judge, ours, config, "generate", "cluster")


def test_the_result_goes_into_a_file_of_ones_own(judge: Runner, ours: Runner, config: Path, tmp_path: Path) -> None:
    made = []
    for runner in (judge, ours):
        file = tmp_path / f"{runner.home.name}.yaml"
        file.write_text("what was there before, and is longer than nothing")
        file.chmod(0o644)
        words = ("one", *IN_HARBOUR, "--write-to")
        ended = [runner("generate", "cluster", *words, f" {file} ", config=config)]
        ended += [runner("generate", "cluster", *words, target, config=config) for target in ("-", "", " ")]
        ended += [
            runner("generate", "cluster", *words, str(target), config=config) for target in (tmp_path, file / "x")
        ]
        ended += [runner("generate", "cluster", *words, str(file), "--list-variables", config=config)]
        made.append((file.read_text(), [(one.code, one.out) for one in ended]))
    assert made[0] == made[1]
    new = tmp_path / "new.yaml"
    assert ours("generate", "cluster", "one", *IN_HARBOUR, "--write-to", str(new), config=config).code == 0
    assert new.stat().st_mode & 0o777 == 0o600


def test_a_template_from_anywhere(judge: Runner, ours: Runner, config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "te mplate.yaml").write_text(TEMPLATE)
    (folder / "with%20percent.yaml").write_text("kind: Percent\n")
    (folder / "class.yaml").write_text(FLAVORS["class-absent"])  # no class is looked for beside a repository
    (tmp_path / "a").write_text("kind: A\n")
    places = [
        f"{folder}/te mplate.yaml", f"file://{folder}/te mplate.yaml", f"file://{folder}/te%20mplate.yaml",
        f"{folder}/te%20mplate.yaml", f"{folder}/with%20percent.yaml", f"{folder}/with%2520percent.yaml",
        f"{folder}/with%percent.yaml", f"{tmp_path}/a?b", f"{tmp_path}/a#b", f"{folder}/class.yaml", str(folder),
        f"{folder}/nothing.yaml", f"FILE://{tmp_path}/a", f"file:{tmp_path}/a", "file:a",
        f"file://localhost{tmp_path}/a", f"//anywhere{tmp_path}/a", f"//{tmp_path}/a", "a:b", ":a", "ftp://host/a",
        "http://127.0.0.1:1/a", "https://github.com/a/b",
        "https://github.com/a/b/tree/main/c.yaml", "~/a", "https://", f"{tmp_path}/a\t",
    ]  # fmt: skip
    cases = [(("one", "-n", "harbour", "--from", place), {}) for place in places]
    assert_alike(cases, judge, ours, config, "generate", "cluster")
    assert_alike(
        [(("--from", place), WITH_VALUES) for place in [*places[:12], ""]], judge, ours, config, "generate", "yaml"
    )


def test_templates_from_standard_input(judge: Runner, ours: Runner, config: Path) -> None:
    texts = (TEMPLATE, MANY, ODD, LISTED, "", "a: ${A} ${B:=x}", "a: ${", "a: [")
    asked = [((*words, *more), text) for words in STDIN for text in texts for more in ((), ("--list-variables",))]
    asked += [(("yaml", "--from", "-"), LISTED), (("yaml", "extra", "words"), "a: 1")]

    def told(runner: Runner) -> list[tuple[int, str, list[str]]]:
        return [outcome(runner("generate", *words, stdin=text, config=config, **WITH_VALUES)) for words, text in asked]

    with ThreadPoolExecutor(2) as pool:
        theirs, mine = pool.map(told, (judge, ours))
    assert mine == theirs


def test_with_compat_it_is_the_clusterctl_of_those_days(old_judge: Runner, ours: Runner, config: Path) -> None:
    cases = [(*IN_HARBOUR, "-f", flavor) for flavor in FLAVORS]
    cases += [(*IN_HARBOUR, "-f", flavor, "--list-variables") for flavor in ("", "listed", "bad", "empty")]
    cases += [(*IN_HARBOUR, "--control-plane-machine-count", "3"), (*IN_HARBOUR, "--kubernetes-version", "1.2")]

    def told(runner: Runner, *more: str) -> list[tuple[int, str, list[str]]]:
        ended = (runner("config", "cluster", "one", *words, *more, config=config, **WITH_VALUES) for words in cases)
        return [outcome(one) for one in ended]

    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(told, old_judge)
        mine = told(ours, "--compat", "v1alpha3")
        assert [case for case, *both in zip(cases, theirs.result(), mine, strict=True) if both[0] != both[1]] == []


def test_large_templates_come_out_whole(judge: Runner, ours: Runner) -> None:
    lines = [f"  key{n}: '${{V{n}:=default of {n}, which is {'long ' * 30}}} ${{SET}}'\n" for n in range(10_000)]
    text = "apiVersion: v1\nkind: ConfigMap\ndata:\n" + "".join(lines)
    assert len(text) > 2_000_000
    theirs, mine = (runner("generate", "yaml", stdin=text, SET="value") for runner in (judge, ours))
    assert mine.code == 0
    assert mine.out == theirs.out


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "{" * 100_000,
        "a: " + "{a: " * 100_000 + "}" * 100_000,
        "a: " + "${" * 100_000,
        "a: " + "${A:=" * 100_000,
        "a: " + "'" * 100_001,
        "? " * 100_000,
        "a: &a [" + "*a, " * 100_000,
        "${" + "a" * 1_000_000,
        "---\n" * 100_000 + "- a",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_templates_get_one_sentence(ours: Runner, text: str) -> None:
    ended = ours("generate", "yaml", stdin=text)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("\n") == 1
    assert len(ended.err) < 400


def test_a_file_without_an_end_is_not_read_to_it(ours: Runner) -> None:
    ended = ours("generate", "yaml", "--from", "/dev/zero")
    assert (ended.code, ended.err) == (1, "Error: '/dev/zero' is larger than 64 MiB: that is no template\n")


def test_a_process_of_its_own_reads_and_writes_utf_8_in_any_locale(judge: Runner, ours_apart: Runner) -> None:
    locale = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "SET": "日本"}
    theirs, mine = (runner("generate", "yaml", stdin="é: ${SET}\n", **locale) for runner in (judge, ours_apart))
    assert (mine.code, mine.out) == (theirs.code, theirs.out) == (0, "é: 日本\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-f", "nonsense"), "cluster-template-nonsense.yaml of infrastructure-shipyard v1.1.0: document 1, line 2: "),
        (("-f", "bad"), "cluster-template-bad.yaml of infrastructure-shipyard v1.1.0: bad substitution in line 1: "),
        (("-f", "class-text"), "Cluster one: spec.topology.controlPlane.replicas: must be a whole number, not '3'"),
        (("-f", "class-absent"), "needs the ClusterClass 'nowhere' in namespace 'harbour'"),
        (("--write-to", "/nowhere/at/all"), "cannot write to '/nowhere/at/all': No such file or directory"),
    ],
)
def test_an_error_says_where_it_is(ours: Runner, config: Path, words: Sequence[str], told: str) -> None:
    ended = ours("generate", "cluster", "one", *IN_HARBOUR, *words, config=config)
    assert ended.code == 1
    assert told in ended.err


def assert_alike(cases: Sequence[Case], judge: Runner, ours: Runner, config: Path, *words: str) -> None:
    """The same code, the same bytes, and the same variables missing; and an error is one line."""
    with ThreadPoolExecutor(4) as pool:
        judged = list(pool.map(lambda case: judge(*words, *case[0], config=config, **case[1]), cases))
    made = [ours(*words, *argv, config=config, **environ) for argv, environ in cases]
    different = [
        (case, theirs, mine)
        for case, theirs, mine in zip(cases, judged, made, strict=True)
        if outcome(theirs) != outcome(mine)
    ]
    assert different == []
    assert [
        one.err for one in made if one.code and (one.err.count("\n") != 1 or not one.err.startswith("Error: "))
    ] == []

"""GitHub and GitLab beside the judge: both are led to stand-ins for these hosts (see `internet`), under their names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from hosts import GitHubStandIn, GitLabStandIn, GoProxyStandIn, Reply, StandIn
from internet import Internet
from repository_kit import COMPONENTS, components, files_of, metadata

OURS, LATER, OLDER = (1, 0, "v1beta2"), (1, 1, "v1beta3"), (0, 9, "v1beta1")
MODULE = "github.com/yard/provider"
MODULES = "modules.example.com"  # a Go module proxy
TEMPLATE = {"cluster-template.yaml": "apiVersion: v1\nkind: Note\nmetadata: {name: mine}\n"}


def released(*versions, series=(OURS, LATER, OLDER), **more):
    return {version: files_of(version, *series, **more) for version in versions}


@dataclass(frozen=True)
class Case:
    """A repository, and what is asked of it."""

    releases: dict[str, dict[str, str]]
    url: str = "latest"
    named: str = "shipyard"
    tags: list[str] = field(default_factory=list)  # as the module proxy lists them; nothing: it is not asked
    words: tuple[str, ...] = ("generate", "provider", "--raw", "--infrastructure")


GITHUB = {
    "the newest": Case(released("v1.0.0", "v1.0.10", "v1.0.9", "v1.1.0-rc.1", "nightly")),
    "only pre-releases": Case(released("v1.0.0-rc.1", "v1.0.0-rc.10")),
    "the newest of our contract": Case(released("v1.0.0", "v1.0.1", "v1.1.0")),
    "a tag without v": Case(released("v1.0.0") | released("1.0.1")),
    "a version in the address": Case(released("v1.0.0", "v1.0.1"), url="v1.0.0"),
    "another tag in the address": Case(released("v1.0.0", "nightly"), url="nightly"),
    "a version that is named": Case(released("v1.0.0", "v1.0.1"), named="shipyard:v1.0.0"),
    "a version without v that is named": Case(released("v1.0.0", "v1.0.1"), named="shipyard:1.0.0"),
    "latest that is named": Case(released("v1.0.0", "v1.0.1", "v1.1.0"), named="shipyard:latest"),
    "a version that is not there": Case(released("v1.0.0"), named="shipyard:v7.0.0"),
    "the newest without metadata": Case(released("v1.0.0") | {"v1.0.1": {COMPONENTS: components("v1.0.1")}}),
    "metadata that are none": Case({"v1.0.0": {COMPONENTS: components(), "metadata.yaml": "a: ["}}),
    "no components": Case({"v1.0.0": {"metadata.yaml": metadata(OURS)}}),
    "no releases": Case({}),
    "a deeper address": Case(released("v1.0.0"), url="v1.0.0/deeper", tags=["v1.0.0"]),
    "a template": Case(
        released("v1.0.0", **TEMPLATE),
        named="shipyard:v1.0.0",
        words=("generate", "cluster", "mine", "--target-namespace", "x", "--infrastructure"),
    ),
    "by the module proxy": Case(released("v1.0.0", "v1.0.1"), tags=["v1.0.1", "v1.0.0", "v1.0.1-rc.1"]),
    "by the module proxy, older": Case(released("v1.0.0", "v1.0.1"), tags=["v1.0.0"]),
    "a tag that is no release": Case(released("v1.0.0"), tags=["v1.0.1", "v1.0.0"]),
    "only tags": Case({}, tags=["v1.0.1", "v1.0.0"]),
    "six tags that are no releases": Case(released("v1.0.0"), tags=[f"v1.0.{patch}" for patch in range(7)]),
    "five that are none": Case(released("v1.0.0"), tags=[f"v1.0.{patch}" for patch in range(6)]),
    "lines that are no versions": Case(released("v1.0.0"), tags=["v1.0.0", "x", "", "v1.0.0.1"]),
    "the module proxy knows nothing": Case(released("v1.0.0"), tags=["x"]),
    "another version by the proxy": Case(released("v1.0.0", "v1.0.1"), tags=["v1.0.0"], named="shipyard:v1.0.1"),
}


@dataclass(frozen=True)
class Told:
    judge: Any
    ours: Any

    @property
    def differ(self) -> str:
        seen = [(one.code, one.documents) for one in (self.judge, self.ours)]
        return "" if seen[0] == seen[1] else f"{seen[0]} {self.judge.err} … {seen[1]} {self.ours.err}"


@pytest.fixture
def asked(judge, ours, tmp_path):
    """Asks both about a provider at an address, in an internet."""

    def ask(case: Case, url: str, internet: Internet, **environ: str) -> Told:
        config = tmp_path / "clusterctl.yaml"
        config.write_text(
            yaml.safe_dump({"providers": [{"name": "shipyard", "type": "InfrastructureProvider", "url": url}]})
        )
        given = {**internet.environ, "GOPROXY": f"https://{MODULES}" if case.tags else "off", **environ}
        return Told(*(one(*case.words, case.named, config=config, **given) for one in (judge, ours)))

    return ask


def test_github_is_read_as_the_judge_reads_it(asked, tmp_path):
    codes, differences = set(), []
    with GitHubStandIn("yard/provider", {}, page=2, api="") as github, GoProxyStandIn({}) as proxy:
        hosts = {"github.com": github, "api.github.com": github, MODULES: proxy}
        with Internet(tmp_path, hosts) as internet:
            for about, case in GITHUB.items():
                github.releases, proxy.lists = case.releases, {MODULE: case.tags}
                told = asked(case, f"https://github.com/yard/provider/releases/{case.url}/{COMPONENTS}", internet)
                codes.add(told.ours.code)
                if told.differ:
                    differences.append(f"{about}: {told.differ}")
    assert not differences, "\n".join(differences)
    assert codes == {0, 1}


def test_tags_beyond_v1_without_a_module_count(asked, tmp_path):
    """DEVIATION incompatible-tags."""
    case = Case(
        released("v1.0.0", "v2.0.0", series=[(2, 0, "v1beta2"), (1, 0, "v1beta2")]),
        tags=["v1.0.0", "v2.0.0+incompatible"],
    )
    with GitHubStandIn("yard/provider", case.releases, api="") as github, GoProxyStandIn({MODULE: case.tags}) as proxy:
        hosts = {"github.com": github, "api.github.com": github, MODULES: proxy}
        with Internet(tmp_path, hosts) as internet:
            url = f"https://github.com/yard/provider/releases/latest/{COMPONENTS}"
            told = asked(case, url, internet)
            through_api = asked(case, url, internet, GOPROXY="off")
    assert told.judge.code == 1
    assert told.ours.documents == through_api.ours.documents == through_api.judge.documents
    assert "v2.0.0" in told.ours.out


def test_without_a_module_proxy_only_versions_are_asked_of_the_api(asked, ours, tmp_path):
    """DEVIATION goproxy-unset: the judge would ask one that is not in this internet, and a minute later do the same."""
    github, case = GitHubStandIn("yard/provider", released("v1.0.0", "v1.0.1"), api=""), Case({})
    with github, Internet(tmp_path, {"github.com": github, "api.github.com": github}) as internet:
        told = asked(case, f"https://github.com/yard/provider/releases/latest/{COMPONENTS}", internet, GOPROXY="off")
        before = len(github.paths)
        unset = {**internet.environ, "GOPROXY": ""}
        ended = ours(*case.words, case.named, config=tmp_path / "clusterctl.yaml", **unset)
    assert (ended.code, ended.documents) == (told.judge.code, told.judge.documents)
    assert ended.code == 0, ended.err
    by_api = [path for path in github.paths[before:] if "/releases/download/" not in path]
    assert by_api == ["/repos/yard/provider/releases"]


def test_a_token_is_sent_to_github_as_the_judge_sends_it(asked, tmp_path):
    with GitHubStandIn("yard/provider", released("v1.0.0"), api="") as github, StandIn() as storage:
        github.token, github.elsewhere = "secret", "https://storage.example.com"
        text = {f"/v1.0.0/{name}": Reply(body=text.encode()) for name, text in github.releases["v1.0.0"].items()}
        storage.answer = lambda asked: text[asked.path]
        hosts = {"github.com": github, "api.github.com": github, "storage.example.com": storage}
        with Internet(tmp_path, hosts) as internet:
            url = f"https://github.com/yard/provider/releases/v1.0.0/{COMPONENTS}"
            told = asked(Case({}), url, internet, GITHUB_TOKEN="secret")
    assert told.differ == ""
    assert told.ours.code == 0
    assert not any("secret" in str(one.headers) for one in storage.asked)


GITLAB = {
    "a version": Case(released("v1.0.0", "v1.0.1"), url="v1.0.0"),
    "another version": Case(released("v1.0.0", "v1.0.1"), url="v1.0.0", named="shipyard:v1.0.1"),
    "a version that is not there": Case(released("v1.0.0"), url="v1.0.0", named="shipyard:v7.0.0"),
    "a version in the address that is not there": Case(released("v1.0.0"), url="v7.0.0"),
    "a version called latest": Case(released("v1.0.0", "latest")),
    "no metadata": Case({"v1.0.0": {COMPONENTS: components()}}, url="v1.0.0"),
    "too many steps": Case(released("v1.0.0"), url="v1.0.0/x"),
    "a template": Case(
        released("v1.0.0", **TEMPLATE), url="v1.0.0", named="shipyard:v1.0.0", words=GITHUB["a template"].words
    ),
}


def test_gitlab_is_read_as_the_judge_reads_it(asked, tmp_path):
    differences = []
    gitlab = GitLabStandIn("group%2Fyard", "provider", {})
    with gitlab, Internet(tmp_path, {"gitlab.example.com": gitlab}) as internet:
        gitlab.token = "secret"
        for about, case in GITLAB.items():
            gitlab.versions = case.releases
            url = f"https://gitlab.example.com{gitlab.prefix}/generic/provider/{case.url}/{COMPONENTS}"
            told = asked(case, url, internet, GITLAB_ACCESS_TOKEN="secret")
            if told.differ:
                differences.append(f"{about}: {told.differ}")
        refused = asked(GITLAB["a version"], url, internet)
    assert not differences, "\n".join(differences)
    assert refused.differ == ""
    assert refused.ours.code == 1


def test_no_redirect_leads_out_of_https(ours, tmp_path):
    """Not even to this machine, where http is allowed to those who ask for it."""
    with StandIn() as lure, StandIn() as site:
        site.answer = lambda asked: Reply(302, headers={"Location": f"{lure.url}{asked.path}"})
        with Internet(tmp_path, {"example.com": site}) as internet:
            ended = ours(
                "config", "repositories", "--config", "https://example.com/clusterctl.yaml", **internet.environ
            )
    assert ended.code == 1
    assert "out of https: that is not followed" in ended.err
    assert lure.asked == []

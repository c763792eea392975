"""Templates from the web beside the real clusterctl: both are led to a stand-in for every host (see `internet`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts import NOT_FOUND, Asked, Reply, StandIn
from internet import Internet
from runners import Runner
from templates_kit import TEMPLATE, outcome

API = "/repos/yard/provider"
HOSTS = ("github.com", "api.github.com", "templates.example.com")


class Pages(StandIn):
    """Stands in for all web servers that there are; ``pages`` is by host and path."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, Reply | Callable[[Asked], Reply]] = {}
        self.environ: dict[str, str] = {}

    def answer(self, asked: Asked) -> Reply:
        found = self.pages.get(asked.headers["host"] + asked.path, NOT_FOUND)
        return found if isinstance(found, Reply) else found(asked)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Pages]:
    with Pages() as pages, Internet(tmp_path, dict.fromkeys(HOSTS, pages)) as internet:
        pages.environ = internet.environ
        yield pages


def contents(text: str, **more: str) -> Reply:
    packed = base64.encodebytes(text.encode()).decode()
    return Reply.of({"type": "file", "encoding": "base64", "content": packed, "name": "x", **more})


def asset(asked: Asked) -> Reply:
    plain = asked.headers.get("accept") == "application/octet-stream"
    return Reply(body=b"kind: OfARelease\n") if plain else Reply.of({"id": 7})


def test_templates_from_web_servers_and_github(web: Pages, judge: Runner, ours: Runner) -> None:
    site, api = "templates.example.com", "api.github.com"
    web.pages = {
        f"{site}/one.yaml": Reply(body=TEMPLATE.encode()),
        f"{site}/a%20b.yaml": Reply(body=b"kind: Escaped\n"),
        f"{site}/moved.yaml": Reply(302, headers={"Location": "https://templates.example.com/one.yaml"}),
        f"{site}/asked.yaml": lambda asked: Reply(body=f"kind: {asked.query.get('kind')}\n".encode()),
        f"{site}/secret.yaml": Reply(403),
        f"{site}/broken.yaml": Reply(body=b"a: \xff"),
        f"{api}{API}/contents/one.yaml": contents(TEMPLATE),
        f"{api}{API}/contents/deep/a%20b.yaml": lambda asked: contents(f"kind: {asked.query['ref']}\n"),
        f"{api}{API}/contents/folder": Reply.of([{"type": "file", "name": "x"}]),
        f"{api}{API}/contents/large.yaml": contents("", encoding="none"),
        f"{api}{API}/contents/garbage.yaml": contents("", content="*"),
        f"{api}{API}/releases/tags/v1.0.0": Reply.of({"tag_name": "v1.0.0", "assets": [{"id": 7, "name": "one.yaml"}]}),
        f"{api}{API}/releases/assets/7": asset,
    }
    github = "https://github.com/yard/provider"
    addresses = {
        f"https://{site}/one.yaml": 0, f"https://{site}/a%20b.yaml": 0, f"https://{site}/moved.yaml": 0,
        f"HTTPS://{site}/one.yaml": 0, f"https://{site}/asked.yaml?kind=Asked#part": 0, f"https://{site}/none.yaml": 1,
        f"https://{site}/secret.yaml": 1, f"https://{site}/broken.yaml": 1, f"{github}/blob/main/one.yaml": 0,
        f"{github}/blob/main/deep/a%20b.yaml": 0, f"{github}/blob/v1.0/deep/a b.yaml?x=y": 0,
        f"{github}/blob/main/folder": 1, f"{github}/blob/main/large.yaml": 1, f"{github}/blob/main/none.yaml": 1,
        f"{github}/blob/main/garbage.yaml": 1, f"{github}/blob/main": 1, f"{github}/raw/main/one.yaml": 1,
        f"{github}/releases/download/v1.0.0/one.yaml": 0, f"{github}/releases/download/v1.0.0/one.yaml/more": 0,
        f"{github}/releases/download/v1.0.0/two.yaml": 1, f"{github}/releases/download/v2.0.0/one.yaml": 1,
        f"{github}/releases/tag/v1.0.0/one.yaml": 1,
    }  # fmt: skip
    for address, code in addresses.items():
        words = ("generate", "cluster", "one", "-n", "harbour", "--from", address)
        theirs, mine = (runner(*words, **web.environ) for runner in (judge, ours))
        assert (address, mine.code) == (address, code), mine.err
        assert (address, outcome(mine)) == (address, outcome(theirs)), theirs.err


def test_github_is_told_who_asks_and_nobody_else(web: Pages, judge: Runner, ours: Runner) -> None:
    web.pages = {
        f"api.github.com{API}/contents/one.yaml": contents("kind: One\n"),
        "templates.example.com/one.yaml": Reply(body=b"kind: One\n"),
    }
    for runner in (judge, ours):
        web.asked.clear()
        for address in (
            "https://github.com/yard/provider/blob/main/one.yaml",
            "https://templates.example.com/one.yaml",
        ):
            assert (
                runner("generate", "yaml", "--from", address, **web.environ, GITHUB_TOKEN="secret").out == "kind: One\n"
            )
        assert [one.headers.get("authorization") for one in web.asked] == ["Bearer secret", None]

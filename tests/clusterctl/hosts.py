"""Loopback stand-ins for the hosts of provider repositories: GitHub, GitLab, the Go module proxy, a plain web server.

They are none of these: they speak real HTTP on a real socket, and answer as much as the documents of those APIs say
that a repository is asked for. What was tested against them was not tested against the real ones.
"""

from __future__ import annotations

import http.server
import json
import threading
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

Files = Mapping[str, str]  # name -> content


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed_length: int | None = None  # instead of the real one

    @classmethod
    def of(cls, value: Any, **headers: str) -> Reply:
        return cls(body=json.dumps(value).encode(), headers=headers)


NOT_FOUND = Reply(404, b'{"message": "Not Found"}')


class StandIn:
    """A server on this machine. ``answer`` decides; ``asked`` holds what came, in order."""

    def __init__(self, answer: Callable[[Asked], Reply] | None = None) -> None:
        self.asked: list[Asked] = []
        self._answer = answer
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def answer(self, asked: Asked) -> Reply:
        return self._answer(asked) if self._answer else NOT_FOUND

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        """What answers on a connection, ours or one that somebody else has accepted."""
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(path, dict(urllib.parse.parse_qsl(query)), headers)
                stand_in.asked.append(asked)
                reply = stand_in.answer(asked)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                length = len(reply.body) if reply.claimed_length is None else reply.claimed_length
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler


class GitHubStandIn(StandIn):
    """Stands in for a GitHub (Enterprise) server: the releases of one repository, API and downloads.

    ``releases`` maps tags to files; ``api`` is where an Enterprise server has its API, nothing on api.github.com.
    ``elsewhere`` is a host that assets are redirected to, as GitHub does.
    """

    def __init__(
        self, repository: str, releases: Mapping[str, Files], *, page: int = 100, api: str = "/api/v3"
    ) -> None:
        super().__init__()
        self.repository = repository
        self.releases = releases
        self.page = page
        self.api = f"{api}/repos/"
        self.token = ""  # if set, the API wants it
        self.elsewhere = ""
        self.limited: Mapping[str, str] | None = None  # headers of a refusal for too many calls

    @property
    def api_calls(self) -> list[str]:
        return [path for path in self.paths if path.startswith(self.api)]

    def answer(self, asked: Asked) -> Reply:
        api, download = f"{self.api}{self.repository}", f"/{self.repository}/releases/download/"
        if asked.path.startswith(download):
            tag, name = (urllib.parse.unquote(step) for step in asked.path.removeprefix(download).split("/"))
            files = self.releases.get(tag, {})
            return Reply(body=files[name].encode()) if name in files else NOT_FOUND
        if self.limited is not None:
            return Reply(403, b'{"message": "API rate limit exceeded"}', self.limited)
        if self.token and asked.headers.get("authorization") != f"Bearer {self.token}":
            return Reply(401, b'{"message": "Bad credentials"}')
        if asked.path == f"{api}/releases":
            return self._page(int(asked.query.get("page", "1")))
        if asked.path.startswith(f"{api}/releases/tags/"):
            tag = urllib.parse.unquote(asked.path.rpartition("/")[2])
            return Reply.of(self._release(tag)) if tag in self.releases else NOT_FOUND
        if asked.path.startswith(f"{api}/releases/assets/"):
            return self._asset(int(asked.path.rpartition("/")[2]), asked)
        return NOT_FOUND

    def _page(self, number: int) -> Reply:
        tags = list(self.releases)
        shown = tags[(number - 1) * self.page : number * self.page]
        more = {"Link": f'<{self.url}/next?page={number + 1}>; rel="next"'} if number * self.page < len(tags) else {}
        return Reply.of([self._release(tag) for tag in shown], **more)

    def _release(self, tag: str) -> dict[str, Any]:
        numbers = {one: number for number, one in enumerate(self._assets())}
        assets = [{"name": name, "id": numbers[tag, name]} for name in self.releases[tag]]
        return {"tag_name": tag, "assets": assets}

    def _assets(self) -> list[tuple[str, str]]:
        return [(tag, name) for tag, files in self.releases.items() for name in files]

    def _asset(self, number: int, asked: Asked) -> Reply:
        if asked.headers.get("accept") != "application/octet-stream":
            return Reply.of({"id": number})
        tag, name = self._assets()[number]
        if self.elsewhere:
            return Reply(302, headers={"Location": f"{self.elsewhere}/{tag}/{name}"})
        return Reply(body=self.releases[tag][name].encode())


class GitLabStandIn(StandIn):
    """Stands in for a GitLab server: one generic package of one project."""

    def __init__(self, project: str, package: str, versions: Mapping[str, Files], *, page: int = 100) -> None:
        super().__init__()
        self.prefix = f"/api/v4/projects/{project}/packages"
        self.package = package
        self.versions = versions
        self.page = page
        self.token = ""
        self.may_list = True

    def address(self, version: str, file: str) -> str:
        return f"{self.url}{self.prefix}/generic/{self.package}/{version}/{file}"

    def answer(self, asked: Asked) -> Reply:
        if self.token and asked.headers.get("authorization") != f"Bearer {self.token}":
            return Reply(401)
        generic = f"{self.prefix}/generic/{self.package}/"
        if asked.path.startswith(generic):
            version, name = (urllib.parse.unquote(step) for step in asked.path.removeprefix(generic).split("/"))
            files = self.versions.get(version, {})
            return Reply(body=files[name].encode()) if name in files else NOT_FOUND
        if not self.may_list:
            return Reply(403)
        if asked.path == self.prefix:
            return self._page(self._packages(), asked)
        for number, version in enumerate(self.versions):
            if asked.path == f"{self.prefix}/{number}/package_files":
                return self._page([{"file_name": name} for name in self.versions[version]], asked)
        return NOT_FOUND

    def _packages(self) -> list[dict[str, Any]]:
        ours = [
            {"id": number, "name": self.package, "version": version, "status": "default"}
            for number, version in enumerate(self.versions)
        ]
        # The filter by name also finds longer names, and what is being deleted is listed until it is gone.
        others = [
            {"id": 900, "name": f"{self.package}-old", "version": "v99.0.0", "status": "default"},
            {"id": 901, "name": self.package, "version": "v98.0.0", "status": "pending_destruction"},
        ]
        return [*others, *ours]

    def _page(self, rows: list[dict[str, Any]], asked: Asked) -> Reply:
        number = int(asked.query.get("page", "1"))
        following = str(number + 1) if number * self.page < len(rows) else ""
        return Reply.of(rows[(number - 1) * self.page : number * self.page], **{"X-Next-Page": following})


class GoProxyStandIn(StandIn):
    """Stands in for a Go module proxy: lists of versions by module path."""

    def __init__(self, lists: Mapping[str, list[str]]) -> None:
        super().__init__()
        self.lists = lists

    def answer(self, asked: Asked) -> Reply:
        module = asked.path.removeprefix("/").removesuffix("/@v/list")
        return Reply(body="\n".join(self.lists[module]).encode()) if module in self.lists else NOT_FOUND


class PlainSite(StandIn):
    """Stands in for a web server that has files and nothing else."""

    def __init__(self, files: Files) -> None:
        super().__init__()
        self.files = files

    def answer(self, asked: Asked) -> Reply:
        name = urllib.parse.unquote(asked.path.removeprefix("/"))
        return Reply(body=self.files[name].encode()) if name in self.files else NOT_FOUND

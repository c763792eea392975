"""What the fault proxy can be told: which requests a fault is for, what it does to them, and how often.

A test rarely builds these by hand; the methods of :class:`mooring.testing.faults.FaultProxy` do. It reads
:class:`Request` (in ``matching`` and in the proxy's record) and keeps a :class:`Rule` to lift it or to count
its hits.
"""

import enum
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, unquote

WRITING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(slots=True, eq=False, kw_only=True)
class Request:
    """One request that came to the proxy, in Kubernetes' words, and what has become of it so far."""

    method: str
    path: str  # as it was sent, still percent-encoded
    query: str  # likewise
    sent_at: float  # monotonic, when the whole request had arrived
    verb: str  # get, list, watch, create, update, patch, delete, deletecollection; else the method
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    server_status: int | None = None  # what the API server answered; None: it was not asked, or has not answered
    status: int | None = None  # what the client was told; None: nothing yet, or the answer was cut off
    events: int = 0  # of a watch: lines that went out whole
    ended: bool = False

    @classmethod
    def read(cls, method: str, target: str, *, sent_at: float) -> Self:
        """The request line, told apart as the API server does it."""
        path, _, query = target.partition("?")
        request = cls(method=method, path=path, query=query, sent_at=sent_at, verb=method.lower())
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["api", _, *parts] if parts:
                request._name_resource("", parts)
            case ["apis", group, _, *parts] if parts:
                request._name_resource(group, parts)
        return request

    def _name_resource(self, group: str, parts: list[str]) -> None:
        match parts:
            case ["namespaces", name, subresource, *_] if subresource in NAMESPACE_SUBRESOURCES:
                self.namespace = name
            case ["namespaces", name, _, *_]:
                self.namespace, parts = name, parts[2:]
            case ["namespaces", name]:
                self.namespace = name
        self.group = group
        self.resource, self.name, self.subresource = (*parts, "", "")[:3]
        self.verb = VERBS.get(self.method, self.verb)
        if not self.name and self.verb == "get":
            self.verb = "watch" if self._asks_to_watch else "list"
        elif not self.name and self.verb == "delete":
            self.verb = "deletecollection"

    @property
    def _asks_to_watch(self) -> bool:
        return self.params.get("watch", "false").lower() not in {"false", "0"}

    @property
    def params(self) -> dict[str, str]:
        """The query, decoded."""
        return dict(parse_qsl(self.query, keep_blank_values=True))

    @property
    def continues(self) -> bool:
        """Asks for a further page of a list."""
        return bool(self.params.get("continue"))

    @property
    def is_write(self) -> bool:
        """By its method. Reviews and dry runs count too; ``matching`` can leave them out."""
        return self.method in WRITING_METHODS

    @property
    def is_watch(self) -> bool:
        return self.verb == "watch"


Matching = Callable[[Request], bool]


def any_request(_: Request) -> bool:
    return True


def where(**wanted: object) -> Matching:
    """Requests with exactly these fields, as ``where(verb="create", resource="configmaps")``."""
    return lambda request: all(getattr(request, name) == value for name, value in wanted.items())


class Cut(enum.Enum):
    """When the client's connection is cut."""

    NEVER = enum.auto()
    BEFORE = enum.auto()  # the API server never sees the request
    AFTER = enum.auto()  # the API server has done it, the answer is lost
    WITHIN = enum.auto()  # half of the answer's beginning, or of the event's line, still goes out


@dataclass(frozen=True, slots=True)
class Answer:
    """What the proxy says in the API server's stead."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a fault does; several that strike the same request add up."""

    delay: float = 0.0
    bytes_per_second: float = math.inf
    answer: Answer | None = None
    cut: Cut = Cut.NEVER
    stop: bool = False

    @property
    def hides_request(self) -> bool:
        """Whether neither the API server nor a later rule gets to see the request."""
        return self.answer is not None or self.cut is Cut.BEFORE

    def __or__(self, other: "Effect") -> "Effect":
        return Effect(
            delay=self.delay + other.delay,
            bytes_per_second=min(self.bytes_per_second, other.bytes_per_second),
            answer=self.answer or other.answer,
            cut=other.cut if self.cut is Cut.NEVER else self.cut,
            stop=self.stop or other.stop,
        )


@dataclass(slots=True, eq=False, kw_only=True)
class Rule:
    """An effect on matching requests, or on the events of matching watches.

    The first ``skip`` of them are spared, the next ``times`` are struck.
    """

    effect: Effect
    matching: Matching
    skip: int = 0
    times: int | None = 1  # None: until lifted
    of_events: bool = False
    hits: int = field(default=0, init=False)
    lifted: bool = field(default=False, init=False)

    @property
    def spent(self) -> bool:
        return self.lifted or self.hits == self.times

    def lift(self) -> None:
        """End the fault; what it has already struck stays struck."""
        self.lifted = True

    def strikes(self, request: Request) -> bool:
        """Whether this request is one of those meant. Each asking counts."""
        if self.spent or not self.matching(request):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.hits += 1
        return True


FAILURES = {
    400: ("BadRequest", "the request is not understood"),
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", "forbidden"),
    404: ("NotFound", "the server could not find the requested resource"),
    409: ("Conflict", "the object has been modified; please apply your changes to the latest version"),
    410: ("Expired", "too old resource version: 1 (2)"),
    429: ("TooManyRequests", "too many requests, please try again later"),
    500: ("InternalError", "Internal error occurred: injected by the fault proxy"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "request did not complete within the allotted timeout"),
}


def failure(status: int, *, retry_after: str | None = None) -> dict[str, Any]:
    """The Status object with which an API server says this HTTP status."""
    reason, message = FAILURES.get(status, ("Unknown", "an error that the fault proxy made up"))
    details = {"retryAfterSeconds": int(retry_after)} if retry_after and retry_after.isdecimal() else None
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return said | {"message": message, "reason": reason, "code": status} | ({"details": details} if details else {})


def answer_of(status: int, *, headers: Mapping[str, str], body: Mapping[str, Any] | str | None) -> Answer:
    """An answer with that body (an object goes as JSON, a string as plain text) or with a Status object."""
    if isinstance(body, str):
        kind, said = "text/plain; charset=utf-8", body.encode()
    else:
        failed = failure(status, retry_after=headers.get("Retry-After"))
        kind, said = "application/json", json.dumps(failed if body is None else body).encode()
    return Answer(status, {"Content-Type": kind, "Content-Length": str(len(said)), **headers}, said)

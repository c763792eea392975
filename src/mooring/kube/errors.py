"""What can go wrong on the way to an API server and back, as types.

The tree::

    KubeError
    ├── ApiError                the server answered, with a refusal
    │   ├── BadRequest          400
    │   ├── Unauthorized        401
    │   ├── Forbidden           403
    │   ├── NotFound            404
    │   ├── MethodNotAllowed    405
    │   ├── Conflict            409, someone else wrote first
    │   ├── AlreadyExists       409, the name is taken
    │   ├── Gone                410, that revision is compacted or that page expired
    │   ├── TooLarge            413
    │   ├── UnsupportedType     406 and 415
    │   ├── Invalid             422, with the causes field by field
    │   ├── TooManyRequests     429, with the wait that the server asks for
    │   └── ServerError         5xx
    ├── NoAnswer                nothing, or only a part, came back
    │   ├── Timeout             not in time
    │   └── Unreachable         no connection, or the connection broke
    ├── BadAnswer               an answer came and does not read as what was asked for
    ├── UnknownKind             the server serves no such kind
    ├── InvalidName             a name that could not be part of a path
    └── ConfigError             we do not know how to reach the server
        └── NoCredentials       nor, at the moment, as whom: a token file or a credential program fails

Every error tells two things to whoever turns it into a condition: `reason`, one CamelCase word, and
`terminal`, true when the same call will fail again until somebody changes what is asked for.
`outcome_unknown` is true for a write that may have happened although we were not told so: look before writing
again.

No error carries a header, a request body or a credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class KubeError(Exception):
    """Base of everything this room raises."""

    reason: str = "KubeError"
    terminal: bool = False
    outcome_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that the server did not accept, and why."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class ApiError(KubeError):
    """The server's refusal: what it said, and to which call."""

    reason = "ApiError"

    def __init__(
        self,
        *,
        code: int,
        message: str,
        verb: str,
        path: str,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        outcome_unknown: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.verb = verb
        self.path = path
        self.reason = reason or type(self).reason
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after
        self.outcome_unknown = outcome_unknown

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The fields that the server complained about; empty when it named none."""
        listed = self.details.get("causes")
        return tuple(
            Cause(
                field=str(cause.get("field") or ""),
                reason=str(cause.get("reason") or ""),
                message=str(cause.get("message") or ""),
            )
            for cause in (listed if isinstance(listed, list) else ())
            if isinstance(cause, Mapping)
        )

    def __str__(self) -> str:
        return f"{self.verb} {self.path}: {self.code} {self.reason}: {self.message}{_doubt(self)}"


class BadRequest(ApiError):
    reason = "BadRequest"
    terminal = True


class Unauthorized(ApiError):
    reason = "Unauthorized"


class Forbidden(ApiError):
    # Not terminal: the right may be granted while we wait.
    reason = "Forbidden"


class NotFound(ApiError):
    reason = "NotFound"


class MethodNotAllowed(ApiError):
    reason = "MethodNotAllowed"
    terminal = True


class Conflict(ApiError):
    reason = "Conflict"


class AlreadyExists(ApiError):
    reason = "AlreadyExists"


class Gone(ApiError):
    reason = "Expired"


class TooLarge(ApiError):
    reason = "RequestEntityTooLarge"
    terminal = True


class UnsupportedType(ApiError):
    reason = "UnsupportedMediaType"
    terminal = True


class Invalid(ApiError):
    reason = "Invalid"
    terminal = True

    def __str__(self) -> str:
        if not self.causes:
            return super().__str__()
        fields = "; ".join(str(cause) for cause in self.causes)
        return f"{self.verb} {self.path}: {self.code} {self.reason}: {fields}"


class TooManyRequests(ApiError):
    reason = "TooManyRequests"


class ServerError(ApiError):
    reason = "InternalError"


class NoAnswer(KubeError):
    """The call left, or tried to, and no whole answer came back."""

    def __init__(self, message: str, *, verb: str, path: str, outcome_unknown: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.verb = verb
        self.path = path
        self.outcome_unknown = outcome_unknown

    def __str__(self) -> str:
        return f"{self.verb} {self.path}: {self.message}{_doubt(self)}"


class Timeout(NoAnswer):
    reason = "Timeout"


class Unreachable(NoAnswer):
    reason = "Unreachable"


class BadAnswer(KubeError):
    """Not the JSON that this call answers with, or not of the type that the caller reads it as."""

    reason = "BadAnswer"

    def __init__(self, message: str, *, verb: str, path: str) -> None:
        super().__init__(f"{verb} {path}: {message}")
        self.message = message
        self.verb = verb
        self.path = path


class UnknownKind(KubeError):
    # Not terminal: its CustomResourceDefinition may be on the way.
    reason = "UnknownKind"

    def __init__(self, *, api_version: str, kind: str) -> None:
        super().__init__(f"the API server serves no {kind} in {api_version}")
        self.api_version = api_version
        self.kind = kind


class InvalidName(KubeError, ValueError):
    reason = "InvalidName"
    terminal = True


class ConfigError(KubeError):
    """What is wrong in the configuration, where, and what to do. Only harmless values are shown."""

    reason = "InvalidConfiguration"
    terminal = True

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        field: str | None = None,
        value: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.field = field
        self.value = value
        self.remedy = remedy

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.field) if part)
        shown = f" (it is {self.value!r})" if self.value is not None else ""
        remedy = f". {self.remedy}" if self.remedy else ""
        return f"{where}: {self.problem}{shown}{remedy}" if where else f"{self.problem}{shown}{remedy}"


class NoCredentials(ConfigError):
    # Not terminal: files are written again, and programs depend on networks.
    reason = "NoCredentials"
    terminal = False


def _doubt(error: KubeError) -> str:
    return " (the outcome is unknown: it may have been done)" if error.outcome_unknown else ""


BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: UnsupportedType,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedType,
    422: Invalid,
    429: TooManyRequests,
}

"""The flags of kube-apiserver that a configuration may set: those that open no door and read no file.

Verbosity ends where the server would begin to log what is in requests, because the end of its log is shown in
conditions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

Check = Callable[[str], bool]

_DURATION: Final = re.compile(r"([0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h))+")
_SERVED: Final = re.compile(r"(api/(all|ga|beta|alpha)|[a-z0-9.-]+/v[a-z0-9]+(/[a-z]+)?)=(true|false)")
_PLUGINS: Final = frozenset(
    ("AlwaysPullImages", "DenyServiceExternalIPs", "NamespaceAutoProvision", "OwnerReferencesPermissionEnforcement")
)


def _number(lowest: int, highest: int) -> Check:
    return lambda text: text.isascii() and text.isdigit() and lowest <= int(text) <= highest


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None


def _each(check: Check) -> Check:
    return lambda text: all(map(check, text.split(",")))


# Each with what its value may be, in words for whoever got it wrong.
FLAGS: Final[Mapping[str, tuple[Check, str]]] = {
    "default-watch-cache-size": (_number(0, 10_000), "a number up to 10000"),
    "delete-collection-workers": (_number(1, 100), "a number from 1 to 100"),
    "enable-admission-plugins": (_each(_PLUGINS.__contains__), f"some of {', '.join(sorted(_PLUGINS))}"),
    "event-ttl": (_is_duration, "a duration such as 10m"),
    "max-mutating-requests-inflight": (_number(1, 10_000), "a number from 1 to 10000"),
    "max-requests-inflight": (_number(1, 10_000), "a number from 1 to 10000"),
    "min-request-timeout": (_number(1, 86_400), "a number of seconds"),
    "request-timeout": (_is_duration, "a duration such as 1m"),
    "runtime-config": (
        _each(lambda one: _SERVED.fullmatch(one) is not None),
        "API versions, such as api/beta=true or batch/v1=false",
    ),
    "v": (_number(0, 4), "a number from 0 to 4"),
}


def refusals(flags: Mapping[str, str]) -> list[str]:
    """What is wrong with these flags: one sentence for each, which names it."""
    found = []
    for name, value in sorted(flags.items()):
        check, form = FLAGS.get(name, (None, ""))
        if check is None:
            found.append(f"spec.apiServerFlags[{name}] is none of the flags that may be set ({', '.join(FLAGS)})")
        elif not check(value):
            found.append(f"spec.apiServerFlags[{name}] is {value!r} and must be {form}")
    return found

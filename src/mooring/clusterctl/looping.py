"""An event loop from the moment on in which there is something to wait for, and not before.

To load asyncio is a fifth of what a short command costs, and a command that only reads files never waits. So `run`
begins a coroutine without a loop. `loop_needed` stands where the wire begins, in `management` and `repository.http`;
from there on the coroutine goes on within a loop, as if it had always been in one.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, Final, Generic, TypeVar

_T = TypeVar("_T")
_NEEDED: Final = object()


@coroutine
def loop_needed() -> Generator[object, None, None]:
    """Returns within a running loop."""
    if not _is_running():
        yield _NEEDED


def run(begun: Coroutine[Any, Any, _T]) -> _T:
    """What the coroutine comes to."""
    try:
        asked = begun.send(None)
    except StopIteration as ended:
        result: _T = ended.value
        return result
    import asyncio

    if asked is not _NEEDED:
        begun.close()
        raise RuntimeError("something waits that did not ask for a loop before")
    return asyncio.run(_gone_on(begun))


async def _gone_on(begun: Coroutine[Any, Any, _T]) -> _T:
    return await _Rest(begun)


class _Rest(Generic[_T]):
    """A coroutine that has begun already, to be awaited."""

    def __init__(self, begun: Coroutine[Any, Any, _T]) -> None:
        self._begun = begun

    def __await__(self) -> Generator[Any, Any, _T]:
        return self._begun.__await__()


def _is_running() -> bool:
    asyncio = sys.modules.get("asyncio")
    try:
        return asyncio is not None and asyncio.get_running_loop() is not None
    except RuntimeError:
        return False

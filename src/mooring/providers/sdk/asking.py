"""Asking a provider: with an end to our patience, and without its secrets in our logs.

A provider is somebody else's code. Whatever it raises becomes one of three things here: :class:`Refused`, which is for
the user; what the runtime understands by itself; or :class:`ProviderFailed`, with words that can be shown.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable
from typing import TypeVar

import structlog

from mooring.api.kinds import Kind
from mooring.kube import ObjectKey
from mooring.kube.errors import Conflict
from mooring.providers.sdk.provider import Provider, Refused
from mooring.providers.sdk.scrubbing import scrubbed
from mooring.runtime import NotLeader, Terminal, TryAgain

T = TypeVar("T")
C = TypeVar("C", bound=Kind)

log = structlog.get_logger(__name__)

FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 0.25, 1.5, 30.0  # seconds between two looks at a cluster that is not ready


class ProviderFailed(Exception):
    """The provider could not answer; the message says why, without secrets."""


async def asked(provider: Provider[C], call: Awaitable[T]) -> T:
    """The provider's answer."""
    try:
        async with asyncio.timeout(provider.longest_step) as patience:
            return await call
    except (Refused, TryAgain, Terminal, Conflict, NotLeader):
        raise
    except Exception as error:
        if isinstance(error, TimeoutError) and patience.expired():
            raise ProviderFailed(f"The provider did not answer within {provider.longest_step:g} s.") from None
        words = scrubbed(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        # Where, but not the error itself: its text may hold anything.
        log.error("the provider failed", what=words, where="".join(traceback.format_tb(error.__traceback__)))
        raise ProviderFailed(f"The provider failed, and is asked again: {words}") from None


class Pauses:
    """How long to wait before the next look: longer and longer, until something about it changes."""

    def __init__(self) -> None:
        self._looks: dict[ObjectKey, tuple[str, int]] = {}

    def next(self, key: ObjectKey, standing: str) -> float:
        """The next pause for a cluster that stands so."""
        before, count = self._looks.get(key, ("", 0))
        count = count + 1 if before == standing else 0
        self._looks[key] = (standing, count)
        return float(min(LONGEST_PAUSE, FIRST_PAUSE * GROWTH ** min(count, 50)))

    def forget(self, key: ObjectKey) -> None:
        self._looks.pop(key, None)

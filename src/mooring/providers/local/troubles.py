"""What went wrong with the processes of a cluster, and how to tell it: with the end of the log, and no secrets."""

from __future__ import annotations

import time
from typing import Final

from mooring.controlplane.components import API_SERVER
from mooring.controlplane.errors import ProcessError
from mooring.controlplane.plane import ControlPlane
from mooring.controlplane.processes import program_of
from mooring.providers.local.reasons import Reason
from mooring.providers.sdk.scrubbing import scrubbed

_STABLE: Final = 60.0  # after so many seconds of life an end counts as the first one again
_CALM, _LONGEST_CALM = 10.0, 30.0  # seconds that a process which keeps ending must live before it is believed
_LONGEST_LINE: Final = 400


class Troubles:
    """The ends of a cluster's processes, in a row."""

    def __init__(self) -> None:
        self.ends = 0  # ever
        self.reason: str = ""
        self.message = ""
        self._row = 0  # one soon after the other
        self._last = float("-inf")

    def ended(self, plane: ControlPlane, program: str, how: str) -> None:
        """A process that ran has ended."""
        keeper = plane.api_server if program == API_SERVER else plane.controller_manager
        lived = time.time() - keeper.child.record.started
        self._count(again=lived <= _STABLE)
        self.message = f"{program} {how} and is started again."
        if self._row > 1:
            last = program_of(plane.directory, program).last_lines()
            self.message = fit_to_tell(
                f"{program} {how}; that makes {self._row} ends in a row. The end of its log:\n{last}"
            )
        self.reason = Reason.KEEPS_DYING if self._row > 1 else Reason.RESTARTING

    def failed(self, error: BaseException) -> None:
        """A start came to nothing."""
        self._count(again=True)
        dies = isinstance(error, ProcessError) and self._row > 1
        self.reason = Reason.KEEPS_DYING if dies else Reason.START_FAILED
        self.message = fit_to_tell(str(error) or type(error).__name__)

    def hangs(self) -> None:
        """Nothing has ended, and nothing answers."""
        self.reason, self.message = Reason.NOT_ANSWERING, "Its processes run, but do not answer that they are ready."

    def over(self) -> None:
        """All is well. That something ended a moment ago is not forgotten yet."""
        self.reason = self.message = ""

    def calm(self) -> bool:
        """Whether the last end is long enough ago to believe in what runs."""
        wanted = min((self._row - 1) * _CALM, _LONGEST_CALM) if self._row > 1 else 0.0
        return time.monotonic() - self._last >= wanted

    def _count(self, *, again: bool) -> None:
        self.ends += 1
        self._row = self._row + 1 if again else 1
        self._last = time.monotonic()


def cause_of(error: BaseException) -> BaseException:
    """What went wrong, where tasks that belong together have ended for it; the first, if there are several."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def fit_to_tell(text: str) -> str:
    """The text with short lines, and without what looks like a secret."""
    lines = scrubbed(text).splitlines()
    return "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines)

"""Why an access request stands where it stands, as far as preparation says so.

The reasons of both sides are in ``mooring.entry``: what a request does not lead to (``Gap``), and why it may not enter
(``Denial``). Whatever has one of them is our word, and ours to take back.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from mooring.entry.policies import Denial
from mooring.entry.resolving import Gap


class Reason(StrEnum):
    """What preparation says beside those."""

    PREPARED = "Prepared"
    REVOKING = "Revoking"
    NOT_ACCEPTED = "NotAccepted"


# While one of these stands, nobody gets in.
REFUSALS: Final[frozenset[str]] = frozenset({*Gap, *Denial, Reason.NOT_ACCEPTED})
OURS: Final[frozenset[str]] = REFUSALS | {Reason.PREPARED, Reason.REVOKING}

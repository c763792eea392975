"""What makes a cluster without nodes light. Each option was measured: ``docs/how-to/local-clusters.md``."""

from __future__ import annotations

from typing import Final

LIGHT_FLAGS: Final[dict[str, str]] = {}

# Go's collector runs a little earlier: 13 of 180 MB for less than a twentieth more work at the start. (With 50 it would
# be 29 MB for a tenth more.)
LIGHT_ENVIRONMENT: Final[dict[str, str]] = {"GOGC": "75"}

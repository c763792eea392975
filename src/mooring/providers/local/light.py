"""What makes a cluster without nodes light. Each option was measured: ``docs/how-to/local-clusters.md``."""

from __future__ import annotations

from typing import Final

LIGHT_FLAGS: Final[dict[str, str]] = {}

LIGHT_ENVIRONMENT: Final[dict[str, str]] = {}

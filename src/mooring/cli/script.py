"""The console script: typer for the tree of our own words, and not even that for ``mooring clusterctl``."""

from __future__ import annotations

import gc
import sys

# What a start loads stays until the end. To look through it for garbage again and again takes a tenth of that time.
gc.set_threshold(100_000)


def main() -> None:
    """Run a command; whatever goes wrong becomes one message and an exit code."""
    if sys.argv[1:2] == ["clusterctl"]:  # which reads its command line as clusterctl does
        from mooring.cli.clusterctl.main import main as clusterctl

        sys.exit(clusterctl(sys.argv[2:]))
    from mooring.cli.main import main as mooring

    mooring()

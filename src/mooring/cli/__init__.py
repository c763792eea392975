"""Words: argv in, text out. ``main`` is the console script.

Only typer is imported here, so that ``mooring --help`` is quick; each command imports what it needs when it runs.
"""

import gc

# What a start loads stays until the end. To look through it for garbage again and again takes a tenth of that time.
gc.set_threshold(100_000)

from mooring.cli.main import main  # noqa: E402

__all__ = ["main"]

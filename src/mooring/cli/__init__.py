"""Words: argv in, text out. ``main`` is the console script.

Only typer is imported here, so that ``mooring --help`` is quick; each command imports what it needs when it runs.
"""

from mooring.cli.main import main

__all__ = ["main"]

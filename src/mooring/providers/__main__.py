"""Any provider as a program, before it has one of its own: ``python -m mooring.providers NAME init|run …``.

NAME is what an installed package calls it, or ``module:Class``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mooring.providers.finding import found_provider, needs_arguments
from mooring.providers.registry import BrokenProvider, NoSuchProvider, known_providers
from mooring.providers.sdk.program import run_provider


def main(arguments: Sequence[str]) -> None:
    """Take the name off, and leave the rest to the program that every provider is."""
    if not arguments or arguments[0].startswith("-"):
        known = ", ".join(known_providers())
        sys.exit(f"Name a provider first, by its name ({known}) or as module:Class; then init or run.")
    try:
        provider = found_provider(arguments[0])
    except (NoSuchProvider, BrokenProvider) as error:
        sys.exit(str(error))
    if needs_arguments(provider):
        sys.exit(f"{provider.__name__} cannot be made without arguments; use the program that makes it.")
    run_provider(provider, arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])

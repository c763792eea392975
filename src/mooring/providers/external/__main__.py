"""The provider as a program: ``python -m mooring.providers.external init|run``."""

from __future__ import annotations

from mooring.providers.external import ExternalProvider
from mooring.providers.sdk.program import run_provider

if __name__ == "__main__":
    run_provider(ExternalProvider)

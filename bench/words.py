"""Bar ``help``: how long a person waits for ``mooring --help`` beyond the start of Python itself."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from bench.bars import Limit, Result, take_turns

_RUNS = 11


async def help_() -> list[Result]:
    mooring = Path(sys.executable).with_name("mooring")
    value, floor = await take_turns(
        "help", lambda _: _run(mooring, "--help"), lambda _: _run(sys.executable, "-c", "pass"), runs=_RUNS
    )
    over, limit = 1000 * (value - floor), Limit("≤ 200 ms over it", at_most=200)
    return [Result("help", over, "ms over", 1000 * floor, value / floor, limit.text, limit.holds(over), _RUNS)]


async def _run(*argv: str | Path) -> float:
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.DEVNULL)
    await process.wait()
    return time.perf_counter() - begun

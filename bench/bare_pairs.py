"""A floor: start all programs at once, ask every server until all answers are 200, print the seconds that took.

On a busy machine a kube-controller-manager gives up when it has waited ten seconds for its server; what ends is
started again, as anybody who keeps programs would.

Usage: bare_pairs.py SPEC.json, which holds {pairs: [{programs: [[argv…]…], port, path, ca, certificate}…], log}.
Nothing of Mooring is imported.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from bare_start import _is_well

_PATIENCE = 300.0


def main(spec: dict) -> float:
    asked = [(_connection(pair), pair["path"]) for pair in spec["pairs"]]
    argvs = [argv for pair in spec["pairs"] for argv in pair["programs"]]
    started: dict[int, subprocess.Popen] = {}
    begun = time.perf_counter()
    try:
        with Path(spec["log"]).open("ab") as log:
            _start(argvs, started, log)
            while asked := [(connection, path) for connection, path in asked if not _is_well(connection, path)]:
                _start(argvs, started, log)
                if time.perf_counter() - begun > _PATIENCE:
                    raise SystemExit(f"it does not come up: see {spec['log']}")
                time.sleep(0.02)
        return time.perf_counter() - begun
    finally:
        for process in started.values():
            process.kill()
            process.wait(30)


def _start(argvs: list, started: dict[int, subprocess.Popen], log: IO) -> None:
    """Whatever does not run."""
    for number, argv in enumerate(argvs):
        if number not in started or started[number].poll() is not None:
            started[number] = subprocess.Popen(argv, stdout=log, stderr=log)


def _connection(pair: dict) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=pair["ca"])
    context.load_cert_chain(pair["certificate"])
    return http.client.HTTPSConnection("127.0.0.1", pair["port"], timeout=5, context=context)


if __name__ == "__main__":
    print(main(json.loads(Path(sys.argv[1]).read_text())))

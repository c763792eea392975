"""A floor: start programs as they are given, ask until the answer is 200, print the seconds that took, stop them.

Usage: bare_start.py SPEC.json, which holds {programs: [[argv…]…], port, path, ca, certificate (key and chain)}.
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


def main(spec: dict) -> float:
    context = ssl.create_default_context(cafile=spec["ca"])
    context.load_cert_chain(spec["certificate"])
    begun = time.perf_counter()
    with Path(spec["log"]).open("ab") as log:
        started = [subprocess.Popen(argv, stdout=log, stderr=log) for argv in spec["programs"]]
    try:
        connection = http.client.HTTPSConnection("127.0.0.1", spec["port"], timeout=5, context=context)
        while not _is_well(connection, spec["path"]):
            if any(process.poll() is not None for process in started):
                raise SystemExit(f"a program ended: see {spec['log']}")
            time.sleep(0.02)
        return time.perf_counter() - begun
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def _is_well(connection: http.client.HTTPSConnection, path: str) -> bool:
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status == 200
    except (OSError, http.client.HTTPException):
        connection.close()
        return False


if __name__ == "__main__":
    print(main(json.loads(Path(sys.argv[1]).read_text())))

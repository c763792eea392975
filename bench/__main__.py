"""Run the bars: ``python -m bench [--only name,…]``. Exits with 1 if one is missed."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from bench.access import access, access_calls, access_latency, access_renewal, revoke
from bench.bars import keep, table
from bench.granting import grant, grant_calls, grant_latency, grant_memory
from bench.moving import clusterctl_move
from bench.planning import plan_
from bench.providing import cluster, cluster_8, cluster_memory, cluster_warm, toy_provider
from bench.reading import watch_burst
from bench.starting import control_plane, up
from bench.templating import clusterctl_envsubst, clusterctl_generate
from bench.turning import cache_memory, drain, idle
from bench.words import help_
from bench.writing import client

BARS = {
    "up": up,
    "control-plane": control_plane,
    "client": client,
    "watch-burst": watch_burst,
    "help": help_,
    "drain": drain,
    "drain-cpu": drain,
    "idle": idle,
    "cache-memory": cache_memory,
    "plan": plan_,
    "grant": grant,
    "grant-shared": grant,
    "grant-calls": grant_calls,
    "grant-latency": grant_latency,
    "grant-memory": grant_memory,
    "cluster": cluster,
    "cluster-warm": cluster_warm,
    "cluster-8": cluster_8,
    "cluster-memory": cluster_memory,
    "toy-provider": toy_provider,
    "access": access,
    "access-latency": access_latency,
    "access-calls": access_calls,
    "access-renewal": access_renewal,
    "revoke": revoke,
    "clusterctl-generate": clusterctl_generate,
    "clusterctl-envsubst": clusterctl_envsubst,
    "clusterctl-move": clusterctl_move,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", default=",".join(BARS), help="names, joined by commas")
    parser.add_argument("--into", type=Path, default=Path("build/bench.json"), help="where the results are kept")
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name]
    if unknown := sorted(set(names) - set(BARS)):
        parser.error(f"there is no bar {', '.join(unknown)}; choose from {', '.join(BARS)}")
    # Some bars come out of one measurement, which is then made once.
    measures = dict.fromkeys(BARS[name] for name in names)
    results = [result for measure in measures for result in asyncio.run(measure()) if result.name in names]
    print(table(results))
    keep(results, given.into)
    return 0 if all(result.holds for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

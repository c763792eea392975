"""``version``: which Mooring this is, and which clusterctl it does as well as."""

from __future__ import annotations

import json
import platform

from mooring import __version__
from mooring.cli.clusterctl.tree import Command, Flag, Given, UsageError

AS_CLUSTERCTL = "v1.14.2"  # whose words, flags and behaviour ours are held against


def _version(given: Given) -> None:
    if given["output"] not in ("", "short", "json", "yaml"):
        raise UsageError(f"invalid argument {given['output']!r} for --output: write short, json or yaml")
    major, minor, _ = AS_CLUSTERCTL.removeprefix("v").split(".")
    told = {
        "major": major,
        "minor": minor,
        "gitVersion": AS_CLUSTERCTL,
        "mooringVersion": __version__,
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    match given["output"]:
        case "short":
            given.say(AS_CLUSTERCTL)
        case "json":
            given.say(json.dumps({"clusterctl": told}, indent=2))
        case "yaml":
            given.say("clusterctl:\n" + "\n".join(f'  {name}: "{value}"' for name, value in told.items()))
        case _:
            given.say(f'clusterctl version: {{Major:"{major}", Minor:"{minor}", GitVersion:"{AS_CLUSTERCTL}"}}')
            given.say(f"mooring version: {__version__}")


COMMAND = Command(
    "version",
    "Show the version.",
    _version,
    [Flag("output", "How to show it: short, yaml or json.", letter="o")],
)

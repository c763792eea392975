"""``version``: which Mooring this is, and which clusterctl it does as well as."""

from __future__ import annotations

import json
import platform
from typing import Final

from mooring import __version__
from mooring.cli.clusterctl.tree import Command, Flag, Given, UsageError

AS_CLUSTERCTL: Final = "v1.14.2"  # whose words, flags and behaviour ours are held against

_OUTPUTS: Final = ("", "short", "json", "yaml")
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}  # as Go calls them; others are called the same


def _version(given: Given) -> None:
    output = given["output"]
    if output not in _OUTPUTS:
        raise UsageError(f"invalid argument {output!r} for --output: write short, json or yaml")
    told = _told()
    known = {"clusterctl": {name: value for name, value in told.items() if value}}
    match output:
        case "short":
            given.say(AS_CLUSTERCTL)
        case "json":
            given.say(json.dumps(known, indent=2))
        case "yaml":
            from mooring.clusterctl.yamls import dump_one

            given.out.write(dump_one(known))
        case _:
            fields = ", ".join(f'{name[0].upper()}{name[1:]}:"{value}"' for name, value in told.items())
            given.say(f"clusterctl version: &version.Info{{{fields}}}")


def _told() -> dict[str, str]:
    """What the other one tells, under the same names; what has no meaning here, in the words of what has."""
    major, minor, _ = AS_CLUSTERCTL.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": AS_CLUSTERCTL,
        "gitCommit": "",  # a build is not what it was made from
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": f"none: mooring {__version__}, Python {platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{_ARCHITECTURES.get(platform.machine(), platform.machine())}",
    }


COMMAND = Command(
    "version",
    "Show the version.",
    _version,
    [Flag("output", "How to show it: short, yaml or json.", letter="o")],
)

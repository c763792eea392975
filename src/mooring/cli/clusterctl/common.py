"""What several verbs have in common: flags, and how the management cluster is reached."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mooring.cli.clusterctl.tree import Flag, Form, Given, UsageError

if TYPE_CHECKING:
    from mooring.kube import Connection

KUBECONFIG: Final = Flag("kubeconfig", "The kubeconfig of the management cluster. [default: as kubectl's]")
CONTEXT: Final = Flag("kubeconfig-context", "The context in that kubeconfig. [default: its current one]")
NAMESPACE: Final = Flag("namespace", "The namespace that is meant. [default: the context's]", letter="n")
COMPAT: Final = Flag("compat", "Behave as clusterctl did for this contract: v1alpha3.")
EVERYWHERE: Final = (
    Flag("config", "The configuration: a file, or an https address. [default: clusterctl.yaml where clusterctl looks]"),
    Flag("v", "How much to tell: 0 to 10. [default: CLUSTERCTL_LOG_LEVEL]", Form.NUMBER, "v"),
)


def management(given: Given, kubeconfig: str = "kubeconfig", context: str = "kubeconfig-context") -> Connection:
    """How to reach the management cluster that the flags name; other flags for the other side of a move."""
    from mooring.kube import load_connection

    file, name = given[kubeconfig], given[context]
    return load_connection(Path(file).expanduser() if file else None, name or None)


def check_surroundings(given: Given) -> None:
    """What counts for every word: the configuration that was named is there, and the log level is a number."""
    file = given["config"]
    if file and not file.lower().startswith(("http://", "https://")) and not os.path.exists(file):
        raise UsageError(f"there is no configuration file {file!r}: see --config")
    level = given.environ.get("CLUSTERCTL_LOG_LEVEL", "")
    if level and not given["v"] and not (re.fullmatch(r"[+-]?0*[0-9]{1,19}", level) and abs(int(level)) < 1 << 63):
        raise UsageError(f"CLUSTERCTL_LOG_LEVEL in the environment is {level!r:.40}: write a whole number, or unset it")


def compat_of(given: Given) -> str:
    """The contract of another day whose behaviour is wanted; empty for today's."""
    from mooring.clusterctl.providers import OLD_CONTRACT

    wanted: str = given["compat"]
    if wanted not in ("", OLD_CONTRACT):
        raise UsageError(f"invalid argument {wanted!r} for --compat: the only one that there is, is {OLD_CONTRACT}")
    return wanted

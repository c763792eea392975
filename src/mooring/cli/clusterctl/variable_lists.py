"""The variables of a template as ``generate cluster --list-variables`` shows them: the required ones first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mooring.cli.clusterctl.columns import aligned

if TYPE_CHECKING:
    from mooring.clusterctl.generating import Wanted

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def variable_list(variables: Mapping[str, str | None], wanted: Wanted, environ: Mapping[str, str]) -> str:
    """The text. Variables that flags and arguments set show what these say, whatever the template's default is."""
    shown = {name: None if default is None else _quoted(default) for name, default in variables.items()}
    shown |= {name: value for name, value in _common(wanted, environ).items() if name in shown}
    required = sorted(name for name, default in shown.items() if default is None)
    optional = {name: default for name, default in sorted(shown.items()) if default is not None}
    lines = ["Required Variables:"] if required else []
    lines += [f"  - {name}" for name in required]
    if optional:
        rows = "".join(f"  - {name}\t(defaults to {default})\n" for name, default in optional.items())
        lines += ["", "Optional Variables:", aligned(rows).removesuffix("\n")]
    return "".join(f"{line}\n" for line in [*lines, ""])


def _common(wanted: Wanted, environ: Mapping[str, str]) -> dict[str, str]:
    """What the command line says about the variables that every template may use."""
    counts = {
        "CONTROL_PLANE_MACHINE_COUNT": (wanted.control_plane_count, "1"),
        "WORKER_MACHINE_COUNT": (wanted.worker_count, "0"),
    }
    known = {
        "CLUSTER_NAME": wanted.name,
        "NAMESPACE": wanted.namespace or "current Namespace in the KubeConfig file",
        **{name: environ.get(name, usual) if n is None else str(n) for name, (n, usual) in counts.items()},
    }
    version = wanted.kubernetes_version or environ.get("KUBERNETES_VERSION")
    return known if version is None else {**known, "KUBERNETES_VERSION": version}


def _quoted(text: str) -> str:
    """In quotes, as they are written in Go, unless there are some."""
    if not text or text.startswith('"'):
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    number = ord(letter)
    if number < 0x80 or "\udc80" <= letter <= "\udcff":  # the latter stand for bytes that are not UTF-8
        return f"\\x{number & 0xFF:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"

"""The documentation that the provider contract asks of a provider, written from its files.

It is a beginning: what a variable means, only its author knows, and there is a place for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mooring.clusterctl.lint.contents import definitions_in
from mooring.clusterctl.lint.linked import components_closed, templates_closed
from mooring.clusterctl.lint.material import TEMPLATE, File, NothingToLookAt, Release
from mooring.clusterctl.metadata import Metadata
from mooring.clusterctl.objects import text_at, texts_at
from mooring.clusterctl.providers import MOVE_HIERARCHY_LABEL, MOVE_LABEL, ProviderType

_COMMON = {
    "CLUSTER_NAME": "the argument of `generate cluster`",
    "NAMESPACE": "`--target-namespace`",
    "KUBERNETES_VERSION": "`--kubernetes-version`",
    "CONTROL_PLANE_MACHINE_COUNT": "`--control-plane-machine-count`",
    "WORKER_MACHINE_COUNT": "`--worker-machine-count`",
}
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#])")


def documented(release: Release) -> str:
    """Markdown about one release."""
    return "\n".join(_lines(release)) + "\n"


def _lines(release: Release) -> Iterator[str]:
    provider = release.provider
    yield f"# {_plain(provider.label)} {_plain(release.version)}"
    metadata = release.metadata
    if isinstance(metadata, Metadata) and (contract := metadata.contract_of(release.version)):
        yield ""
        yield f"Contract of Cluster API: {_plain(contract)}."
    yield from _variables("Variables of the components", release.components)
    if release.provider.type is ProviderType.INFRASTRUCTURE or release.templates:
        yield from _flavors(release)
    for file in (*release.templates, *release.cluster_classes):
        yield from _variables(f"Variables of {_plain(file.name)}", file)
    yield from _left_out(release)
    yield from _listed("Links to what is elsewhere", list(_links(release)), "There are none.")


def _variables(title: str, file: File | None) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    if file is None or not file.variables:
        yield "There are none."
        return
    yield "| name | default | meaning |"
    yield "| --- | --- | --- |"
    for name, default in file.variables.items():
        shown = "required" if default is None else _code(default)
        yield f"| {_code(name)} | {shown} | {f'set by {_COMMON[name]}' if name in _COMMON else 'TODO'} |"


def _flavors(release: Release) -> Iterator[str]:
    yield ""
    yield "## Templates"
    yield ""
    if not release.templates:
        yield "There are none."
        return
    yield "| flavor | file | objects |"
    yield "| --- | --- | --- |"
    for file in release.templates:
        flavor = file.name.removeprefix(TEMPLATE).removesuffix(".yaml").removeprefix("-")
        kinds = sorted({text_at(one, "kind") for one in file.objects} - {""})
        shown = _code(f"--flavor {flavor}") if flavor else "(default)"
        yield f"| {shown} | {_code(file.name)} | {', '.join(map(_plain, kinds)) or _plain(file.trouble)} |"


def _left_out(release: Release) -> Iterator[str]:
    told = []
    for one in definitions_in(release.objects_if_any):
        kind = text_at(one, "spec", "names", "kind")
        moved = texts_at(one, "labels").keys() & {MOVE_LABEL, MOVE_HIERARCHY_LABEL}
        if text_at(one, "spec", "scope") == "Cluster":
            how = "copied, and stays at the source" if moved else "not moved: it belongs to no namespace"
            told.append(f"{kind}: {how}")
        elif not moved:
            told.append(f"{kind}: moved only if owner references lead from it to a Cluster or ClusterResourceSet")
    yield from _listed("What `move` leaves out", told, "Every object of this provider is moved.")
    yield ""
    yield "TODO: the steps to move what is left out."


def _links(release: Release) -> Iterator[str]:
    try:
        yield from components_closed(release)
    except NothingToLookAt as nothing:
        yield str(nothing)
    yield from templates_closed(release)


def _listed(title: str, lines: Sequence[str], otherwise: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from [f"- {_plain(line)}" for line in lines] or [otherwise]


def _plain(text: str) -> str:
    """A text that a reader of Markdown shows as it is: no markup of its own, and on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")

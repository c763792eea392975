"""Which Go programs Mooring runs, and the recipe that each set of them is made from.

A toolset is data: its programs, the directory whose ``go.mod`` pins every version, what is stamped into the
programs, and where official releases of them lie. Nothing here touches the network or starts a process;
`releases` and `gobuild` carry out what is written here, and `binaries` decides which of them is asked. A
further set of tools is one more `Toolset` value and one more directory with a ``go.mod``.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mooring.controlplane.errors import BinariesError

# Static programs without paths of the building machine or debug tables: the same everywhere, and a third
# smaller.
BUILD_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
LINK_FLAGS = ("-s", "-w")

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_GO_DIRECTIVE = re.compile(r"^go\s+(\d+\.\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_REQUIREMENT = re.compile(r"^(?:require)?\s+(?P<module>\S+)\s+(?P<version>v\d\S*)", re.MULTILINE)
_VERSION = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)\.(?P<patch>\d+)")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A string variable that the linker sets. The value may hold {version}, {major}, {minor} and {patch}."""

    variable: str
    value: str


@dataclass(frozen=True, slots=True)
class Release:
    """Where an official release lies. The addresses may hold {version}, {arch} and {name}.

    The checksum file is either a bare sha256 or a list of lines ``<sha256>  <file name>``. With a member, the
    file is a gzipped tar archive, and the program is that member of it.
    """

    address: str
    checksum: str
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One program: what it is called, what it is compiled from, and how it is asked for its version."""

    name: str
    package: str
    module: str
    stamps: tuple[Stamp, ...] = ()
    release: Release | None = None
    version_arguments: tuple[str, ...] = ("--version",)


@dataclass(frozen=True, slots=True)
class NamedDirectory:
    """An environment variable with which the user names a directory of programs.

    A complete directory must hold every program of the toolset. An incomplete one is filled up from other
    sources.
    """

    variable: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Toolset:
    """Programs that are pinned, fetched and kept together. The version of `module` names their directory."""

    name: str
    recipe_directory: Path
    module: str
    tools: tuple[Tool, ...]
    named_directories: tuple[NamedDirectory, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a toolset's ``go.mod`` says today. The digest changes with anything that changes the programs."""

    go_version: str
    version: str
    versions: Mapping[str, str]
    digest: str


def tools_directory() -> Path:
    """The recipes: packaged beside this module in a wheel, at the top of the project in a checkout."""
    packaged = Path(__file__).parent / "tools"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "tools"


def read_recipe(toolset: Toolset) -> Recipe:
    """Read the pinned versions. There is no second place that holds them."""
    path = toolset.recipe_directory / "go.mod"
    try:
        text = path.read_text()
    except OSError as error:
        raise BinariesError(f"Cannot read {path}: {error.strerror}. Install Mooring anew.") from error
    directive = _GO_DIRECTIVE.search(text)
    if directive is None:
        raise BinariesError(f"{path} does not say which Go version it needs (a line such as 'go 1.26.0').")
    pinned = {match["module"]: match["version"] for match in _REQUIREMENT.finditer(text)}
    missing = {toolset.module, *(tool.module for tool in toolset.tools)} - pinned.keys()
    if missing:
        raise BinariesError(f"{path} pins no version of {', '.join(sorted(missing))}.")
    versions = {tool.name: pinned[tool.module] for tool in toolset.tools}
    return Recipe(
        go_version=directive[1],
        version=pinned[toolset.module],
        versions=versions,
        digest=_digest(toolset, versions),
    )


def linker_flags(tool: Tool, version: str) -> str:
    """The value of ``-ldflags`` for this program at this version."""
    numbers = _VERSION.match(version)
    fields = {"version": version, **(numbers.groupdict() if numbers else {})}
    stamps = (f"-X {stamp.variable}={stamp.value.format_map(fields)}" for stamp in tool.stamps)
    return " ".join((*LINK_FLAGS, *stamps))


def operating_system() -> str:
    """The operating system, in Go's words."""
    return "windows" if sys.platform == "win32" else sys.platform


def architecture() -> str:
    """The processor architecture, in Go's words."""
    machine = platform.machine().lower()
    try:
        return _ARCHITECTURES[machine]
    except KeyError:
        raise BinariesError(
            f"Mooring fetches programs for amd64 and arm64, and this machine is {machine!r}. "
            f"Build them yourself and name their directory in MOORING_BINARIES."
        ) from None


def _digest(toolset: Toolset, versions: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        path = toolset.recipe_directory / name
        digest.update(path.read_bytes() if path.is_file() else b"")
    # A home directory can be shared by machines of different kinds, so the machine's kind is part of the
    # recipe.
    flags: list[object] = [operating_system(), platform.machine(), BUILD_FLAGS]
    flags += [(tool.name, tool.package, linker_flags(tool, versions[tool.name])) for tool in toolset.tools]
    digest.update(repr(flags).encode())
    return digest.hexdigest()[:12]


_KUBERNETES_STAMPS = (
    Stamp("k8s.io/component-base/version.gitVersion", "{version}"),
    Stamp("k8s.io/component-base/version.gitMajor", "{major}"),
    Stamp("k8s.io/component-base/version.gitMinor", "{minor}"),
)
_KUBERNETES_RELEASE = Release(
    address="https://dl.k8s.io/release/{version}/bin/linux/{arch}/{name}",
    checksum="https://dl.k8s.io/release/{version}/bin/linux/{arch}/{name}.sha256",
)
_ETCD_RELEASE = Release(
    address="https://github.com/etcd-io/etcd/releases/download/{version}/etcd-{version}-linux-{arch}.tar.gz",
    checksum="https://github.com/etcd-io/etcd/releases/download/{version}/SHA256SUMS",
    member="etcd-{version}-linux-{arch}/etcd",
)


def _kubernetes_tool(name: str, version_arguments: tuple[str, ...] = ("--version",)) -> Tool:
    return Tool(
        name=name,
        package=f"k8s.io/kubernetes/cmd/{name}",
        module="k8s.io/kubernetes",
        stamps=_KUBERNETES_STAMPS,
        release=_KUBERNETES_RELEASE,
        version_arguments=version_arguments,
    )


KUBERNETES = Toolset(
    name="kubernetes",
    recipe_directory=tools_directory() / "kubernetes",
    module="k8s.io/kubernetes",
    tools=(
        Tool(
            name="etcd",
            package="go.etcd.io/etcd/server/v3",
            module="go.etcd.io/etcd/server/v3",
            release=_ETCD_RELEASE,
        ),
        _kubernetes_tool("kube-apiserver"),
        _kubernetes_tool("kube-controller-manager"),
        _kubernetes_tool("kubectl", ("version", "--client")),
    ),
    named_directories=(
        NamedDirectory("MOORING_BINARIES", complete=True),
        # What setup-envtest and friends leave has no kube-controller-manager.
        NamedDirectory("KUBEBUILDER_ASSETS", complete=False),
    ),
)

_CLUSTER_API = "sigs.k8s.io/cluster-api"


def _cluster_api_stamps(package: str) -> tuple[Stamp, ...]:
    values = {"gitVersion": "{version}", "gitMajor": "{major}", "gitMinor": "{minor}"}
    return tuple(Stamp(f"{package}.{variable}", value) for variable, value in values.items())


def _clusterctl(*, stamped: str) -> Tool:
    """The program, and the package that it keeps its version in."""
    return Tool(
        name="clusterctl",
        package=f"{_CLUSTER_API}/cmd/clusterctl",
        module=_CLUSTER_API,
        stamps=_cluster_api_stamps(stamped),
        version_arguments=("version",),
    )


# Cluster API's own programs. Nothing that Mooring does needs them: tests hold ours against them.
CLUSTER_API = Toolset(
    name="cluster-api",
    recipe_directory=tools_directory() / "capi",
    module=_CLUSTER_API,
    tools=(
        _clusterctl(stamped=f"{_CLUSTER_API}/version"),
        Tool(
            name="core",
            package=f"{_CLUSTER_API}/core",
            module=_CLUSTER_API,
            stamps=_cluster_api_stamps(f"{_CLUSTER_API}/version"),
        ),
        Tool(
            name="envsubst",
            package="github.com/drone/envsubst/v2/cmd/envsubst",
            module="github.com/drone/envsubst/v2",
        ),
    ),
)
CLUSTER_API_V1ALPHA3 = Toolset(
    name="cluster-api-v1alpha3",
    recipe_directory=tools_directory() / "capi-v1alpha3",
    module=_CLUSTER_API,
    tools=(_clusterctl(stamped=f"{_CLUSTER_API}/cmd/version"),),
)
TOOLSETS = {one.name: one for one in (KUBERNETES, CLUSTER_API, CLUSTER_API_V1ALPHA3)}

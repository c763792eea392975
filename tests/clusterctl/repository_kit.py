"""What the tests of repositories share: small local repositories, and ours beside a judge on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mooring.clusterctl.config import Configuration, read_configuration
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.providers import Provider, ProviderType
from mooring.clusterctl.repository import ProviderRepository, open_repository

Runner = Callable[..., Any]  # the fixtures `judge` and `old_judge`
LABEL = "infrastructure-shipyard"
COMPONENTS = "components.yaml"


def metadata(*series: tuple[Any, Any, str]) -> str:
    """metadata.yaml of these series, written as given: a number may be text that YAML reads as one."""
    rows = "".join(f"- {{major: {major}, minor: {minor}, contract: {contract}}}\n" for major, minor, contract in series)
    return f"apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n{rows}"


def components(note: str = "") -> str:
    """Components that say where they come from."""
    annotated = {"name": "shipyard-system", "annotations": {"note": note}}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": annotated})


def files_of(version: str, *series: tuple[Any, Any, str], **more: str) -> dict[str, str]:
    """The files of a release."""
    return {"metadata.yaml": metadata(*series), COMPONENTS: components(version), **more}


def shipyard(url: str) -> Provider:
    return Provider("shipyard", ProviderType.INFRASTRUCTURE, url)


def configured(tmp_path: Path, settings: Mapping[str, Any] | None = None, **environ: str) -> Configuration:
    """A configuration without a file, in an environment of its own."""
    return Configuration(dict(settings or {}), {**surroundings(tmp_path), **environ})


def surroundings(home: Path) -> dict[str, str]:
    """An environment in which only this home can be found, and the network is not asked for versions."""
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "GOPROXY": "off"}


async def opened(url: str, tmp_path: Path, *, compat: str = "", **environ: str) -> ProviderRepository:
    return await open_repository(shipyard(url), configured(tmp_path, **environ), compat=compat)


@dataclass(frozen=True)
class Local:
    """Local repositories in a folder, one for each case."""

    folder: Path

    def repository(self, about: str, versions: Mapping[str, str | None], at: str = "latest") -> str:
        """Write releases with these metadata (None: without any); the address of the repository."""
        base = self.folder / about.replace(" ", "-")
        for version, text in versions.items():
            release = base / LABEL / version
            release.mkdir(parents=True)
            (release / COMPONENTS).write_text(components(version))
            if text is not None:
                (release / "metadata.yaml").write_text(text)
        return f"{base}/{LABEL}/{at}/{COMPONENTS}"

    def config(self, url: str) -> Path:
        file = self.folder / "clusterctl.yaml"
        providers = [{"name": "shipyard", "type": "InfrastructureProvider", "url": url}]
        file.write_text(yaml.safe_dump({"providers": providers}))
        return file


def compared(
    judge: Runner, local: Local, urls: Mapping[str, str], version: str = "", *, old: bool = False
) -> list[str]:
    """Which version judge and ours choose at each address, or that they refuse; the differences in words."""
    differences = []
    for about, url in urls.items():
        config = local.config(url)
        theirs = _described(judge, config, version, old=old)
        ours = asyncio.run(_chosen(config, judge.home, version, compat="v1alpha3" if old else ""))
        if theirs != ours:
            differences.append(f"{about}: the judge says {theirs!r}, and we say {ours!r}")
    return differences


def _described(judge: Runner, config: Path, version: str, *, old: bool) -> str:
    named = f"shipyard:{version}" if version else "shipyard"
    words = ("config", "provider") if old else ("generate", "provider", "--describe")
    return described_version(judge(*words, "--infrastructure", named, config=config))


def described_version(ended: Any) -> str:
    """The version in a description of a provider; nothing if the run failed."""
    lines = [line.split(None, 1)[1] for line in ended.out.splitlines() if line.startswith("Version:")]
    return lines[0].strip() if ended.code == 0 else ""


async def _chosen(config: Path, home: Path, version: str, *, compat: str) -> str:
    try:
        configuration = read_configuration(str(config), surroundings(home))
        provider = configuration.provider("shipyard", ProviderType.INFRASTRUCTURE)
        repository = await open_repository(provider, configuration, compat=compat)
        if not compat:
            await repository.contract(version)
        await repository.components(version)
        return (version or repository.default_version).strip()  # the judge's description is padded
    except ClusterctlError:
        return ""

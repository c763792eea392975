"""What the tests of components share: files of components one after another, made fit by a judge and by ours.

``Desk.differences`` has both read the same file under the same flags, and says in words where they differ: in how it
ended, in the documents and their order, or in the variables that are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from releases import COMPONENTS, Object
from repository_kit import metadata

from mooring.clusterctl.providers import ProviderType

if TYPE_CHECKING:
    from runners import Ended, Runner

NAMED = "infrastructure-shipyard"
HOME = "shipyard-system"
RBAC = "rbac.authorization.k8s.io"
MANAGER = "registry.example.com/shipyard/manager:v1.0.0"
_FILE = COMPONENTS[ProviderType.INFRASTRUCTURE]
_MISSING = re.compile(r"value for variables \[([^\]]*)\]")


@dataclass(frozen=True)
class Case:
    """A file of components, and how it is asked for."""

    file: str | Sequence[Object]
    flags: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the configuration
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.file if isinstance(self.file, str) else written(self.file)


class _Plain(yaml.SafeDumper):
    """Without anchors, which nobody writes into components by hand."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def written(objects: Sequence[Object]) -> str:
    return "---\n".join(yaml.dump(one, Dumper=_Plain, sort_keys=False) for one in objects)


@dataclass(frozen=True)
class Desk:
    """A judge and ours, and a repository whose one release is written anew for each case."""

    judge: Runner
    ours: Runner
    folder: Path
    contract: str = "v1beta2"
    verb: tuple[str, ...] = ("generate", "provider")
    ours_only: tuple[str, ...] = ()  # flags that the judge does not have

    def both(self, case: Case) -> tuple[Ended, Ended]:
        """How it ended for the judge, and for ours."""
        config = self._written(case)
        flags = (*self.verb, "--infrastructure", "shipyard:v1.0.0", *case.flags)
        theirs = self.judge(*flags, config=config, **case.environ)
        return theirs, self.ours(*flags, *self.ours_only, config=config, **case.environ)

    def differences(self, cases: Mapping[str, Case], *, refused: Sequence[str] = ()) -> list[str]:
        """In words. Those ``refused`` must have failed, and all others not: a case must try what it is meant to."""
        found: list[str] = []
        for name, case in cases.items():
            theirs, mine = self.both(case)
            found += [f"{name}: {line}" for line in unlike(theirs, mine)]
            if bool(theirs.code) != (name in refused):
                found.append(f"{name}: the judge ended with {theirs.code} {theirs.err.strip()[-200:]}")
            if mine.code and len(mine.err.strip().splitlines()) != 1:
                found.append(f"{name}: we said more than one sentence, {mine.err}")
        return found

    def _written(self, case: Case) -> Path:
        release = self.folder / NAMED / "v1.0.0"
        release.mkdir(parents=True, exist_ok=True)
        (release / _FILE).write_text(case.text)
        (release / "metadata.yaml").write_text(metadata((1, 0, self.contract)))
        config = self.folder / "clusterctl.yaml"
        providers = [{"name": "shipyard", "type": "InfrastructureProvider", "url": str(release / _FILE)}]
        config.write_text(yaml.safe_dump({"providers": providers, **case.settings}))
        return config


def unlike(theirs: Ended, mine: Ended) -> Iterator[str]:
    judged, made = ([] if one.code else documents(one) for one in (theirs, mine))
    if theirs.code != mine.code:
        yield f"the judge ended with {theirs.code} ({theirs.err.strip()[-200:]}), we with {mine.code} ({mine.err})"
    elif theirs.code:
        if missing(theirs) != missing(mine):
            yield f"the judge misses {missing(theirs)}, we miss {missing(mine)}"
    elif [title(one) for one in judged] != [title(one) for one in made]:
        yield f"the judge has {list(map(title, judged))}, we have {list(map(title, made))}"
    else:
        for one, other in zip(judged, made, strict=True):
            yield from (f"{title(one)}{line}" for line in differing(one, other))


def documents(ended: Ended) -> list[Any]:
    """What was printed, read by the quicker of YAML's readers."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [one for one in yaml.load_all(ended.out, Loader=loader) if one is not None]


def missing(ended: Ended) -> set[str]:
    found = _MISSING.search(ended.err)
    return set(re.findall(r"[^\s,\"]+", found[1])) if found else set()


def title(one: Any) -> str:
    """Its kind and name, as far as it has any."""
    head = one.get("metadata") if isinstance(one, dict) else None
    name = head.get("name") if isinstance(head, dict) else head
    return f"{one.get('kind')} {name}" if isinstance(one, dict) else repr(one)


def differing(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two values differ. A field that is missing is not one that is null; numbers are compared as numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if key in one and key in other:
                yield from differing(one[key], other[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}: {f'the judge has {one[key]!r}' if key in one else f'we have {other[key]!r}'}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differing(left, right, f"{path}[{place}]")
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield f"{path}: the judge has {one!r}, we have {other!r}"


def namespace(name: str = HOME, **metadata_: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata_}}


def thing(api_version: str, kind: str, name: str, *, home: str | None = HOME, **more: Any) -> Object:
    """An object; ``home=None``: without a namespace."""
    inside = {} if home is None else {"namespace": home}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **inside}, **more}


def workload(
    kind: str = "Deployment", name: str = "manager", *, api_version: str = "apps/v1", home: str = HOME, **pod: Any
) -> Object:
    """A Deployment or DaemonSet; what is given goes into its Pods."""
    labels = {"control-plane": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container()], **pod}}
    return thing(api_version, kind, name, home=home, spec={"selector": {"matchLabels": labels}, "template": template})


def container(name: str = "manager", image: str = MANAGER, **more: Any) -> Object:
    return {"name": name, "image": image, **more}


def binding(kind: str, name: str, subjects: Any, *, role: str = "manager-role", **more: Any) -> Object:
    home = None if kind == "ClusterRoleBinding" else HOME
    reference = {"apiGroup": RBAC, "kind": kind.removesuffix("Binding"), "name": role}
    return thing(f"{RBAC}/v1", kind, name, home=home, roleRef=reference, subjects=subjects, **more)


def account(name: str = "manager", home: str = HOME) -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": home}

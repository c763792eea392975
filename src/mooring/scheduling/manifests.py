"""Objects out of files: checked as the API server would check them, and read into the types.

No server is asked, so this is where a slip in a file has to be found: every problem names the file, the document and
the field. The schema is the one that the server is given (``mooring.api.schema``); of its rules in CEL, those that
scheduling depends on are repeated here or in ``asking``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.durations import seconds_of
from mooring.api.kinds import Kind
from mooring.api.names import name_uuid
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant, ClusterRequestSpec
from mooring.api.selectors import LabelSelector
from mooring.api.versions import Version
from mooring.scheduling.checking import schema_problems, shown
from mooring.scheduling.traits import malformed

K = TypeVar("K", bound=Kind)

DEFAULT_NAMESPACE: Final = "default"

_READ: Final[tuple[type[Kind], ...]] = (
    ClusterRequest,
    Purpose,
    ClusterProfile,
    Cluster,
    TraitEquivalence,
    ClusterProvider,
)
# What a dump of a live cluster also holds, and no decision depends on.
_LEFT_OUT: Final[tuple[type[Kind], ...]] = (ClusterRequestGrant, AccessRequest)
_BY_KIND: Final = {one.API.kind: one for one in (*_READ, *_LEFT_OUT)}
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME: Final = 253


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a file, and where it stands."""

    where: str  # "requests.yaml, document 3"
    content: Mapping[str, Any]


class BadManifest(ValueError):
    """Documents that cannot be used: all that is wrong with them."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Manifests:
    """Everything that the files hold, each kind in the order of the files."""

    requests: list[ClusterRequest] = field(default_factory=list)
    purposes: list[Purpose] = field(default_factory=list)
    profiles: list[ClusterProfile] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    equivalences: list[TraitEquivalence] = field(default_factory=list)
    providers: list[ClusterProvider] = field(default_factory=list)

    def add(self, thing: Kind) -> None:
        match thing:
            case ClusterRequest():
                self.requests.append(thing)
            case Purpose():
                self.purposes.append(thing)
            case ClusterProfile():
                self.profiles.append(thing)
            case Cluster():
                self.clusters.append(thing)
            case TraitEquivalence():
                self.equivalences.append(thing)
            case ClusterProvider():
                self.providers.append(thing)


def manifests(documents: Iterable[Document]) -> Manifests:
    """Read them all, or raise with everything that is wrong."""
    found = Manifests()
    problems: list[str] = []
    known: dict[tuple[str, str, str], str] = {}
    uids: dict[str, str] = {}
    for document in documents:
        try:
            thing = read(document)
            metadata = thing.metadata
            key = (thing.API.kind, metadata.namespace, metadata.name)
            if key in known:
                named = "/".join(filter(None, key[1:]))
                raise BadManifest([f"{document.where}: {key[0]} {named} is already in {known[key]}; keep one of them"])
            if metadata.uid in uids:
                raise BadManifest(
                    [f"{document.where}: metadata.uid: is also that of the object in {uids[metadata.uid]}"]
                )
            known[key] = uids[metadata.uid] = document.where
            found.add(thing)
        except BadManifest as error:
            problems += error.problems
    if problems:
        raise BadManifest(problems)
    return found


def read(document: Document) -> Kind:
    """One document as an object, with a uid if it had none."""
    kind = _kind(document)
    where = f"{document.where}: {kind.API.kind} {_named(document)}"
    problems = [f"{where}: {problem}" for problem in _metadata_problems(kind, document.content)]
    problems += [f"{where}: {problem}" for problem in schema_problems(kind, document.content)]
    if problems:
        raise BadManifest(problems)
    try:
        thing = msgspec.convert(_completed(kind, document.content), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadManifest([f"{where}: {_place(error)}"]) from None
    problems = [f"{where}: {problem}" for problem in _rule_problems(thing)]
    if problems:
        raise BadManifest(problems)
    return thing


def _kind(document: Document) -> type[Kind]:
    name, version = document.content.get("kind"), document.content.get("apiVersion")
    kind = _BY_KIND.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(one.API.kind for one in _READ)
        raise BadManifest([f"{document.where}: kind: {shown(name)} is not a kind that can be simulated ({known})"])
    if version != kind.API.api_version:
        raise BadManifest(
            [f"{document.where}: apiVersion: {shown(version)} has no {name}; it is in {kind.API.api_version}"]
        )
    return kind


def _named(document: Document) -> str:
    metadata = document.content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else "(without a name)"


def _completed(kind: type[Kind], content: Mapping[str, Any]) -> dict[str, Any]:
    """With the namespace and the uid that a server would have given it; the uid is always the same."""
    metadata = dict(content["metadata"])
    if kind.API.namespaced:
        metadata["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    else:
        metadata.pop("namespace", None)
    if not metadata.get("uid"):
        metadata["uid"] = name_uuid(kind.API.kind, metadata.get("namespace", ""), metadata["name"])
    return {**{key: value for key, value in content.items() if value is not None}, "metadata": metadata}


def _metadata_problems(kind: type[Kind], content: Mapping[str, Any]) -> list[str]:
    metadata = content.get("metadata")
    if not isinstance(metadata, dict):
        return ["metadata: is missing, and with it the name"]
    problems = []
    for key in ("name", "namespace") if kind.API.namespaced else ("name",):
        value = metadata.get(key)
        if value in (None, "") and key == "namespace":
            continue
        if value in (None, ""):
            problems.append(f"metadata.{key}: is missing")
        elif not isinstance(value, str) or _NAME.fullmatch(value) is None or len(value) > _LONGEST_NAME:
            problems.append(
                f"metadata.{key}: {shown(value)} is no name that Kubernetes takes; use lower-case letters, digits, "
                f"hyphens and dots"
            )
    for key in ("labels", "annotations"):
        marks = metadata.get(key)
        if marks is not None and not _are_texts(marks):
            problems.append(f"metadata.{key}: must be a map of texts (put numbers and true in quotes)")
    return problems


def _are_texts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(key, str) and isinstance(text, str) for key, text in value.items()
    )


# -- rules ----------------------------------------------------------------------------------------------------------


def _rule_problems(thing: Kind) -> list[str]:
    """What the server says in CEL, and what scheduling would stumble over."""
    match thing:
        case ClusterRequest(spec=spec):
            return _request_problems(spec)
        case Purpose(spec=spec):
            wrong = malformed(spec.traits, "spec.traits")
            problems = [] if wrong is None else [wrong]
            if spec.dedicated and spec.tenancy_count:
                problems.append("spec.tenancyCount: must be 0 or absent if spec.dedicated is true")
            return problems + _selector_problems(spec.selector)
        case ClusterProfile(spec=spec):
            bad = [one.version for one in spec.supported_versions if not _is_version(one.version)]
            problems = [f"spec.supportedVersions: {shown(one)} is not a version such as 1.33.3" for one in bad]
            if any(bool(one.trait) == bool(one.name) for one in spec.supported_traits):
                problems.append("spec.supportedTraits: each entry needs exactly one of trait and name")
            return problems
        case TraitEquivalence(spec=equivalence):
            same = len(set(equivalence.traits)) != len(equivalence.traits)
            return ["spec.traits: has a trait twice"] if same else []
    return []


def _request_problems(spec: ClusterRequestSpec) -> list[str]:
    problems = []
    if bool(spec.purpose) == bool(spec.purposes):
        problems.append("spec.purpose: exactly one of spec.purpose and spec.purposes must be set")
    wrong = malformed(spec.traits, "spec.traits")
    problems += [] if wrong is None else [wrong]
    if spec.ttl and seconds_of(spec.ttl) <= 0:
        problems.append("spec.ttl: must be longer than nothing, such as 72h")
    return problems


def _selector_problems(selector: LabelSelector | None) -> list[str]:
    if selector is None:
        return []
    for one in selector.match_expressions:
        if one.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            return [
                f"spec.selector.matchExpressions: {shown(one.operator)} is no operator; use In, NotIn, Exists or "
                f"DoesNotExist"
            ]
        needs = one.operator in ("In", "NotIn")
        if needs != bool(one.values):
            told = "are needed for" if needs else "cannot go with"
            return [f"spec.selector.matchExpressions: values {told} {one.operator}"]
    return []


def _is_version(text: str) -> bool:
    try:
        Version.parse(text)
    except ValueError:
        return False
    return True


def _place(error: Exception) -> str:
    problem, _, place = str(error).partition(" - at ")
    return f"{place.strip('`').removeprefix('$.') or 'object'}: {problem}"

"""From what is ordered to how the processes are run: pure functions, whose refusals name the field and the remedy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from mooring.api.clusters import SupportedVersion
from mooring.api.kinds import EMPTY
from mooring.api.traits import WORKERLESS
from mooring.api.versions import Version
from mooring.controlplane.plane import Executables
from mooring.controlplane.versions import VARIABLE
from mooring.providers.local.config import LocalConfig, Resources
from mooring.providers.local.flags import refusals
from mooring.providers.local.light import LIGHT_ENVIRONMENT, LIGHT_FLAGS
from mooring.providers.local.reasons import Reason
from mooring.providers.sdk.provider import Offer, Refused


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster must not forget: the newest version that has had its data, and how that one was run."""

    version: str
    flags: Mapping[str, str] = EMPTY
    environment: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How a cluster is to be run; what differs from how it runs is a reason to start it anew."""

    version: str
    executables: Executables
    flags: Mapping[str, str]
    environment: Mapping[str, str]

    @property
    def memory(self) -> Memory:
        return Memory(version=self.version, flags=self.flags, environment=self.environment)


def offer(config: LocalConfig, at_hand: Mapping[str, Executables], *, left: Collection[str] = ()) -> Offer:
    """The one profile of a configuration. Versions that are ``left`` from before are there for those who have them."""
    spec = config.spec
    if wrong := refusals(spec.api_server_flags):
        raise Refused(f"{'; '.join(wrong)}.", reason=Reason.BAD_FLAG)
    for number, wanted in enumerate(spec.versions):
        if _plain(wanted.version) not in at_hand:
            raise Refused(_unknown(f"spec.versions[{number}]", wanted.version, at_hand), reason=Reason.UNKNOWN_VERSION)
    newest_first = sorted(at_hand, key=Version.parse, reverse=True)
    everything = (SupportedVersion(version=version, deprecated=version in left) for version in newest_first)
    versions = spec.versions or tuple(everything)
    traits = dict.fromkeys((WORKERLESS, *(trait.key for trait in spec.traits)))
    return Offer(versions=versions, traits=tuple(traits), max_clusters=spec.max_clusters)


def wish(config: LocalConfig, version: str, at_hand: Mapping[str, Executables]) -> Wish:
    """How a cluster of this configuration and version is run."""
    if wrong := refusals(config.spec.api_server_flags):
        raise Refused(f"{'; '.join(wrong)}.", reason=Reason.BAD_FLAG)
    plain = _plain(version)
    if plain not in at_hand:
        raise Refused(_unknown("spec.kubernetes.version", version, at_hand), reason=Reason.UNKNOWN_VERSION)
    return Wish(
        version=plain,
        executables=at_hand[plain],
        flags=LIGHT_FLAGS | dict(config.spec.api_server_flags),
        environment=LIGHT_ENVIRONMENT | _bounds(config.spec.resources),
    )


def as_before(memory: Memory | None, at_hand: Mapping[str, Executables]) -> Wish | None:
    """How a cluster was run when it last was; None if that is not known, or not possible any more."""
    if memory is None or memory.version not in at_hand:
        return None
    return Wish(
        version=memory.version,
        executables=at_hand[memory.version],
        flags=memory.flags,
        environment=memory.environment,
    )


def next_version(running: str, wanted: str) -> tuple[str, Refused | None]:
    """Which version to run, and why not the wanted one: data cannot go back, nor skip a minor version."""
    if not running or running == _plain(wanted):
        return _plain(wanted), None
    now, then = Version.parse(running), Version.parse(wanted)
    if then < now:
        why = f"The cluster runs {running}, and its data cannot be read by the older {wanted}"
        return running, Refused(f"{why}. Set spec.kubernetes.version to {running} or newer.", reason=Reason.DOWNGRADE)
    if then.numbers[0] != now.numbers[0] or then.numbers[1] > now.numbers[1] + 1:
        why = f"The cluster runs {running}; Kubernetes is upgraded one minor version at a time, and not to {wanted}"
        return running, Refused(
            f"{why} at once. Set spec.kubernetes.version to what comes next.", reason=Reason.UPGRADE
        )
    return _plain(wanted), None


def _plain(version: str) -> str:
    return version.removeprefix("v")


def _unknown(field: str, version: str, at_hand: Mapping[str, Executables]) -> str:
    here = ", ".join(sorted(at_hand, key=Version.parse))
    return (
        f"{field} is {version}, and the programs at hand are of {here}. Choose one of these, or name a directory with "
        f"its programs in {VARIABLE}."
    )


def _bounds(resources: Resources) -> dict[str, str]:
    """Go's own bounds, in its words."""
    memory, cpus = resources.memory, resources.cpus
    return ({"GOMEMLIMIT": f"{memory}B"} if memory else {}) | ({"GOMAXPROCS": str(cpus)} if cpus else {})

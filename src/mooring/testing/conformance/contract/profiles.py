"""Profiles: how a provider says what can be had of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from mooring.api.versions import is_full
from mooring.kube import Object, key_of
from mooring.testing.conformance.asking import PROFILES
from mooring.testing.conformance.bench import provider_of
from mooring.testing.conformance.checks import Level, Stage, Unmet, check
from mooring.testing.conformance.trials import Trial

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

# Every chapter after this one begins with a provider that has published something.
PUBLISHED = "profiles.provider-ref"


async def published(trial: Trial, provider: str, expected: str = "a ClusterProfile with its providerRef") -> Object:
    """The first profile of a provider, once there is one."""
    bench = trial.bench

    async def ask() -> Object | None:
        return next(iter(await bench.profiles(provider)), None)

    async def seen() -> str:
        new = [one for one in await bench.profiles() if key_of(one).name not in bench.found_before]
        told = ", ".join(f"{key_of(one).name} of {provider_of(one)!r}" for one in new)
        return f"no profile of {provider!r}; published since the beginning: {told or 'nothing'}"

    return await trial.asks(
        ask, expected, seen, "Fill spec.providerRef with what --provider-name says; is there a configuration for it?"
    )


async def _at_work(trial: Trial) -> None:
    """The provider under its first name."""
    if trial.bench.subject.is_ours_to_start:
        await trial.bench.start(trial.bench.first)


@check(
    "profiles.at-least-one",
    Level.MUST,
    "A provider that is configured publishes at least one ClusterProfile.",
    needs=["program.init"],
)
async def publishes_something(trial: Trial) -> None:
    bench = trial.bench
    await trial.once("the provider at work", _at_work)

    async def ask() -> bool:
        others = {bench.second, bench.third}
        new = [one for one in await bench.profiles() if key_of(one).name not in bench.found_before]
        return any(provider_of(one) not in others for one in new) or bool(await bench.profiles(bench.first))

    async def seen() -> str:
        said = [one.last_words() for one in bench.instances.values()]
        return f"no new ClusterProfile; its last words: {'; '.join(said)}" if said else "none"

    await trial.asks(ask, "a ClusterProfile", seen, "Is it configured? Its configuration is given with --config.")


@check(
    PUBLISHED,
    Level.MUST,
    "A profile's spec.providerRef is the name that the provider was given as --provider-name.",
    needs=["profiles.at-least-one"],
)
async def provider_is_named(trial: Trial) -> None:
    await published(trial, trial.bench.first)


async def _each(trial: Trial, look: Callable[[Object], str]) -> None:
    """Every profile of the provider; ``look`` tells what is wrong with one."""
    for profile in await trial.bench.profiles(trial.bench.first):
        if wrong := look(profile):
            raise Unmet(expected=f"the ClusterProfile {key_of(profile).name} to be in order", seen=wrong)


@check(
    "profiles.name",
    Level.MUST,
    "A profile's name has at most 63 characters and can be the value of a label: access requests carry it as one.",
    needs=[PUBLISHED],
)
async def name_fits_a_label(trial: Trial) -> None:
    def look(profile: Object) -> str:
        name = key_of(profile).name
        return "" if _LABEL_VALUE.fullmatch(name) else f"its name has {len(name)} characters, and fits no label"

    await _each(trial, look)


@check(
    "profiles.config-ref",
    Level.MUST,
    "A profile's spec.providerConfigRef is set, and can be the value of a label.",
    needs=[PUBLISHED],
)
async def config_is_named(trial: Trial) -> None:
    def look(profile: Object) -> str:
        name = (profile["spec"].get("providerConfigRef") or {}).get("name") or ""
        return "" if _LABEL_VALUE.fullmatch(name) else f"spec.providerConfigRef.name is {name!r}"

    await _each(trial, look)


@check(
    "profiles.versions-in-full",
    Level.MUST,
    "Each of a profile's spec.supportedVersions is a version in full, such as 1.33.3.",
    needs=[PUBLISHED],
)
async def versions_are_full(trial: Trial) -> None:
    def look(profile: Object) -> str:
        named = [str(one.get("version", "")) for one in profile["spec"].get("supportedVersions") or ()]
        wrong = [text for text in named if not _is_full(text)]
        return f"not in full: {', '.join(map(repr, wrong))}" if wrong else ""

    await _each(trial, look)


def _is_full(text: str) -> bool:
    try:
        return is_full(text)
    except ValueError:
        return False


@check(
    "profiles.versions",
    Level.SHOULD,
    "A profile names the versions that can be had: without any, nobody can ask for one.",
    needs=[PUBLISHED],
)
async def versions_are_named(trial: Trial) -> None:
    await _each(trial, lambda one: "" if one["spec"].get("supportedVersions") else "spec.supportedVersions is empty")


@check(
    "profiles.side-by-side",
    Level.MUST,
    "Two instances under different names each publish profiles of their own.",
    needs=[PUBLISHED],
    starts=True,
)
async def instances_have_their_own(trial: Trial) -> None:
    bench = trial.bench
    await trial.once("the second instance at work", _second)
    for name in (bench.second, bench.first):
        await published(trial, name, f"a ClusterProfile of {name}, beside those of the other instance")


async def _second(trial: Trial) -> None:
    bench = trial.bench
    instance = await bench.start(bench.second)
    try:
        await published(trial, bench.second)
    except Unmet as error:
        # A dead second instance is no reason for what others wait for from the first.
        bench.instances.pop(bench.second)
        await instance.kill()
        raise Unmet(
            expected=f"a ClusterProfile of {bench.second}, beside those of {bench.first}",
            seen=error.seen,
            remedy="Make the instance's name a part of its profiles' names: <environment>.<provider>.<config>.",
        ) from None


@check(
    "profiles.restored",
    Level.SHOULD,
    "A profile that somebody has deleted by hand is published again.",
    needs=[PUBLISHED],
    stage=Stage.ALONE,
    starts=True,  # nobody takes the profiles of a provider away that others may be using
)
async def deleted_profile_comes_back(trial: Trial) -> None:
    bench = trial.bench
    profile = await published(trial, bench.first)
    name, uid = key_of(profile).name, profile["metadata"]["uid"]
    await bench.client.delete(PROFILES, name)

    async def ask() -> bool:
        there: list[Object] = await bench.profiles(bench.first)
        return any(key_of(one).name == name and one["metadata"]["uid"] != uid for one in there)

    try:
        await trial.asks(ask, f"the ClusterProfile {name} to be there again", _nothing, "Watch your own profiles.")
    except Unmet:
        await bench.client.create(PROFILES, _anew(profile))  # others need it
        raise


async def _nothing() -> str:
    return "it is not"


def _anew(profile: Object) -> Object:
    kept = {name: text for name, text in profile["metadata"].items() if name in ("name", "labels", "annotations")}
    return {**profile, "metadata": kept}

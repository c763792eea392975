"""Profiles out of configuration: each configuration of ours is asked what can be had with it, and that is published.

A profile that is offered no more goes when no Cluster uses it; until then it takes no new ones. A configuration that
clusters are made by is held (``holding``), and goes when the last of them is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

import msgspec

from mooring.api.clusters import ClusterProfile, ClusterProfileSpec, SupportedVersion
from mooring.api.conditions import READY, Condition, Truth, found, with_condition
from mooring.api.kinds import Metadata, as_document
from mooring.api.marks import (
    ENVIRONMENT_LABEL,
    MANAGED_BY_LABEL,
    MANAGED_BY_MOORING,
    OPERATION_ANNOTATION,
    OPERATION_RECONCILE,
    VARIANT_ANNOTATION,
)
from mooring.api.references import LocalReference
from mooring.api.traits import SupportedTrait
from mooring.api.versions import is_full
from mooring.kube import Object, ObjectKey, key_of, typed
from mooring.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from mooring.providers.sdk.asking import ProviderFailed, asked
from mooring.providers.sdk.configs import ConfigStatus, access_rules_in, plain_resource, read_as
from mooring.providers.sdk.holding import Holding, with_metadata
from mooring.providers.sdk.naming import is_name, profile_name
from mooring.providers.sdk.provider import Offer, Refused
from mooring.providers.sdk.scrubbing import scrubbed
from mooring.providers.sdk.seen import Seen
from mooring.runtime import Manager, Outcome, TryAgain, Writer
from mooring.runtime.clock import timestamp
from mooring.runtime.predicates import is_deleting, operation_of

PUBLISHED, NAME_TAKEN, FAILED, BAD_OFFER = "Published", "ProfileNameTaken", "ProviderFailed", "OfferInvalid"

Looks = tuple[ClusterProfileSpec, tuple[str | None, ...], str | None]


class Publisher:
    """The reconciler of the configurations of one instance."""

    def __init__(self, manager: Manager, seen: Seen, holding: Holding) -> None:
        self._seen = seen
        self._holding = holding
        self._clock = manager.clock
        self._client = manager.client
        self._recorder = manager.recorder
        self._profiles = Writer(manager.client, typed(ClusterProfile), seen.profiles)
        self._kind = seen.provider.config
        self._configs = Writer(manager.client, plain_resource(self._kind), seen.configs)
        self.published: dict[str, Looks] = {}  # by name, as we last wrote it
        self.taken: dict[str, ObjectKey] = {}  # names that others have, and who waits for them

    async def reconcile(self, key: ObjectKey) -> Outcome:
        config = self._seen.configs.get(key)
        if config is None or not self._seen.is_ours(config):
            # It is another's, or gone: which a cache cannot prove.
            if config is not None or await self._is_gone(key):
                await self._retire(key.name, keep=())
            return Outcome.await_change()
        config = await self._noticed(config)
        if is_deleting(config):
            return await self._end(config)
        return await self._publish(await self._holding.settle(config))

    async def _publish(self, config: Object) -> Outcome:
        provider = self._seen.provider
        try:
            wanted = self._wanted(config, await asked(provider, provider.profiles(read_as(self._kind, config))))
            names = [await self._put(config, profile) for profile in wanted]
        except Refused as error:
            await self._report(config, Truth.FALSE, error.reason, str(error))
            return Outcome.requeue(after=provider.ask_again)
        except ProviderFailed as error:
            await self._report(config, Truth.UNKNOWN, FAILED, str(error))
            raise TryAgain(str(error)) from None
        await self._retire(key_of(config).name, keep=names)
        await self._report(config, Truth.TRUE, PUBLISHED, f"Published: {', '.join(sorted(names))}.")
        return Outcome.requeue(after=provider.ask_again)

    async def _end(self, config: Object) -> Outcome:
        left = await self._retire(key_of(config).name, keep=())
        if not left:
            await self._holding.let_go(config)
        return Outcome.await_change()

    # -- profiles -----------------------------------------------------------------------------------------------

    def _wanted(self, config: Object, offers: Sequence[Offer]) -> list[ClusterProfile]:
        """The profiles of a configuration; Refused if they cannot be published."""
        name = key_of(config).name
        if not is_name(name):
            _refuse(f"metadata.name: {name!r} is longer than the 63 characters of a label; choose a shorter one.")
        if not offers:
            _refuse("Nothing can be had with this configuration: the provider offers no profile.")
        for offer in offers:
            _check(offer)
        profiles = {one.metadata.name: one for one in (self._profile(config, offer) for offer in offers)}
        if len(profiles) < len(offers):
            _refuse("The provider offers two profiles of the same variant.")
        return list(profiles.values())

    def _profile(self, config: Object, offer: Offer) -> ClusterProfile:
        seen, config_name = self._seen, key_of(config).name
        parts = {"environment": seen.environment, "provider": seen.name, "config": config_name}
        name = profile_name(**parts, variant=offer.variant)
        spec = ClusterProfileSpec(
            provider_ref=LocalReference(name=seen.name),
            provider_config_ref=LocalReference(name=config_name),
            supported_versions=tuple(_version(one) for one in offer.versions),
            supported_traits=tuple(SupportedTrait(trait=one) for one in offer.traits),
            max_clusters=offer.max_clusters,
            access=access_rules_in(config),
        )
        notes = {VARIANT_ANNOTATION: offer.variant} if offer.variant else {}
        labels = {ENVIRONMENT_LABEL: seen.environment, MANAGED_BY_LABEL: MANAGED_BY_MOORING}
        return ClusterProfile(metadata=Metadata(name=name, labels=labels, annotations=notes), spec=spec)

    async def _put(self, config: Object, wanted: ClusterProfile) -> str:
        """Have the profile there as it is wanted. One of the same name that is not ours is left alone."""
        name = wanted.metadata.name
        there = self._seen.profiles.get(ObjectKey("", name))
        self.published[name] = looks_of(wanted)
        self.taken.pop(name, None)
        try:
            if there is None:
                await self._profiles.create(as_document(wanted))
            elif _origin(there) != _origin(wanted):
                self._taken(config, name, there)
            else:
                await self._profiles.save(there, _over(there, wanted))
        except AlreadyExists:
            there = await self._client.get(typed(ClusterProfile), name)
            if _origin(there) == _origin(wanted):
                raise TryAgain(f"the profile {name} is there, and we have not heard of it yet") from None
            self._taken(config, name, there)
        except Invalid as error:
            raise Refused(f"The profile {name} is not accepted: {error.message}", reason=BAD_OFFER) from error
        return name

    def _taken(self, config: Object, name: str, there: ClusterProfile) -> NoReturn:
        self.published.pop(name, None)
        self.taken[name] = key_of(config)
        provider, configuration = _origin(there)
        raise Refused(
            f"There is a ClusterProfile {name} already, of the provider {provider!r} and its configuration "
            f"{configuration!r}; rename this configuration, or remove that profile.",
            reason=NAME_TAKEN,
        )

    async def _retire(self, config: str, keep: Collection[str]) -> list[str]:
        """Take back the profiles of a configuration, but these; gives those that are used and must stay for now."""
        left = []
        for profile in self._seen.profiles_of(config):
            name = profile.metadata.name
            if name in keep or profile.metadata.labels.get(ENVIRONMENT_LABEL) != self._seen.environment:
                continue
            if not (used := await self._holding.uses(name)):
                await self._remove(profile)
                # A cluster may have come between the look and the deed. It is not left without its profile.
                if used := await self._holding.uses(name):
                    profile = await self._profiles.create(as_document(_anew(profile)))
            if used:
                left.append(name)
                await self._close(profile, used)
        return left

    async def _close(self, profile: ClusterProfile, used: int) -> None:
        """As full as it is: it serves those who have it, and nobody else."""
        if not 0 < profile.spec.max_clusters <= used:
            full = msgspec.structs.replace(profile, spec=msgspec.structs.replace(profile.spec, max_clusters=used))
            self.published[profile.metadata.name] = looks_of(full)
            await self._profiles.save(profile, full)

    async def _remove(self, profile: ClusterProfile) -> None:
        self.published.pop(profile.metadata.name, None)
        try:
            await self._profiles.delete(profile, guarded=True)
        except NotFound:
            self._seen.profiles.deleted(profile)

    # -- the configuration itself -------------------------------------------------------------------------------

    async def _is_gone(self, key: ObjectKey) -> bool:
        try:
            await self._client.get(plain_resource(self._kind), key.name)
        except NotFound:
            return True
        return False

    async def _noticed(self, config: Object) -> Object:
        if operation_of(config) != OPERATION_RECONCILE:
            return config
        annotations = {name: text for name, text in _annotations(config).items() if name != OPERATION_ANNOTATION}
        return await self._configs.save(config, with_metadata(config, annotations=annotations))

    async def _report(self, config: Object, truth: Truth, reason: str, message: str) -> None:
        """Say on the configuration itself what is made of it, if its kind has a place for that."""
        message = scrubbed(message)
        old = _conditions(config)
        generation = config["metadata"].get("generation", 0)
        new = with_condition(old, READY, truth, reason=reason, message=message, generation=generation, now=self._now())
        before = found(old, READY)
        if truth is not Truth.TRUE and (before is None or (before.reason, before.message) != (reason, message)):
            api = self._kind.API
            self._recorder.tell(
                config, api.api_version, api.kind, reason=reason, action="Publish", note=message, warning=True
            )
        if self._kind.API.has_status and new != old:
            status = {**(config.get("status") or {}), "observedGeneration": generation}
            status["conditions"] = msgspec.to_builtins(new)
            try:
                await self._configs.save(config, {**config, "status": status}, guarded=True)
            except Conflict as error:
                raise TryAgain("the configuration has just been changed") from error
            except NotFound:
                return

    def _now(self) -> str:
        return timestamp(self._clock.now())


def looks_of(profile: ClusterProfile) -> Looks:
    """The part of a profile that is ours."""
    metadata = profile.metadata
    marks = tuple(metadata.labels.get(name) for name in (ENVIRONMENT_LABEL, MANAGED_BY_LABEL))
    return profile.spec, marks, metadata.annotations.get(VARIANT_ANNOTATION)


def _check(offer: Offer) -> None:
    if offer.variant and not is_name(offer.variant):
        _refuse(f"The variant {offer.variant!r} cannot be part of a name: use lower-case letters, digits and hyphens.")
    if offer.max_clusters < 0:
        _refuse(f"A profile cannot have {offer.max_clusters} clusters; 0 is any number.")
    for version in offer.versions:
        text = _version(version).version
        try:
            in_full = is_full(text)
        except ValueError as error:
            _refuse(f"{error}.")
        if not in_full:
            _refuse(f"{text!r} is not a version in full, such as 1.33.3.")


def _refuse(message: str) -> NoReturn:
    raise Refused(message, reason=BAD_OFFER)


def _version(given: str | SupportedVersion) -> SupportedVersion:
    return SupportedVersion(version=given) if isinstance(given, str) else given


def _origin(profile: ClusterProfile) -> tuple[str, str]:
    return profile.spec.provider_ref.name, profile.spec.provider_config_ref.name


def _over(there: ClusterProfile, wanted: ClusterProfile) -> ClusterProfile:
    """The profile that is there, as it is wanted; labels and annotations of others stay."""
    metadata = msgspec.structs.replace(
        there.metadata,
        labels={**there.metadata.labels, **wanted.metadata.labels},
        annotations={**there.metadata.annotations, **wanted.metadata.annotations},
    )
    return msgspec.structs.replace(there, metadata=metadata, spec=wanted.spec)


def _anew(profile: ClusterProfile) -> ClusterProfile:
    """One that was deleted, as it can be created again."""
    known = profile.metadata
    metadata = Metadata(name=known.name, labels=known.labels, annotations=known.annotations)
    return msgspec.structs.replace(profile, metadata=metadata)


def _conditions(config: Object) -> tuple[Condition, ...]:
    """The conditions of a configuration; none if its status is not what we write."""
    try:
        return msgspec.convert(config.get("status") or {}, ConfigStatus).conditions
    except msgspec.ValidationError:
        return ()


def _annotations(config: Object) -> Mapping[str, str]:
    annotations: Mapping[str, str] = config["metadata"].get("annotations") or {}
    return annotations

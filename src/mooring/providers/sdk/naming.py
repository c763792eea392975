"""What a provider's things are called: profiles, finalizers, and the forms that names must have.

The name of a profile becomes the value of a label, and so does that of its configuration: 63 characters, no more.
"""

from __future__ import annotations

import re

from mooring.api.clusters import ClusterProfile
from mooring.api.kinds import Kind
from mooring.api.marks import VARIANT_ANNOTATION
from mooring.api.names import LONGEST_NAME, shortened

_FORM = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def is_name(text: str, *, longest: int = LONGEST_NAME) -> bool:
    """Whether the text can be a part of names, and the value of a label."""
    return len(text) <= longest and _FORM.fullmatch(text) is not None


def profile_name(*, environment: str, provider: str, config: str, variant: str = "") -> str:
    """``<environment>.<provider>.<config>[.<variant>]``, shortened if it must be."""
    return shortened(".".join(part for part in (environment, provider, config, variant) if part))


def variant_of(profile: ClusterProfile, *, environment: str) -> str | None:
    """The variant that a profile stands for; None if that cannot be told at the moment.

    The name tells it and cannot change; of a shortened name, the annotation does, if it goes with the name. A name
    of another form was given by a person, and there is only one such profile.
    """
    name, spec = profile.metadata.name, profile.spec
    parts = {"environment": environment, "provider": spec.provider_ref.name, "config": spec.provider_config_ref.name}
    noted = profile.metadata.annotations.get(VARIANT_ANNOTATION, "")
    for variant in ("", noted):
        if name == profile_name(**parts, variant=variant):
            return variant
    beginning = ".".join(parts.values()) + "."
    if name.startswith(beginning) and name == profile_name(**parts, variant=name.removeprefix(beginning)):
        return name.removeprefix(beginning)
    return None if _was_shortened(name) else ""


def cluster_finalizer(config: type[Kind]) -> str:
    """By this a provider holds the Clusters that it has begun to make."""
    return f"{config.API.group}/cluster"


def config_finalizer(config: type[Kind]) -> str:
    """By this a configuration outlives its clusters."""
    return f"{config.API.group}/providerconfig"


def _was_shortened(name: str) -> bool:
    return re.fullmatch(r".+--[a-z2-7]{8}", name) is not None

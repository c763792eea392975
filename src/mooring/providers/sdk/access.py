"""Access requests, as far as a provider has to know them: which are its own to answer."""

from __future__ import annotations

from mooring.api.access import AccessRequest
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL


def responsible_for(access: AccessRequest, name: str, *, profile: str = "") -> bool:
    """Whether the provider of this name is to answer: both labels are there, and the first says so.

    They are put there when a request has been resolved and found allowed; a provider never looks at others. Whoever
    knows the profile of the cluster that is named has it compared, too.
    """
    labels = access.metadata.labels
    told = labels.get(PROFILE_LABEL)
    return bool(name) and labels.get(PROVIDER_LABEL) == name and bool(told) and profile in ("", told)

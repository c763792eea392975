"""The SDK for providers of clusters: an author writes one :class:`Provider`, everything else of the contract is here.

``run_provider(YourProvider)`` (in ``program``) makes it a program with the commands ``init`` and ``run``, and
``add_provider`` puts it on a manager beside others.
"""

from mooring.providers.sdk.access import responsible_for
from mooring.providers.sdk.configs import ConfigSpec, ConfigStatus
from mooring.providers.sdk.controllers import add_provider, init_rights_of, kinds_of, lease_rights, rights_of
from mooring.providers.sdk.naming import profile_name
from mooring.providers.sdk.provider import Offer, Order, Provider, Refused, State

__all__ = [
    "ConfigSpec",
    "ConfigStatus",
    "Offer",
    "Order",
    "Provider",
    "Refused",
    "State",
    "add_provider",
    "init_rights_of",
    "kinds_of",
    "lease_rights",
    "profile_name",
    "responsible_for",
    "rights_of",
]

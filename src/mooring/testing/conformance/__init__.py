"""The conformance suite: does a provider of clusters, of whatever making, keep the contract?

``check_provider`` runs the checks on a real API server and gives a :class:`Report`; ``mooring conformance`` and the
fixture ``conformance`` are its two faces. Each MUST and SHOULD of ``docs/reference/provider-contract.md`` is one check.
"""

from mooring.testing.conformance.checks import Check, Level, UnknownChecks, all_checks
from mooring.testing.conformance.configurations import UnusableConfig, read_configs
from mooring.testing.conformance.report import NotConforming, Outcome, Report, Result
from mooring.testing.conformance.subjects import Subject, command_subject, provider_subject, running_subject
from mooring.testing.conformance.suite import NoConfig, Settings, check_provider

__all__ = [
    "Check",
    "Level",
    "NoConfig",
    "NotConforming",
    "Outcome",
    "Report",
    "Result",
    "Settings",
    "Subject",
    "UnknownChecks",
    "UnusableConfig",
    "all_checks",
    "check_provider",
    "command_subject",
    "provider_subject",
    "read_configs",
    "running_subject",
]

"""metadata.yaml of a provider: which of its release series speaks which contract of Cluster API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from mooring.clusterctl import yamls
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.providers import COMPATIBLE_CONTRACTS, CONTRACT, OLD_CONTRACT
from mooring.clusterctl.semver import Version

METADATA_FILE: Final = "metadata.yaml"
METADATA_VERSION: Final = "clusterctl.cluster.x-k8s.io/v1alpha3"
METADATA_KIND: Final = "Metadata"

# Numbers beyond are refused; those of v1alpha3 had no sign and more room.
_NUMBERS, _OLD_NUMBERS = range(-(2**31), 2**31), range(2**64)


@dataclass(frozen=True, slots=True)
class Series:
    """All releases of one major and minor number."""

    major: int
    minor: int
    contract: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a provider says about its releases."""

    series: tuple[Series, ...]

    @classmethod
    def read(cls, text: str, *, where: str, compat: str = "") -> Metadata:
        """Read and validate; ``where`` says in errors which file this is.

        The file must name its version, and list something. In the days of v1alpha3 (``compat``) neither was asked for.
        """
        found = cls.decode(text, where=where, compat=compat)
        if compat != OLD_CONTRACT:
            _validate(_document(text, where=where), where=where)
            if not found.series:
                raise ClusterctlError(f"{where}: releaseSeries is empty: list at least one {{major, minor, contract}}")
        return found

    @classmethod
    def decode(cls, text: str, *, where: str, compat: str = "") -> Metadata:
        """Read what is there: a version and kind that are left out are no hindrance, wrong ones are."""
        document = _document(text, where=where)
        _refuse_foreign(document, where=where)
        rows = document.get("releaseSeries")
        if not isinstance(rows, list | None):
            raise ClusterctlError(f"{where}: releaseSeries is {_shown(rows)}, and must be a list")
        numbers = _OLD_NUMBERS if compat == OLD_CONTRACT else _NUMBERS
        return cls(tuple(_series(row, numbers, f"{where}: releaseSeries[{at}]") for at, row in enumerate(rows or [])))

    def contract_of(self, version: str | Version) -> str | None:
        """The contract of the series that a version belongs to, or None if it is not listed."""
        if isinstance(version, str):
            version = Version.parse(version)
        for series in self.series:
            if (series.major, series.minor) == version.series:
                return series.contract
        return None

    def newest_of(self, contract: str) -> Series | None:
        """The newest series that speaks a contract."""
        speaking = [series for series in self.series if series.contract == contract]
        return max(speaking, key=lambda series: (series.major % 2**64, series.minor % 2**64), default=None)


def accepted_contract(metadata: Metadata, version: str, *, label: str, compat: str = "") -> str:
    """The contract of a provider's version, if we can work with it; otherwise an error that says why not."""
    contract = metadata.contract_of(version)
    if contract is None:
        listed = ", ".join(f"{series.major}.{series.minor}" for series in metadata.series) or "none"
        raise ClusterctlError(
            f"the metadata of {label} do not list the release series of version {version} (listed: {listed}): "
            f"use a listed version, or ask the provider's authors to add the series to {METADATA_FILE}"
        )
    accepted = {OLD_CONTRACT} if compat == OLD_CONTRACT else COMPATIBLE_CONTRACTS
    if contract not in accepted:
        remedy = f"; --compat {OLD_CONTRACT} accepts it" if contract == OLD_CONTRACT else ""
        raise ClusterctlError(
            f"version {version} of {label} speaks the contract {contract or '(none)'}, and this can only work with "
            f"{', '.join(sorted(accepted))}{remedy}"
        )
    return contract


def contract_for(compat: str) -> str:
    """The contract whose releases ``latest`` looks for."""
    return compat or CONTRACT


def _document(text: str, *, where: str) -> dict[str, Any]:
    document = _value(text, where=where)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ClusterctlError(
            f"{where} is {_shown(document)}, and must be a mapping with apiVersion, kind, releaseSeries"
        )
    return document


def _value(text: str, *, where: str) -> Any:
    """YAML; or JSON, if it begins like that: then it must be JSON to the end."""
    try:
        if text.lstrip().startswith("{"):
            return json.loads(text, parse_float=str, parse_constant=str)  # no field here takes a fraction
        return yamls.load(text)
    except (ClusterctlError, ValueError, RecursionError) as error:
        raise ClusterctlError(f"{where} cannot be read: {error}") from None


def _refuse_foreign(document: dict[str, Any], *, where: str) -> None:
    for field, expected in (("apiVersion", METADATA_VERSION), ("kind", METADATA_KIND)):
        given = document.get(field)
        if not isinstance(given, str | None):
            raise ClusterctlError(f"{where}: {field} is {_shown(given)}, and must be {expected}")
        if given and given != expected:
            raise ClusterctlError(f"{where}: {field} is {given!r}, and must be {expected}")
    if document.get("metadata") is not None:
        # A file may carry the metadata of an object. Nothing reads them, but they must be such.
        from mooring.clusterctl.typed import check_metadata

        check_metadata(document["metadata"], where=f"{where}: metadata")


def _validate(document: dict[str, Any], *, where: str) -> None:
    if not document.get("apiVersion"):
        raise ClusterctlError(f"{where}: apiVersion is missing, and must be {METADATA_VERSION}")


def _series(row: Any, numbers: range, where: str) -> Series:
    if row is None:
        row = {}
    if not isinstance(row, dict):
        raise ClusterctlError(f"{where} is {_shown(row)}, and must be a mapping with major, minor, contract")
    contract = row.get("contract")
    if not isinstance(contract, str | None):
        raise ClusterctlError(f"{where}.contract is {_shown(contract)}, and must be text such as {CONTRACT}")
    major, minor = (_count(row, field, numbers, where) for field in ("major", "minor"))
    return Series(major, minor, contract or "")


def _count(row: dict[str, Any], field: str, numbers: range, where: str) -> int:
    value = row.get(field)
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 is written as 1 once it has been JSON
    if isinstance(value, bool) or not isinstance(value, int) or value not in numbers:
        raise ClusterctlError(f"{where}.{field} is {_shown(value)}, and must be a whole number")
    return value


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."

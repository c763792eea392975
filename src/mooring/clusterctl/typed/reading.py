"""Reading an object into its type and writing it out again, in one go."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import described, kind_of, text_at
from mooring.clusterctl.typed.quantities import BadQuantity, canonical
from mooring.clusterctl.typed.shapes import Field, fields_of, is_structure

if TYPE_CHECKING:
    from mooring.kube import Object

_RBAC: Final = "rbac.authorization.k8s.io/v1"
_ADMISSION: Final = "admissionregistration.k8s.io"
_EXTENSIONS: Final = "apiextensions.k8s.io"
_KINDS: Final = {
    ("apps/v1", "Deployment"): "apps/v1.Deployment",
    ("apps/v1", "DaemonSet"): "apps/v1.DaemonSet",
    (_RBAC, "ClusterRoleBinding"): "rbac/v1.ClusterRoleBinding",
    (_RBAC, "RoleBinding"): "rbac/v1.RoleBinding",
    **{
        (f"{_ADMISSION}/{version}", kind): f"admissionregistration/{version}.{kind}"
        for version in ("v1", "v1beta1")
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    },
    **{
        (f"{_EXTENSIONS}/{version}", "CustomResourceDefinition"): f"apiextensions/{version}.CustomResourceDefinition"
        for version in ("v1", "v1beta1")
    },
    **{(f"cluster.x-k8s.io/{version}", "Cluster"): f"cluster/{version}.Cluster" for version in ("v1beta1", "v1beta2")},
}
# In the days of v1alpha3 these were read, too, and written as what has become of them.
_FORMERLY: Final = {
    **{(f"apps/{version}", "Deployment"): "apps/v1" for version in ("v1beta1", "v1beta2")},
    ("apps/v1beta2", "DaemonSet"): "apps/v1",
    **{("extensions/v1beta1", kind): "apps/v1" for kind in ("Deployment", "DaemonSet")},
    **{("rbac.authorization.k8s.io/v1beta1", kind): _RBAC for kind in ("ClusterRoleBinding", "RoleBinding")},
}


_SPAN: Final = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")


class _Mismatch(Exception):
    """A value is not of its type. The path is added on the way up."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path: list[str] = []


def as_typed(obj: Object, *, old: bool = False) -> Object:
    """The object as its type has it; ``old``: as in the days of v1alpha3, when a creation time was always written."""
    api_version, kind = text_at(obj, "apiVersion"), kind_of(obj)
    if old and (api_version, kind) in _FORMERLY:
        return as_typed({**obj, "apiVersion": _FORMERLY[api_version, kind]}, old=True)
    structure = _KINDS.get((api_version, kind))
    if structure is None:
        known = ", ".join(sorted(version for version, name in _KINDS if name == kind))
        raise ClusterctlError(
            f"{described(obj)}: its apiVersion is {api_version or 'missing'}; a {kind} can only be one of {known}"
        )
    try:
        made: Object = _Typing(old)(obj, structure)
    except _Mismatch as error:
        path = "".join(reversed(error.path)).removeprefix(".")
        raise ClusterctlError(f"{described(obj)}: {path}: {error}") from None
    except RecursionError:
        raise ClusterctlError(f"{described(obj)}: mappings and lists are nested in one another too deeply") from None
    return made


def check_metadata(metadata: Any, *, where: str) -> None:
    """Refuse what cannot be the metadata of any object."""
    try:
        _Typing(old=False)(metadata, "meta/v1.ObjectMeta")
    except _Mismatch as error:
        raise ClusterctlError(f"{where}{''.join(reversed(error.path))} {error}") from None


class _Typing:
    """One pass; what it is called with is a value and its type."""

    def __init__(self, old: bool) -> None:
        self._old = old

    def __call__(self, value: Any, type_: str) -> Any:
        """The value as it is written again; of a value that is missing, what stands for it."""
        if type_.startswith("*"):
            return None if value is None else self(value, type_[1:])
        if type_.startswith("[]"):
            return self._list(value, type_[2:])
        if type_.startswith("{}"):
            return self._mapping(value, type_[2:])
        if "|" in type_:
            return self._either(value, *type_.split("|"))
        if is_structure(type_):
            return self._structure(value, type_)
        return _ATOMS[type_](value)

    def _structure(self, value: Any, structure: str) -> dict[str, Any]:
        if value is not None and not isinstance(value, dict):
            raise _Mismatch(f"must be a mapping, not {_what(value)}")
        made: dict[str, Any] = {}
        for field in fields_of(structure):
            given = (value or {}).get(field.name)
            found = self._below(f".{field.name}", given, field.type)
            if not self._is_left_out(field, given, found):
                made[field.name] = found
        return made

    def _is_left_out(self, field: Field, given: Any, value: Any) -> bool:
        if field.if_empty == "!" and value is None:
            return not self._old
        if field.type in ("time", "quantity", "int-or-text") or is_structure(field.type):
            return False  # a structure is never empty
        if field.type.startswith("*"):
            return field.omit_empty and given is None
        return field.omit_empty and (value is None or value in ("", 0, False) or value in ([], {}))

    def _list(self, value: Any, inner: str) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _Mismatch(f"must be a list, not {_what(value)}")
        return [self._below(f"[{place}]", one, inner) for place, one in enumerate(value)]

    def _mapping(self, value: Any, inner: str) -> dict[str, Any] | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _Mismatch(f"must be a mapping, not {_what(value)}")
        return {name: self._below(f".{name}", one, inner) for name, one in value.items()}

    def _below(self, step: str, value: Any, type_: str) -> Any:
        try:
            return self(value, type_)
        except _Mismatch as error:
            error.path.append(step)
            raise

    def _either(self, value: Any, first: str, structure: str) -> Any:
        """A schema, or what may stand in its place; what is neither it nor a list counts for nothing."""
        if isinstance(value, dict):
            return self._structure(value, structure)
        if first == "bool":
            if not isinstance(value, bool):
                raise _Mismatch(f"must be a schema, true or false, not {_what(value)}")
            return value
        inner = structure if first == "list" else "text"
        return (self._list(value, inner) or None) if isinstance(value, list) else None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Mismatch(f"must be text, not {_what(value)}: put it in quotes")
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, bool | None):
        raise _Mismatch(f"must be true or false, not {_what(value)}")
    return bool(value)


def _int(value: Any) -> int:
    return _whole(value, bits=64)


def _int32(value: Any) -> int:
    return _whole(value, bits=32)


def _whole(value: Any, *, bits: int) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise _Mismatch(f"must be a whole number, not {_what(value)}")
    number = int(float(value))  # by way of a float, as all numbers of YAML go: large ones are rounded
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise _Mismatch(f"must be a number of {bits} bits, and {_what(value)} has more")
    return number


def _float(value: Any) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Mismatch(f"must be a number, not {_what(value)}")
    return float(value)


def _bytes(value: Any) -> str | None:
    if value is None:
        return None
    text = _text(value).replace("\r", "").replace("\n", "")
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise _Mismatch("is not base64") from None


def _time(value: Any) -> str | None:
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(_text(value))
        if found.tzinfo is None:
            raise ValueError
    except ValueError:
        raise _Mismatch(f"must be a time such as 2026-01-31T12:00:00Z, not {_what(value)}") from None
    return found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _duration(value: Any) -> str:
    text = _text(value)
    if value is not None and not _SPAN.fullmatch(text):
        raise _Mismatch(f"must be a span of time such as 1h30m, not {_what(value)}")
    return text


def _int_or_text(value: Any) -> int | str:
    return value if isinstance(value, str) else _int32(value)


def _quantity(value: Any) -> str:
    if value is None:
        return "0"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _Mismatch(f"must be an amount, not {_what(value)}")
    try:
        return canonical(value.strip() if isinstance(value, str) else _json_number(value))
    except BadQuantity as error:
        raise _Mismatch(str(error)) from None


def _json_number(value: float) -> str:
    """A number as JSON has it: with an exponent only where there would be too many zeros."""
    return repr(value) if value and not 1e-6 <= abs(value) < 1e21 else f"{Decimal(repr(value)):f}"


def _what(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f"{value!r:.60}"


_ATOMS: Final[dict[str, Callable[[Any], Any]]] = {
    "text": _text,
    "bool": _bool,
    "int": _int,
    "int32": _int32,
    "float": _float,
    "bytes": _bytes,
    "time": _time,
    "duration": _duration,
    "int-or-text": _int_or_text,
    "quantity": _quantity,
    "any": lambda value: value,
}

"""Objects by chance, of every kind that the real clusterctl reads into a type: right ones, odd ones, and wrong ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from components_kit import MANAGER
from releases import Object

from mooring.clusterctl.typed import reading, shapes

# Clusters are read so, too, in templates.
_KINDS = sorted(one for one in reading._KINDS.items() if one[0][1] != "Cluster")
_TEXTS = ("", "a", "some text", "1", "true", "null", "a/b")
_INTEGERS = (0, 1, -1, 443, 65535, 1.0, 1e3)
_KEYS = ("one", "two", "example.com/three")
_WRONG = (1, "x", True, [], {}, 1.5, ["a"], {"a": 1}, "", [None])
_UNITS = (*"num kMGTPE".replace(" ", ""), "", *(f"{one}i" for one in "KMGTPE"), "e3", "E2", "e-3", "e+6", "e-12", "e21")
_DEEPEST = 9


class Chance:
    """Values that depend on a seed alone."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._atoms: dict[str, Callable[[], Any]] = {
            "text": lambda: self._one_of(_TEXTS),
            "bool": lambda: self._one_of((True, False)),
            **dict.fromkeys(("int", "int32"), lambda: self._one_of(_INTEGERS)),
            "float": lambda: self._one_of((0, 1, 1.5, -2.25, 1e21, 1e-7)),
            "bytes": lambda: self._one_of(("", "Cg==", "aGVsbG8=", "aGVs\nbG8=")),
            "time": lambda: self._one_of(("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+02:00")),
            "int-or-text": lambda: self._one_of((80, 0, "web", "", "50%")),
            "quantity": lambda: self._one_of((self.amount(), 1, 0.5, 1e16, 1e-7)),
            "any": lambda: self._one_of((1, "a", None, True, [1, None], {"a": None, "b": 1.5}, 1e21, {})),
        }

    def amount(self) -> str:
        """An amount, of which many are written as nobody would."""
        digits = "".join(self._random.choices("0000123456789", k=self._one_of((1, 1, 2, 4, 9, 18, 20))))
        fraction = self._one_of(("", "", ".", ".5", ".250", ".000000000001"))
        return f"{self._one_of(('', '', '-', '+'))}{digits}{fraction}{self._one_of(_UNITS)}"

    def object(self, name: str) -> Object:
        (api_version, kind), structure = self._one_of(_KINDS)
        made: Object = {**self._structure(structure, 0), "apiVersion": api_version, "kind": kind}
        made["metadata"] = {**(made.get("metadata") or {}), "name": name}
        made["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "old/cert", "of": name}
        for container in _containers(made):
            container["image"] = MANAGER
        return made

    def spoil(self, obj: Object) -> str:
        """Put something in the place of something else, anywhere in the object; where."""
        inside, key, path = self._one_of([one for one in _places(obj, "") if one[1] not in ("image", "name")])
        inside[key] = self._one_of(_WRONG)
        return f"{path} = {inside[key]!r}"

    def _one_of(self, values: Any) -> Any:
        return self._random.choice(values)

    def _value(self, type_: str, depth: int) -> Any:
        if self._random.random() < 0.06:
            return None
        if type_.startswith("*"):
            return self._value(type_[1:], depth)
        many = self._one_of((0, 1, 1, 2)) if depth < _DEEPEST else 0
        if type_.startswith("[]"):
            return [self._value(type_[2:], depth + 1) for _ in range(many)]
        if type_.startswith("{}"):
            return {self._one_of(_KEYS): self._value(type_[2:], depth + 1) for _ in range(many)}
        if "|" in type_:
            return self._either(*type_.split("|"), depth)
        return self._structure(type_, depth + 1) if shapes.is_structure(type_) else self._atoms[type_]()

    def _either(self, first: str, structure: str, depth: int) -> Any:
        if self._random.random() < 0.5:
            return self._structure(structure, depth + 1)
        if first == "bool":
            return self._atoms["bool"]()
        inner = structure if first == "list" else "text"
        return [self._value(inner, depth + 1) for _ in range(self._one_of((0, 1, 2)))]

    def _structure(self, name: str, depth: int) -> Object:
        made: Object = {}
        for field in shapes.fields_of(name):
            likely = 0.9 if field.if_empty == "=" else 0.4 if depth < 5 else 0.1
            if self._random.random() < likely and (depth < _DEEPEST or field.type in self._atoms):
                made[field.name] = self._value(field.type, depth)
        if self._random.random() < 0.15:
            made["nobodyKnowsIt"] = {"a": 1}
        return made


def _containers(obj: Object) -> list[Object]:
    """All of them; what is none is taken out."""
    found = []
    inside: Any = obj
    for step in ("spec", "template", "spec"):
        inside = inside.get(step) if isinstance(inside, dict) else None
    for field in ("containers", "initContainers"):
        if isinstance(inside, dict) and inside.get(field):
            inside[field] = [one for one in inside[field] if one is not None]
            found += inside[field]
    return found


def _places(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(steps):
        below = f"{path}.{key}"
        yield value, key, below
        yield from _places(one, below)

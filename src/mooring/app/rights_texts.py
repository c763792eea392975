"""Rights as people type them: ``get,list:pods,deployments.apps@team`` and ``view@team``. No I/O.

``VERBS:RESOURCES[/NAME][@NAMESPACE]`` is a rule, and ``VERBS:/path`` one for a path; ``[role/]NAME[@NAMESPACE]`` is a
role that is there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mooring.api.kinds import Document
from mooring.app.settings import SettingError


def permissions_of(texts: Iterable[str]) -> list[Document]:
    """Entries of ``spec.token.permissions``: one for each namespace, and one for the whole cluster."""
    rules: dict[str, list[Document]] = {}
    for text in texts:
        namespace, found = _rule(text)
        rules.setdefault(namespace, []).extend(found)
    return [{**({"namespace": name} if name else {}), "rules": found} for name, found in rules.items()]


def role_refs_of(texts: Iterable[str]) -> list[Document]:
    """Entries of ``spec.token.roleRefs``."""
    return [_role(text) for text in texts]


def _rule(text: str) -> tuple[str, list[Document]]:
    verbs_text, colon, rest = text.partition(":")
    verbs = _words(verbs_text)
    if not colon or not verbs or not rest:
        raise _unreadable(
            "--rule", text, "VERBS:RESOURCES[/NAME][@NAMESPACE], such as get,list:pods,deployments.apps@team"
        )
    what, at, namespace = rest.partition("@")
    if at and not namespace:
        raise _unreadable("--rule", text, "a namespace behind the '@', or none of both")
    if what.startswith("/"):
        if namespace:
            raise _unreadable("--rule", text, "a path without a namespace: paths are the whole cluster's")
        return "", [{"verbs": verbs, "nonResourceURLs": _words(what)}]
    resources, slash, name = what.partition("/")
    if slash and not name:
        raise _unreadable("--rule", text, "the name of an object behind the '/', or none of both")
    return namespace, list(_by_group(text, verbs, _words(resources), name))


def _by_group(text: str, verbs: list[str], resources: list[str], name: str) -> Iterator[Document]:
    """One rule for each API group: RBAC multiplies groups with resources, and nobody asked for the product."""
    groups: dict[str, list[str]] = {}
    for one in resources:
        plural, _, group = one.partition(".")
        if not plural:
            raise _unreadable("--rule", text, "resources such as pods or deployments.apps")
        groups.setdefault(group, []).append(plural)
    if not groups:
        raise _unreadable("--rule", text, "at least one resource behind the ':'")
    for group, plurals in groups.items():
        names = {"resourceNames": [name]} if name else {}
        yield {"apiGroups": [group], "resources": plurals, "verbs": verbs, **names}


def _role(text: str) -> Document:
    name, at, namespace = text.partition("@")
    kind, slash, inner = name.partition("/")
    kinds = {"role": "Role", "clusterrole": "ClusterRole"}
    if not slash:
        kind, inner = "clusterrole", name
    if kind.lower() not in kinds or not inner or (at and not namespace):
        raise _unreadable("--role", text, "[role/|clusterrole/]NAME[@NAMESPACE], such as view or role/editor@team")
    if kind.lower() == "role" and not namespace:
        raise _unreadable("--role", text, "the namespace of the Role: role/NAME@NAMESPACE")
    return {"kind": kinds[kind.lower()], "name": inner, **({"namespace": namespace} if namespace else {})}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _unreadable(option: str, text: str, right: str) -> SettingError:
    return SettingError(f"{option} {text!r} cannot be read; write {right}.")

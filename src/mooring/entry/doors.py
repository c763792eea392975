"""What must be in a cluster so that an entrant can do what was asked for, and nothing else. No I/O.

Names are those that upstream's providers give, so that either side recognises them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from mooring.api.access import OidcAccess, TokenAccess
from mooring.api.rbac import Permission, PolicyRule, RoleKind, RoleReference, Subject
from mooring.entry.entrants import ACCOUNTS, Entrant

Document = dict[str, Any]

RBAC: Final = "rbac.authorization.k8s.io"
# A user or group that begins so is meant as it is, without the prefix of its identity provider.
_VERBATIM: Final = "::"
# As the schema of requests has it: of roles that are made, and of those that are only referred to.
_LONGEST_NAME, _LONGEST_REFERENCE = 253, 1024
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Unfit(Exception):
    """What was asked for cannot be made; the message names the field, and what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Objects in the order in which they are made, and the namespaces that they are in."""

    entrant: Entrant
    objects: Sequence[Document]
    # Namespaces that objects are in; True for those that may be made.
    namespaces: Mapping[str, bool] = field(default_factory=dict)
    account: str = ""  # the ServiceAccount; empty where entrants come with an identity of their own

    @property
    def fingerprint(self) -> str:
        """Changes when the door would have to be made anew."""
        return hashlib.sha256(msgspec.json.encode(self.objects, order="sorted")).hexdigest()[:16]


def token_door(entrant: Entrant, wish: TokenAccess, *, accounts: str = ACCOUNTS) -> Door:
    """A service account with the roles that are asked for."""
    _check(entrant, wish.permissions, "spec.token.permissions")
    subject = {"kind": "ServiceAccount", "name": entrant.hash, "namespace": accounts}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": entrant.metadata(entrant.hash, accounts)}
    roles: list[Document] = []
    bindings: list[Document] = []
    for number, permission in enumerate(wish.permissions):
        name = permission.name or f"openmcp:permission:{entrant.hash}:{number}"
        roles.append(_role(entrant, name, permission))
        reference = _role_ref(RoleKind.ROLE if permission.namespace else RoleKind.CLUSTER_ROLE, name)
        bindings.append(_binding(entrant, name, permission.namespace, reference, [subject]))
    for number, role in enumerate(wish.role_refs):
        where = _namespace(role, f"spec.token.roleRefs[{number}]")
        name = f"openmcp:roleref:{entrant.hash}:{number}"
        bindings.append(_binding(entrant, name, where, _role_ref(role.kind, role.name), [subject]))
    # Whoever else refers to the accounts' namespace has no say in whether it is made.
    namespaces = _namespaces(wish.permissions, wish.role_refs) | {accounts: True}
    return Door(entrant=entrant, objects=(account, *roles, *bindings), namespaces=namespaces, account=str(entrant.hash))


def oidc_door(entrant: Entrant, wish: OidcAccess) -> Door:
    """The roles that are asked for, bound to users and groups of an identity provider."""
    _check(entrant, wish.roles, "spec.oidc.roles")
    roles = [
        _role(entrant, role.name or f"openmcp:permission:{entrant.hash}:{number}", role)
        for number, role in enumerate(wish.roles)
    ]
    bindings = list(_oidc_bindings(entrant, wish))
    references = [reference for bound in wish.role_bindings for reference in bound.role_refs]
    return Door(entrant=entrant, objects=(*roles, *bindings), namespaces=_namespaces(wish.roles, references))


def username_prefix(wish: OidcAccess) -> str:
    return _prefix(wish.username_prefix, wish.name)


def groups_prefix(wish: OidcAccess) -> str:
    return _prefix(wish.groups_prefix, wish.name)


def _prefix(given: str | None, name: str) -> str:
    """Absent: the name of the identity provider; empty: none; and one that is not empty ends in a colon."""
    prefix = name if given is None else given
    return prefix if not prefix or prefix.endswith(":") else f"{prefix}:"


def _oidc_bindings(entrant: Entrant, wish: OidcAccess) -> Iterator[Document]:
    for number, bound in enumerate(wish.role_bindings):
        subjects = [
            _subject(subject, wish, f"spec.oidc.roleBindings[{number}].subjects[{place}]")
            for place, subject in enumerate(bound.subjects)
        ]
        for position, role in enumerate(bound.role_refs):
            where = _namespace(role, f"spec.oidc.roleBindings[{number}].roleRefs[{position}]")
            name = f"openmcp:{entrant.hash}:{number}:{position}"
            yield _binding(entrant, name, where, _role_ref(role.kind, role.name), subjects)


def _subject(subject: Subject, wish: OidcAccess, where: str) -> Document:
    prefixes = {"User": username_prefix(wish), "Group": groups_prefix(wish)}
    if not subject.name.removeprefix(_VERBATIM):
        raise Unfit(f"{where}.name is empty; say who is meant.")
    if subject.kind == "ServiceAccount":
        if not subject.namespace:
            raise Unfit(f"{where}.namespace is missing: the ServiceAccount {subject.name!r} is in some; say which.")
        return {"kind": subject.kind, "name": subject.name, "namespace": subject.namespace}
    if subject.kind not in prefixes:
        raise Unfit(f"{where}.kind is {subject.kind!r}, which is none of User, Group and ServiceAccount.")
    name = prefixes[subject.kind] + subject.name
    if subject.name.startswith(_VERBATIM):
        name = subject.name.removeprefix(_VERBATIM)
    return {"kind": subject.kind, "name": name, "apiGroup": RBAC}


def _role(entrant: Entrant, name: str, permission: Permission) -> Document:
    kind = RoleKind.ROLE if permission.namespace else RoleKind.CLUSTER_ROLE
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind.value,
        "metadata": entrant.metadata(name, permission.namespace),
        "rules": [
            {name: list(words) for name, words in msgspec.to_builtins(rule).items()} for rule in permission.rules
        ],
    }


def _role_ref(kind: RoleKind, name: str) -> Document:
    return {"apiGroup": RBAC, "kind": kind.value, "name": name}


def _binding(entrant: Entrant, name: str, namespace: str, role: Document, subjects: Sequence[Document]) -> Document:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": entrant.metadata(name, namespace),
        "roleRef": role,
        "subjects": list(subjects),
    }


def _namespace(role: RoleReference, where: str) -> str:
    """Where a role is bound: a ClusterRole with a namespace only there, which is less than everywhere."""
    _check_name(role.name, f"{where}.name", longest=_LONGEST_REFERENCE)
    _check_namespace(role.namespace, f"{where}.namespace")
    if role.kind is RoleKind.ROLE and not role.namespace:
        raise Unfit(f"{where}.namespace is missing: the Role {role.name!r} is in some namespace; say which.")
    return role.namespace


def _namespaces(permissions: Iterable[Permission], references: Iterable[RoleReference]) -> dict[str, bool]:
    """Those that roles are made in may be made, unless somebody says no; those that are only referred to must be."""
    found = {role.namespace: False for role in references if role.namespace}
    for one in permissions:
        if one.namespace:
            found[one.namespace] = found.get(one.namespace, False) or not one.disable_automatic_namespace_creation
    return found


def _check(entrant: Entrant, permissions: Sequence[Permission], where: str) -> None:
    """What the cluster would refuse when half of the door is made, or take for something else than was meant."""
    seen: dict[tuple[str, str], int] = {}
    ours = re.compile(rf"openmcp:((permission|roleref):)?{entrant.hash}:")
    for number, one in enumerate(permissions):
        _check_namespace(one.namespace, f"{where}[{number}].namespace")
        for position, rule in enumerate(one.rules):
            _check_rule(rule, one.namespace, f"{where}[{number}].rules[{position}]")
        if not one.name:
            continue
        _check_name(one.name, f"{where}[{number}].name")
        if ours.match(one.name):
            raise Unfit(f"{where}[{number}].name is {one.name!r}, which is for roles without a name; leave it out.")
        before = seen.setdefault((one.namespace, one.name), number)
        if before != number:
            raise Unfit(f"{where}[{number}].name is {one.name!r}, as is that of {where}[{before}]; name one otherwise.")


def _check_rule(rule: PolicyRule, namespace: str, where: str) -> None:
    """As servers judge rules; but here the field is one of the request."""
    of_resources = {"apiGroups": rule.api_groups, "resources": rule.resources}
    if not rule.verbs:
        raise Unfit(f"{where}.verbs is empty; say what may be done.")
    if rule.non_resource_urls and namespace:
        raise Unfit(
            f"{where}.nonResourceURLs holds in the whole cluster, and this permission is for the namespace "
            f"{namespace!r}; put it into a permission without a namespace."
        )
    if rule.non_resource_urls and any((*of_resources.values(), rule.resource_names)):
        raise Unfit(f"{where}.nonResourceURLs stands together with resources; make two rules of it.")
    for field_name, words in of_resources.items():
        if not (words or rule.non_resource_urls):
            raise Unfit(f"{where}.{field_name} is empty; say what the verbs may be done to.")


def _check_name(name: str, where: str, *, longest: int = _LONGEST_NAME) -> None:
    """RBAC's names may hold nearly everything, but they are one step of a path."""
    if name in ("", ".", "..") or "/" in name or "%" in name or len(name) > longest:
        raise Unfit(
            f"{where} is {_shown(name)}, which is no name: it may not be empty, '.' or '..', hold '/' or '%', or be "
            f"longer than {longest} characters."
        )


def _check_namespace(namespace: str, where: str) -> None:
    if namespace and not _NAMESPACE.fullmatch(namespace):
        raise Unfit(
            f"{where} is {_shown(namespace)}, which is no namespace: those have 1 to 63 lower-case letters, digits and "
            f"'-', and neither begin nor end with '-'."
        )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")

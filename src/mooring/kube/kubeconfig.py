"""Kubeconfig files as they are written: their form, their merging, and what the chosen context consists of.

`parsed` checks the form of one document, `merged` joins several by kubectl's rules, `chosen` follows a
context to its cluster and user. Neighbours: `documents` reads YAML, `config` makes a `Connection` out of what
was chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mooring.kube.errors import ConfigError

F = TypeVar("F")


class _Form(msgspec.Struct, kw_only=True):
    def __repr__(self) -> str:
        # Users hold tokens and keys, and a form ends up in tracebacks.
        return f"{type(self).__name__}(…)"


class ClusterForm(_Form, rename="kebab"):
    server: str | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None
    extensions: list[Any] | None = None


class EnvForm(_Form):
    name: str
    value: str = ""


class ExecForm(_Form, rename="camel"):
    command: str
    api_version: str | None = None
    args: list[str] | None = None
    env: list[EnvForm] | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool | None = None
    install_hint: str | None = None


class UserForm(_Form, rename="kebab"):
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    username: str | None = None
    password: str | None = None
    as_user: str | None = msgspec.field(default=None, name="as")
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    exec: ExecForm | None = None
    auth_provider: Any = None


class ContextForm(_Form):
    cluster: str
    user: str = ""
    namespace: str | None = None


class NamedCluster(_Form):
    name: str
    cluster: ClusterForm | None = None


class NamedUser(_Form):
    name: str
    user: UserForm | None = None


class NamedContext(_Form):
    name: str
    context: ContextForm | None = None


class ConfigForm(_Form, rename="kebab"):
    kind: str | None = None
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
    current_context: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a part of the configuration was written: for errors, and as the start of relative paths."""

    file: str | None = None

    @property
    def directory(self) -> Path:
        return Path(self.file).absolute().parent if self.file is not None else Path()


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """All that was configured, every entry with its origin."""

    clusters: Mapping[str, tuple[ClusterForm, Origin]]
    users: Mapping[str, tuple[UserForm, Origin]]
    contexts: Mapping[str, tuple[ContextForm, Origin]]
    current_context: str | None

    @property
    def empty(self) -> bool:
        return not (self.clusters or self.users or self.contexts or self.current_context)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One context, followed to its ends."""

    name: str
    context: ContextForm
    cluster: ClusterForm
    user: UserForm
    cluster_origin: Origin
    user_origin: Origin


def parsed(document: object, *, file: str | None = None) -> Kubeconfig:
    """One document, its form checked: the error names the field that has another type."""
    if document is None:
        document = {}
    try:
        form = msgspec.convert(document, ConfigForm)
    except (msgspec.ValidationError, RecursionError) as error:
        problem, _, place = str(error).partition(" - at ")
        raise ConfigError(
            f"this is not a kubeconfig: {problem}",
            file=file,
            field=place.strip("`").removeprefix("$.") or None,
        ) from None
    if form.kind not in (None, "", "Config"):
        raise ConfigError("this is not a kubeconfig", file=file, field="kind", value=form.kind)
    origin = Origin(file)
    return Kubeconfig(
        clusters=_first_by_name((c.name, (c.cluster or ClusterForm(), origin)) for c in form.clusters or ()),
        users=_first_by_name((u.name, (u.user or UserForm(), origin)) for u in form.users or ()),
        contexts=_first_by_name((c.name, (c.context or ContextForm(cluster=""), origin)) for c in form.contexts or ()),
        current_context=form.current_context or None,
    )


def merged(configs: Iterable[Kubeconfig]) -> Kubeconfig:
    """Several files as one: the first to set a name or the current context wins, entries are never mixed."""
    clusters: dict[str, tuple[ClusterForm, Origin]] = {}
    users: dict[str, tuple[UserForm, Origin]] = {}
    contexts: dict[str, tuple[ContextForm, Origin]] = {}
    current: str | None = None
    for config in configs:
        clusters = {**config.clusters, **clusters}
        users = {**config.users, **users}
        contexts = {**config.contexts, **contexts}
        current = current or config.current_context
    return Kubeconfig(clusters=clusters, users=users, contexts=contexts, current_context=current)


def chosen(config: Kubeconfig, context: str | None, *, file: str | None = None) -> Chosen:
    """The context of that name, or the current one, with its cluster and user."""
    name = context or config.current_context
    if name is None:
        raise ConfigError(
            "no context is chosen",
            file=file,
            field="current-context",
            remedy=f"Name one of: {_listing(config.contexts)}",
        )
    if name not in config.contexts:
        raise ConfigError(
            "there is no such context",
            file=file,
            field="contexts" if context else "current-context",
            value=name,
            remedy=f"Name one of: {_listing(config.contexts)}",
        )
    form, origin = config.contexts[name]
    cluster, cluster_origin = _followed(config.clusters, form.cluster, "clusters", name, origin)
    user, user_origin = UserForm(), origin
    if form.user:
        user, user_origin = _followed(config.users, form.user, "users", name, origin)
    return Chosen(name, form, cluster, user, cluster_origin, user_origin)


def _followed(
    entries: Mapping[str, tuple[F, Origin]], name: str, section: str, context: str, origin: Origin
) -> tuple[F, Origin]:
    if name not in entries:
        raise ConfigError(
            f"context {context!r} names an entry that is not in {section}",
            file=origin.file,
            field=f"contexts[{context}].context.{section.removesuffix('s')}",
            value=name,
            remedy=f"Name one of: {_listing(entries)}",
        )
    return entries[name]


def _first_by_name(entries: Iterable[tuple[str, F]]) -> dict[str, F]:
    found: dict[str, F] = {}
    for name, entry in entries:
        found.setdefault(name, entry)
    return found


def _listing(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "(none is defined)"

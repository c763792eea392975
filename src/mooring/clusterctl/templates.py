"""Templates of workload clusters: from text with variables to objects in one namespace.

`Template` is what comes out of one text, or of several that belong together. Neighbours: `sources` and `repository`
have the text, `clusterclasses` adds the ClusterClasses that a template refers to, `generating` is the verb.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mooring.clusterctl.errors import ClusterctlError, MissingVariables
from mooring.clusterctl.scopes import Scopes

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.kube import Object


@dataclass(slots=True)
class Template:
    """A template whose variables are known; its objects are, too, if it was processed."""

    variables: dict[str, str | None]  # name: default, None if it must be given
    objects: list[Object] = field(default_factory=list)

    def text(self) -> str:
        from mooring.clusterctl.yamls import dump

        return dump(self.objects)


def template_of(
    text: str,
    configuration: Configuration,
    *,
    namespace: str = "",
    listing: bool = False,
    compat: str = "",
    scopes: Scopes | None = None,
) -> Template:
    """Read a template. Without a namespace, objects stay where they are; for a listing, variables are enough."""
    from mooring.clusterctl import variables, yamls

    known = variables.inspect(text)
    if listing:
        return Template(known)
    objects = yamls.documents(variables.process(text, configuration.variable))
    if namespace:
        objects = _put(objects, namespace, (scopes or Scopes()).with_definitions_of(objects), compat)
    return Template(known, objects)


def _put(objects: list[Object], namespace: str, scopes: Scopes, compat: str) -> list[Object]:
    from mooring.clusterctl.namespacing import place, put_into

    if not compat:
        return put_into(objects, namespace, scopes)
    for one in objects:  # in those days nothing inside the objects was changed
        place(one, namespace, scopes)
    return objects


@contextmanager
def about(where: str) -> Iterator[None]:
    """Let errors about the text of a template say which one it is. What is missing is nobody's fault in there."""
    try:
        yield
    except MissingVariables:
        raise
    except ClusterctlError as error:
        raise ClusterctlError(f"{where}: {error}") from error


def merged(templates: Iterable[Template]) -> Template:
    """Several templates as one, in this order. Of a variable's defaults the first one counts."""
    variables: dict[str, str | None] = {}
    objects: list[Object] = []
    for one in templates:
        _add(variables, one.variables)
        objects.extend(one.objects)
    return Template(variables, objects)


def _add(variables: dict[str, str | None], more: Mapping[str, str | None]) -> None:
    for name, default in more.items():
        if variables.get(name) is None:
            variables[name] = default

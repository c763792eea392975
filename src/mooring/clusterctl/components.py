"""A provider's components: what its release has, made fit for one installation.

In this order: variables are substituted; images are overridden; everything is put into the target namespace, whose
Namespace is added if the file has none; all objects are labelled; and they are ordered. With ``compat="v1alpha3"`` it
is the order, and the deeds, of those days instead: see `compat`. Neighbours: `repository` has the file, `namespacing`,
`containers` and `ordering` do the steps, `init` and `upgrade` install what comes out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mooring.clusterctl.containers import images_of, with_images
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.namespacing import put_into
from mooring.clusterctl.objects import at, described, kind_of, name_of, set_metadata, texts_at
from mooring.clusterctl.ordering import in_order
from mooring.clusterctl.providers import CLUSTERCTL_LABEL, CORE_LABEL, OLD_CONTRACT, PROVIDER_LABEL, Provider
from mooring.clusterctl.scopes import Scopes

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.clusterctl.repository import ProviderRepository
    from mooring.kube import Object


@dataclass(frozen=True, slots=True)
class Options:
    """How the components are wanted."""

    version: str = ""  # empty: what the repository has as its default
    target_namespace: str = ""  # empty: that of the Namespace in the file
    skip_template: bool = False  # leave variables as they are
    compat: str = ""  # "v1alpha3": as in those days
    watching_namespace: str = ""  # of v1alpha3: where the controllers look; empty: everywhere

    def __post_init__(self) -> None:
        if self.compat not in ("", OLD_CONTRACT):
            raise ClusterctlError(f"--compat {self.compat}: the only one is {OLD_CONTRACT}")
        if self.watching_namespace and not self.compat:
            raise ClusterctlError(
                f"--watching-namespace {self.watching_namespace}: controllers watch all namespaces since the contract "
                f"v1alpha4; with --compat {OLD_CONTRACT} they can be held to one"
            )


@dataclass(slots=True)
class Components:
    """What is to be installed. With compat, ``shared`` are the objects that all instances of a provider have in common,
    and ``objects`` those of this instance; otherwise nothing is shared."""

    provider: Provider
    version: str
    target_namespace: str
    objects: list[Object]
    variables: dict[str, str | None] = field(default_factory=dict)  # name: default, None if it must be given
    images: list[str] = field(default_factory=list)
    shared: list[Object] = field(default_factory=list)
    watching_namespace: str = ""

    @property
    def all_objects(self) -> list[Object]:
        """Everything, in the order in which it is written and installed."""
        return [*self.shared, *self.objects]

    def text(self) -> str:
        from mooring.clusterctl.yamls import dump

        return dump(self.all_objects)

    def inventory_object(self) -> Object:
        """What says in the cluster that these components are there."""
        inventory: Object = {
            "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
            "kind": "Provider",
            "metadata": {
                "name": self.provider.label,
                "namespace": self.target_namespace,
                "labels": {**common_labels(self.provider), CORE_LABEL: "inventory"},
            },
            "providerName": self.provider.name,
            "type": str(self.provider.type),
            "version": self.version,
        }
        if self.watching_namespace:
            inventory["watchedNamespace"] = self.watching_namespace
        return inventory


async def components_of(
    configuration: Configuration,
    provider: Provider,
    options: Options,
    *,
    repository: ProviderRepository | None = None,
    scopes: Scopes | None = None,
) -> Components:
    """Read a provider's components from its repository, and make them fit to be installed."""
    if repository is None:
        from mooring.clusterctl.repository import open_repository

        repository = await open_repository(provider, configuration, compat=options.compat)
    version = options.version or repository.default_version
    text = await repository.components(version)
    installing = not options.skip_template
    return assemble(text, configuration, provider, options, version=version, scopes=scopes, installing=installing)


def assemble(
    text: str,
    configuration: Configuration,
    provider: Provider,
    options: Options,
    *,
    version: str = "",
    scopes: Scopes | None = None,
    installing: bool = False,
) -> Components:
    """Make the text of a components file fit; for ``installing``, refuse now what no server would take later."""
    from mooring.clusterctl import variables, yamls

    known = variables.inspect(text)
    if not options.skip_template:
        text = variables.process(text, configuration.variable)
    objects = yamls.documents(text)
    if installing:
        check_heads(objects)
    overrides = configuration.images()

    def replaced(image: str) -> str:
        raw = options.skip_template and "${" in image  # what it will be, only its variables tell
        return image if raw else overrides.replaced(provider.label, image)

    old = bool(options.compat)
    objects = with_images(objects, replaced, old=old)
    version = version or options.version
    made = Components(provider, version, options.target_namespace, objects, known, images_of(objects))
    scopes = (scopes or Scopes()).with_definitions_of(objects)
    if old:
        from mooring.clusterctl import compat

        return compat.instance_of(made, options, scopes)
    made.target_namespace = target_namespace(objects, options)
    add_namespace(objects, made.target_namespace)
    made.objects = put_into(objects, made.target_namespace, scopes)
    label(made.objects, provider)
    made.objects = in_order(made.objects)
    return made


def common_labels(provider: Provider) -> dict[str, str]:
    """What every component of a provider is found again by."""
    return {CLUSTERCTL_LABEL: "", PROVIDER_LABEL: provider.label}


def label(objects: Iterable[Object], provider: Provider) -> None:
    for one in objects:
        set_metadata(one, "labels", {**texts_at(one, "labels"), **common_labels(provider)})


def target_namespace(objects: Iterable[Object], options: Options) -> str:
    """Where the components go: as asked, or else what the file's one Namespace is called."""
    found = ""
    for one in objects:
        if kind_of(one) != "Namespace":
            continue
        if found:
            raise ClusterctlError(
                f"the components have two Namespaces, {found!r} and {name_of(one)!r}: a provider must have one at most"
            )
        found = name_of(one)
    wanted = options.target_namespace or found
    if not wanted:
        raise ClusterctlError("the components have no Namespace to be installed in: say one with --target-namespace")
    return wanted


def add_namespace(objects: list[Object], name: str) -> None:
    """Make sure that the namespace is created with the components."""
    if not any(kind_of(one) == "Namespace" for one in objects):
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def check_heads(objects: Iterable[Object]) -> None:
    """Refuse what no API server could take: an object without apiVersion, kind or name."""
    for number, one in enumerate(objects, 1):
        for path in (("apiVersion",), ("kind",)):
            if not _is_text(at(one, *path)):
                raise ClusterctlError(f"document {number} ({described(one)}): {path[0]} is missing or not text")
        if at(one, "metadata", "name") is None and not _may_be_nameless(one):
            raise ClusterctlError(f"document {number} ({described(one)}): metadata.name is missing")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _may_be_nameless(obj: Object) -> bool:
    return isinstance(obj.get("items"), list) or _is_text(at(obj, "metadata", "generateName"))

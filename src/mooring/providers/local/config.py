"""LocalConfig: which clusters may be had on this machine, and how their processes are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from mooring.api.clusters import SupportedVersion
from mooring.api.kinds import AGE_COLUMN, CLUSTERS_GROUP, EMPTY, READY_COLUMN, Api, Column, Kind, Part
from mooring.api.schema import Rule, about
from mooring.api.traits import SupportedTrait
from mooring.providers.local.flags import FLAGS
from mooring.providers.sdk.configs import ConfigSpec, ConfigStatus

GROUP: Final = f"local.{CLUSTERS_GROUP}"

_ALLOWED: Final = ", ".join(f"'{name}'" for name in sorted(FLAGS))
_KNOWN_FLAGS: Final = Rule(
    f"self.all(name, name in [{_ALLOWED}])",
    f"spec.apiServerFlags may hold {', '.join(sorted(FLAGS))}, and no other flags",
)


class Resources(Part, frozen=True, kw_only=True):
    """What the processes of one cluster are to make do with. They hold to it themselves; nobody ends them for more."""

    memory: Annotated[
        str,
        about(
            """How much memory each of the two processes tries to stay below, such as 256Mi. Near it, the process spends
            more time on giving memory back. Absent: no bound.""",
            pattern="^([1-9][0-9]{0,6}(Mi|Gi))?$",
            max_length=9,
        ),
    ] = ""
    cpus: Annotated[
        int,
        about(
            "How many processors each of the two processes uses at once. 0 or absent: all.",
            format="int32",
            minimum=0,
            maximum=1024,
        ),
    ] = 0


class Oidc(Part, frozen=True, kw_only=True):
    """How clusters reach identity providers."""

    certificate_authority: Annotated[
        str,
        about(
            """Certificates in PEM form, of authorities that vouch for identity providers beside those that the machine
            trusts. Needed for identity providers with a certificate of a private authority.""",
            max_length=131_072,
        ),
    ] = ""


class LocalConfigSpec(ConfigSpec, frozen=True, kw_only=True):
    """Which clusters there may be."""

    versions: Annotated[
        tuple[SupportedVersion, ...],
        about("The versions of Kubernetes that clusters can have. Absent: all whose programs are here.", max_items=64),
    ] = ()
    traits: Annotated[
        tuple[SupportedTrait, ...],
        about("Traits of these clusters, beside that they have no nodes.", max_items=128),
    ] = ()
    max_clusters: Annotated[
        int,
        about(
            "How many clusters there may be with this configuration. 0 or absent: any number.",
            format="int32",
            minimum=0,
        ),
    ] = 0
    api_server_flags: Annotated[
        Mapping[str, Annotated[str, about(max_length=256)]],
        about(
            "Flags of the API server, without hyphens, and their values.",
            max_properties=len(FLAGS),
            rules=(_KNOWN_FLAGS,),
        ),
    ] = EMPTY
    resources: Annotated[Resources, about()] = Resources()
    oidc: Annotated[Oidc, about()] = Oidc()


class LocalConfig(Kind, frozen=True, kw_only=True):
    """Clusters without nodes as processes on the machine that Mooring runs on."""

    API: ClassVar[Api] = Api(
        group=GROUP,
        kind="LocalConfig",
        plural="localconfigs",
        namespaced=False,
        columns=(
            Column(name="Provider", path=".spec.providerRef.name"),
            Column(name="Max", path=".spec.maxClusters", type="integer"),
            READY_COLUMN,
            AGE_COLUMN,
        ),
        has_status=True,
    )

    spec: Annotated[LocalConfigSpec, about()]
    status: Annotated[ConfigStatus | None, about()] = None

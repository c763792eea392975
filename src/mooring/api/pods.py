"""The parts of a pod that a provider's owner may set, in Kubernetes' own form."""

from __future__ import annotations

from typing import Annotated, ClassVar

from mooring.api.kinds import Part
from mooring.api.schema import About, about
from mooring.api.selectors import LabelKey, LabelSelector


class EnvironmentVariable(Part, frozen=True, kw_only=True):
    """A variable in the environment of the provider's processes."""

    name: Annotated[str, about("Name of the variable.", min_length=1, max_length=4096)]
    value: Annotated[str, about("Its value.", max_length=1_048_576)] = ""


class Volume(Part, frozen=True, kw_only=True):
    """A volume, in the form that pods have it. All but its name is passed on as it is."""

    ABOUT: ClassVar[About] = about(keeps_unknown=True)

    name: Annotated[str, about("Name of the volume, which mounts refer to.", max_length=1024)]


class VolumeMount(Part, frozen=True, kw_only=True):
    """Where a volume is seen in the container."""

    name: Annotated[str, about("Name of the volume.", max_length=1024)]
    mount_path: Annotated[str, about("Where in the container it is seen.", max_length=4096)]
    sub_path: Annotated[str, about("Which directory or file of the volume is seen. Absent: all of it.")] = ""
    sub_path_expr: Annotated[str, about("Like subPath, with variables of the environment put in.")] = ""
    read_only: Annotated[bool, about("If true, it cannot be written to.")] = False
    recursive_read_only: Annotated[
        str, about("Whether what is mounted below it is read-only too: Disabled, IfPossible or Enabled.")
    ] = ""
    mount_propagation: Annotated[
        str, about("Whether mounts made later are seen on the other side: None, HostToContainer or Bidirectional.")
    ] = ""


class TopologySpreadConstraint(Part, frozen=True, kw_only=True):
    """How the replicas of a provider are spread over nodes or zones."""

    max_skew: Annotated[int, about("By how many the replicas of two domains may differ.", format="int32")]
    topology_key: Annotated[LabelKey, about("The label of nodes whose values are the domains.")]
    when_unsatisfiable: Annotated[
        str, about("What happens to a replica that fits nowhere: DoNotSchedule or ScheduleAnyway.", max_length=64)
    ]
    label_selector: Annotated[
        LabelSelector | None, about("Which pods are counted. Set by the provider's deployment to its own pods.")
    ] = None
    match_label_keys: Annotated[
        tuple[LabelKey, ...],
        about("Labels of the pod whose values narrow the pods that are counted.", list_type="atomic"),
    ] = ()
    min_domains: Annotated[int | None, about("How many domains there must be at least.", format="int32")] = None
    node_affinity_policy: Annotated[
        str, about("Whether nodes that the pod's affinity excludes count: Honor or Ignore.", max_length=64)
    ] = ""
    node_taints_policy: Annotated[
        str, about("Whether nodes with taints that the pod does not tolerate count: Honor or Ignore.", max_length=64)
    ] = ""

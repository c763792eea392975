"""``convert``: refused, in one sentence."""

from __future__ import annotations

from mooring.cli.clusterctl.tree import Command, Flag, Given


def _convert(given: Given) -> int:
    given.note(
        "Error: convert is not here, because only Cluster API's own conversion webhooks know every field of every "
        "version: apply the file to a management cluster and read the objects back at the version that you want "
        "(kubectl get clusters.v1beta2.cluster.x-k8s.io -o yaml)."
    )
    return 1


COMMAND = Command(
    "convert",
    "Convert Cluster API resources between versions (not here; says what to do instead).",
    _convert,
    [
        Flag("output", "The file to write to.", letter="o"),
        Flag("to-version", "The version that is wanted.", default="v1beta2"),
    ],
    arguments="[SOURCE]",
    most=1,
)

"""What a program that has types for Kubernetes' objects makes of one when it reads and writes it again.

The other clusterctl does so with Deployments, DaemonSets, bindings, webhook configurations, definitions and (only to
look into them) Clusters: fields that
Kubernetes does not know are dropped, empty ones come and go, quantities get their usual form, and a value of the wrong
type is an error before anything is installed. `as_typed` does the same, by a table of the fields (``shapes.txt``).
"""

from mooring.clusterctl.typed.reading import as_typed, check_metadata

__all__ = ["as_typed", "check_metadata"]

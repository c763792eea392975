"""``init``: from any cluster to a management cluster.

`Wishes` are what somebody asks for. `initialise` makes it so; `written_out` only tells what it would apply, and
`images` what would have to be pulled.
"""

from mooring.clusterctl.initialising.deed import images, initialise, written_out
from mooring.clusterctl.initialising.planning import Plan
from mooring.clusterctl.initialising.wishes import Wishes

__all__ = ["Plan", "Wishes", "images", "initialise", "written_out"]

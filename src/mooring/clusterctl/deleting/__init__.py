"""Taking providers away: `delete_providers` for all that is theirs, `delete_components` for what upgrades replace."""

from mooring.clusterctl.deleting.choosing import Choice, Extent
from mooring.clusterctl.deleting.deed import delete_components, delete_providers

__all__ = ["Choice", "Extent", "delete_components", "delete_providers"]

"""What is there: clusters, profiles and providers as rows and pages, for the command line and the dashboard.

Read-only, and pure: whoever has the objects, from a list or from a cache, gets rows of plain values that read the same
as a table, as JSON or as HTML. Times are as the server writes them.
"""

from mooring.inventory.cluster_pages import ClusterPage, Surroundings, cluster_page
from mooring.inventory.clusters import ClusterRow, cluster_row, seats_of
from mooring.inventory.entries import Entry, entry_of
from mooring.inventory.events import Happening
from mooring.inventory.holders import AccessRow, Holder, Standing
from mooring.inventory.offers import Offered, ProfileRow, ProviderRow, profile_rows, provider_rows

__all__ = [
    "AccessRow",
    "ClusterPage",
    "ClusterRow",
    "Entry",
    "Happening",
    "Holder",
    "Offered",
    "ProfileRow",
    "ProviderRow",
    "Standing",
    "Surroundings",
    "cluster_page",
    "cluster_row",
    "entry_of",
    "profile_rows",
    "provider_rows",
    "seats_of",
]

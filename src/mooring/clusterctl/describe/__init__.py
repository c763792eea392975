"""A cluster at a glance: a tree of what belongs to it, and how each part is.

`Discovery` reads, `grow` makes the tree, `as_text` and `as_data` tell it; `watched` brings it again after each change.
"""

from mooring.clusterctl.describe.asdata import as_data
from mooring.clusterctl.describe.discovery import Discovery
from mooring.clusterctl.describe.painting import Paint, wants_colour
from mooring.clusterctl.describe.rendering import as_text
from mooring.clusterctl.describe.tree import Options, Tree, grow
from mooring.clusterctl.describe.watching import watched

__all__ = ["Discovery", "Options", "Paint", "Tree", "as_data", "as_text", "grow", "wants_colour", "watched"]

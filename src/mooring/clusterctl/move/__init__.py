"""Clusters from one management cluster to another, or into files and out of them.

`plan` says what would move, `move` moves it, `to_directory` and `from_directory` have files on one side. What is moved,
and why not the rest, is in the `Report`. How the parts fit together: `discovery` reads, `graph` and `sequence` decide,
`mover` carries out, `progress` has what is written down on the way.
"""

from mooring.clusterctl.move.directories import from_directory, to_directory
from mooring.clusterctl.move.discovery import Choice
from mooring.clusterctl.move.mover import Options, move, plan
from mooring.clusterctl.move.report import Line, Report, Tell

__all__ = ["Choice", "Line", "Options", "Report", "Tell", "from_directory", "move", "plan", "to_directory"]

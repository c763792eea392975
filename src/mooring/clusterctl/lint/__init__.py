"""The linter for provider repositories: every rule of the provider contract, numbered, with a verdict for each.

`table` has the rules, `material` is what is read from files; the checks themselves are in `releases`, `contents`,
`shared`, `templates`, `linked`, `today` and `live`.
"""

from __future__ import annotations

from mooring.clusterctl.lint.material import Material, Release, read_material
from mooring.clusterctl.lint.rules import Level, Outcome, Rule, Verdict
from mooring.clusterctl.lint.table import RULES
from mooring.clusterctl.lint.verdicts import judged

__all__ = ["RULES", "Level", "Material", "Outcome", "Release", "Rule", "Verdict", "judged", "read_material"]

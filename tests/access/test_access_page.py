"""The page on access tells every reason that preparation gives, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from mooring.access.reasons import OURS
from mooring.api.policies import AccessPolicy

PAGE = (Path(__file__).parents[2] / "docs/concepts/access.md").read_text()


def test_every_reason_is_explained():
    listed = set(re.findall(r"^\| `(\w+)` \| (?:Pending|Denied) \|", PAGE, flags=re.M))
    assert set(map(str, OURS)) <= listed


def test_every_policy_is_explained():
    assert not [policy for policy in AccessPolicy if f"`{policy}`" not in PAGE]

"""Providers to newer versions: `plan` decides, `plan_upgrades` shows what there is, `upgrade` does it."""

from mooring.clusterctl.upgrading.deed import UpgradeOptions, upgrade
from mooring.clusterctl.upgrading.offers import Offers, plan_upgrades
from mooring.clusterctl.upgrading.plan import Plan, Step

__all__ = ["Offers", "Plan", "Step", "UpgradeOptions", "plan_upgrades", "upgrade"]

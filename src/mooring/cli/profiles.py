"""``mooring profile``: what kinds of clusters can be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from mooring.cli.listings import Listed, ListedOption, Table, age, out_of, print_list, read_as
from mooring.cli.platforms import on_a_platform, there

if TYPE_CHECKING:
    from mooring.app.reaching import Reach
    from mooring.inventory import ProfileRow

app = typer.Typer(help="See what kinds of clusters can be had.", no_args_is_help=True)


@app.callback()
def profile() -> None:
    """See what kinds of clusters can be had."""


@app.command("list")
@on_a_platform
def list_profiles(reach: Reach, output: ListedOption = Listed.TEXT) -> None:
    """List the profiles that clusters are made by.

    Shows who makes their clusters, the versions that can be had (the newest first), how many clusters there are, of how
    many if there is a limit, and the traits. JSON and YAML have the objects themselves.
    """
    from mooring.api.clusters import ClusterProfile
    from mooring.app.inventories import profiles
    from mooring.inventory import profile_rows

    found, clusters = there(reach, profiles)
    print_list(found, output, _TABLE, lambda: profile_rows(read_as(ClusterProfile, found), clusters), what="profiles")


def _versions(row: ProfileRow) -> str:
    return ", ".join(f"{one.version} (deprecated)" if one.deprecated else one.version for one in row.versions)


_TABLE: Table[ProfileRow] = Table(
    {
        "NAME": lambda one: one.name,
        "PROVIDER": lambda one: one.provider,
        "CONFIG": lambda one: one.config,
        "CLUSTERS": lambda one: out_of(one.clusters, one.max_clusters),
        "VERSIONS": _versions,
        "TRAITS": lambda one: ", ".join(one.traits),
    },
    wide={"AGE": lambda one: age(one.created)},
)

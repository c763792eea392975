"""``mooring provider``: who makes clusters, and how to begin a provider of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.listings import Listed, ListedOption, Table, age, nothing, out_of
from mooring.cli.operator import Notation, print_documents
from mooring.cli.platforms import on_a_platform, there
from mooring.cli.why import Telling, print_data

if TYPE_CHECKING:
    from mooring.app.reaching import Reach
    from mooring.inventory import ProviderRow

app = typer.Typer(help="See who makes clusters, and begin a provider of your own.", no_args_is_help=True)


@app.command("list")
@on_a_platform
def list_providers(reach: Reach, output: ListedOption = Listed.TEXT) -> None:
    """List the providers of clusters.

    Those that a ClusterProvider declares, and those that only publish profiles; how they are, what they offer, and how
    many clusters they have made. JSON and YAML have the same rows: not every provider has an object.
    """
    from mooring.app.inventories import providers

    rows = there(reach, providers)
    if not output.is_table:
        print_data({"items": rows}, Telling(output))
    elif not rows:
        nothing("providers", None)
    else:
        _TABLE.print(rows, output)


_TABLE: Table[ProviderRow] = Table(
    {
        "NAME": lambda one: one.name,
        "PHASE": lambda one: one.phase if one.declared else "(not declared)",
        "READY": lambda one: one.ready,
        "IMAGE": lambda one: one.image,
        "CLUSTERS": lambda one: out_of(one.clusters),
        "PROFILES": lambda one: ", ".join(one.profiles),
    },
    wide={
        "REASON": lambda one: one.reason,
        "MESSAGE": lambda one: one.message,
        "AGE": lambda one: age(one.created),
    },
)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="What the provider is called, such as hetzner.")],
    into: Annotated[
        Path, typer.Option("--into", help="Where its directory is made. [default: here]", show_default=False)
    ] = Path(),
) -> None:
    """Write a provider to begin with.

    A package of its own with a provider that works, and a test that proves it; what is there already is not touched.
    """
    from mooring.app.settings import SettingError
    from mooring.providers.skeleton import SkeletonRefused, write_skeleton

    try:
        directory = write_skeleton(name, into)
    except SkeletonRefused as error:
        raise SettingError(str(error)) from None
    typer.echo(f"The provider {name} is in {directory}. Its README.md says how to go on.")


@app.command()
def manifest(
    provider: Annotated[str, typer.Argument(help="An installed provider, such as external.")],
    image: Annotated[
        str | None,
        typer.Option("--image", help="The image that it is in. [default: mooring/PROVIDER, which a landscape knows]"),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Of this instance. [default: PROVIDER]")] = None,
    output: Annotated[Notation, typer.Option("--output", "-o", help="How it is printed.")] = Notation.YAML,
) -> None:
    """Print the ClusterProvider that has a provider deployed, with the rights that it needs and no more.

    For kubectl apply -f -, on a landscape or on a cluster where Mooring deploys providers.
    """
    from mooring.app.settings import SettingError
    from mooring.providers.deployment.declaring import declaration
    from mooring.providers.registry import BrokenProvider, NoSuchProvider, provider_class
    from mooring.providers.sdk.naming import is_name

    name = name or provider
    if not is_name(name):
        raise SettingError(f"--name {name!r} cannot be a name: use up to 63 of a-z, 0-9, inner '-' and '.'.")
    try:
        known = provider_class(provider)
    except (NoSuchProvider, BrokenProvider) as error:
        raise SettingError(str(error)) from None
    print_documents([declaration(known, name=name, image=image or f"mooring/{provider}")], output)

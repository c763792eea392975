"""``config``: which providers can be had and where from; and two verbs under the names that they had in v1alpha3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mooring.cli.clusterctl.generate import CLUSTER, PROVIDER
from mooring.cli.clusterctl.tree import Command, Flag, Given, UsageError

if TYPE_CHECKING:
    from mooring.clusterctl.providers import Provider

_OUTPUTS: Final = ("yaml", "text")
_LEAST_WIDTH, _GAP = 10, 3  # of a column, and between two


def _repositories(given: Given) -> None:
    output = given["output"]
    if output not in _OUTPUTS:
        raise UsageError(f"invalid argument {output!r} for --output: one of {', '.join(_OUTPUTS)}")
    from mooring.clusterctl.config import read_configuration

    providers = read_configuration(given["config"], given.environ).providers()
    given.out.write(_as_yaml(providers) if output == "yaml" else _as_table(providers))


def _as_yaml(providers: list[Provider]) -> str:
    from mooring.clusterctl.yamls import dump_one

    names = ("Name", "ProviderType", "URL", "File")
    return dump_one([dict(zip(names, _row(one), strict=True)) for one in providers])


def _as_table(providers: list[Provider]) -> str:
    rows = [("NAME", "TYPE", "URL", "FILE"), *(_row(one) for one in providers)]
    widths = [max(_LEAST_WIDTH, max(len(row[column]) for row in rows) + _GAP) for column in range(3)]
    lines = ("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + row[3] for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _row(provider: Provider) -> tuple[str, str, str, str]:
    folder, slash, file = provider.url.rpartition("/")
    return provider.name, str(provider.type), folder + slash, file


COMMAND: Final = Command(
    "config",
    "Show the configuration.",
    words=[
        Command(
            "repositories",
            "List the providers that can be had, and where their releases are.",
            _repositories,
            flags=[Flag("output", "How to print: yaml or text.", letter="o", default="text")],
            long="The providers that are built in, overridden and added to by `providers` in the configuration file.",
            examples="mooring clusterctl config repositories\nmooring clusterctl config repositories -o yaml",
        ),
        CLUSTER,
        PROVIDER,
    ],
)

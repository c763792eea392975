"""``mooring simulate``: requests answered on paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.tables import print_table
from mooring.cli.why import ConfigOption, Telling, TellingOption, configuration, print_data, print_story

if TYPE_CHECKING:
    from mooring.scheduling.simulation import Answer, Simulation


def simulate(
    files: Annotated[
        list[Path], typer.Argument(help="YAML files, or directories of them. Their order is the order of requests.")
    ],
    explain: Annotated[
        list[str] | None,
        typer.Option(
            "--explain", help="Tell the whole story of this request: NAME or NAMESPACE/NAME. Can be repeated."
        ),
    ] = None,
    config: ConfigOption = None,
    output: TellingOption = Telling.TEXT,
) -> None:
    """Answer requests on paper, without any server.

    Shows who would get what: try a purpose here before you change it.

    The files hold ClusterRequests, Purposes, ClusterProfiles, Clusters, TraitEquivalences and ClusterProviders, as
    'kubectl get -o yaml' prints them. Requests are answered one after another, in the order of the files, and each
    answer takes its seat before the next one is found. Nothing is written anywhere.
    """
    from mooring.app.simulating import simulation

    result = simulation(files, configuration(config), explain=explain or ())
    if output is Telling.TEXT:
        _print(result)
    else:
        print_data(_summary(result), output)


def _print(result: Simulation) -> None:
    from mooring.api.texts import printable

    told = [one.story for one in result.answers if one.story is not None]
    for number, story in enumerate(told):
        if number:
            typer.echo("---")
        print_story(story, Telling.TEXT)
    if told:
        return
    rows = [
        (one.request, _word(one), one.outcome.cluster or "-", one.outcome.prefix or "-", one.outcome.reason)
        for one in result.answers
    ]
    print_table(("REQUEST", "OUTCOME", "CLUSTER", "PREFIX", "REASON"), rows)
    waiting = [one for one in result.answers if not one.outcome.cluster]
    for one in waiting:
        typer.echo(f"\n{one.request}: {printable(one.outcome.message)}")
    if waiting:
        typer.echo("\n'--explain NAME' tells the whole story of one of them.")


def _word(one: Answer) -> str:
    outcome = one.outcome
    if outcome.held:
        return "Granted (before)"
    if outcome.cluster:
        return f"Granted ({'new' if outcome.new else 'warm' if outcome.warm else 'seat'})"
    return str(outcome.phase)


def _summary(result: Simulation) -> dict[str, object]:
    from mooring.api.claims import claims_on
    from mooring.kube import key_of

    return {
        "requests": result.answers,
        "clusters": [
            {
                "cluster": str(key_of(one)),
                "profile": one.spec.profile,
                "version": one.spec.kubernetes.version,
                "tenancy": one.spec.tenancy,
                "purposes": one.spec.purposes,
                "requests": [f"{claim.namespace}/{claim.name}" for claim in claims_on(one.metadata)],
            }
            for one in result.clusters
        ],
    }

"""``upgrade plan`` and ``upgrade apply``: providers to newer versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mooring.cli.clusterctl.common import COMPAT, CONTEXT, KUBECONFIG, compat_of, management
from mooring.cli.clusterctl.naming import FLAGS_IN_WORDS, named, provider_flags
from mooring.cli.clusterctl.tree import Command, Flag, Form, Given, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mooring.clusterctl.upgrading import Offers, Plan

FORMS: Final = ("text", "json", "yaml")
_HEAD: Final = ("NAME", "NAMESPACE", "TYPE", "CURRENT VERSION", "NEXT VERSION")
_NARROWEST, _GAP = 10, 3


def _plan(given: Given) -> None:
    import asyncio

    if given["output"] not in FORMS:
        raise UsageError(f"invalid argument {given['output']!r} for --output: write one of {', '.join(FORMS)}")
    offers = asyncio.run(_offers(given))
    given.out.write(_told(given["output"], offers))


async def _offers(given: Given) -> Offers:
    from mooring.clusterctl.config import read_configuration
    from mooring.clusterctl.upgrading import plan_upgrades
    from mooring.kube import Client

    configuration = read_configuration(given["config"], given.environ)
    async with Client(management(given)) as client:
        return await plan_upgrades(client, configuration, compat=compat_of(given), progress=given.note)


def _told(form: str, offers: Offers) -> str:
    if form == "json":
        import json

        return json.dumps(offers.document(), indent=2) + "\n"
    if form == "yaml":
        from mooring.clusterctl import yamls

        return yamls.dump_one(offers.document())
    return "".join(f"{line}\n" for line in _lines(offers))


def _lines(offers: Offers) -> Iterable[str]:
    manager = offers.cert_manager
    if manager.is_ours and manager.needed:
        yield f'Cert-Manager will be upgraded from "{manager.current}" to "{manager.target}"\n'
    elif manager.is_ours:
        yield "Cert-Manager is already up to date\n"
    for plan in sorted(offers.plans, key=lambda plan: plan.contract):
        yield f"\nLatest release available for the {plan.contract} Cluster API contract version:\n"
        yield from _table(plan)
        yield ""
        if not plan.moves:
            yield "You are already up to date!\n"
        elif plan.contract == offers.contract:
            yield "You can now apply the upgrade by executing the following command:\n"
            yield f"clusterctl upgrade apply --contract {plan.contract}\n"
        else:
            yield (
                f"The current version of clusterctl could not upgrade to {plan.contract} contract "
                f"(only {offers.contract} supported).\n"
            )


def _table(plan: Plan) -> Iterable[str]:
    steps = sorted(plan.steps, key=lambda one: (one.installed.type, one.installed.name, one.installed.namespace))
    rows: list[Sequence[str]] = [_HEAD]
    for step in steps:
        one = step.installed
        rows.append((one.name, one.namespace, one.type, one.version, step.to or "Already up to date"))
    widths = [max(_NARROWEST, *(len(row[at]) + _GAP for row in rows)) for at in range(len(_HEAD) - 1)]
    for row in rows:
        yield "".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True))


def _apply(given: Given) -> None:
    import asyncio

    providers = named(given)
    if not given["contract"] and not providers:
        raise UsageError(f"say what to upgrade: --contract for all providers, or one of {FLAGS_IN_WORDS}")
    if given["contract"] and providers:
        raise UsageError(f"--contract means every provider: leave out {FLAGS_IN_WORDS}")
    asyncio.run(_upgrade(given))


async def _upgrade(given: Given) -> None:
    from mooring.clusterctl.config import read_configuration
    from mooring.clusterctl.upgrading import UpgradeOptions, upgrade
    from mooring.kube import Client

    options = UpgradeOptions(
        contract=given["contract"],
        wanted=named(given),
        wait_seconds=float(given["wait-provider-timeout"] or 300) if given["wait-providers"] else None,
        discard_changes=given["discard-changes"],
        compat=compat_of(given),
    )
    configuration = read_configuration(given["config"], given.environ)
    async with Client(management(given)) as client:
        await upgrade(client, configuration, options, progress=given.note)


PLAN: Final = Command(
    "plan",
    "Show which newer versions there are for the providers of a management cluster.",
    _plan,
    flags=(
        KUBECONFIG,
        CONTEXT,
        Flag("output", f"How to write it: {', '.join(FORMS)}.", letter="o", default="text"),
        COMPAT,
    ),
    most=None,  # the other one does not mind
    long="For each contract that the core provider can go to: the newest version of every provider that speaks it.",
    examples="upgrade plan\nupgrade plan -o json",
)
APPLY: Final = Command(
    "apply",
    "Upgrade providers in a management cluster.",
    _apply,
    flags=(
        KUBECONFIG,
        CONTEXT,
        Flag("contract", "Upgrade all providers to the newest that speaks this contract, such as v1beta2."),
        *provider_flags("to upgrade, as name:version. In place of --contract."),
        Flag("wait-providers", "Wait until the upgraded providers are available.", Form.SWITCH),
        Flag("wait-provider-timeout", "Seconds to wait for each of them.", Form.NUMBER, default=300),
        Flag(
            "discard-changes",
            "Do not keep flags, variables, resources and replicas that were changed on running controllers.",
            Form.SWITCH,
        ),
        COMPAT,
    ),
    examples="upgrade apply --contract v1beta2\nupgrade apply --infrastructure aws:v2.0.1",
)
COMMAND: Final = Command(
    "upgrade", "Upgrade the core and other providers of a management cluster.", words=(PLAN, APPLY)
)

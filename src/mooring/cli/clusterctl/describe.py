"""``describe cluster``: a cluster at a glance, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mooring.cli.clusterctl.common import CONTEXT, KUBECONFIG, NAMESPACE, management
from mooring.cli.clusterctl.tree import Command, Flag, Form, Given, UsageError

if TYPE_CHECKING:
    from mooring.clusterctl.describe import Options, Tree

FORMS: Final = ("text", "json", "yaml")
_CLEAR: Final = "\x1b[H\x1b[2J\x1b[3J"  # the whole screen, from its top, and what has left it


def _run(given: Given) -> int:
    import asyncio

    _checked(given)
    try:
        return asyncio.run(_watch(given) if given["watch"] else _once(given))
    except KeyboardInterrupt:
        if not given["watch"]:
            raise
        return 0  # there is no other way to end it


def _checked(given: Given) -> None:
    """What can be known to be wrong before anybody is asked."""
    wanted: str = given["show-conditions"]
    if any(word != word.strip() for word in wanted.split(",")):
        raise UsageError(
            f"invalid argument {wanted!r} for --show-conditions: write it without spaces, as kind/name,kind"
        )
    if given["output"] not in FORMS:
        raise UsageError(f"invalid argument {given['output']!r} for --output: write one of {', '.join(FORMS)}")
    from mooring.clusterctl.config import read_configuration

    read_configuration(given["config"], given.environ)  # nothing in it matters here, but a wrong name is told


async def _once(given: Given) -> int:
    from mooring.clusterctl.describe import Discovery, grow
    from mooring.kube import Client

    connection, options = management(given), _options(given)
    async with Client(connection) as client:
        namespace = given["namespace"] or connection.namespace
        seen = await Discovery(client, namespace, given.arguments[0], options).read()
    given.out.write(_told(given, grow(seen, options)))
    return 0


async def _watch(given: Given) -> int:
    """On a terminal each tree takes the place of the one before; elsewhere it follows it."""
    import contextlib

    from mooring.clusterctl.describe import Discovery, watched
    from mooring.clusterctl.errors import NotHere
    from mooring.kube import Client

    connection, told = management(given), 0
    async with Client(connection) as client:
        namespace = given["namespace"] or connection.namespace
        trees = watched(Discovery(client, namespace, given.arguments[0], _options(given)))
        async with contextlib.aclosing(trees):
            try:
                async for tree in trees:
                    given.out.write(_between(given, told) + _told(given, tree))
                    given.out.flush()
                    told += 1
            except NotHere as gone:
                if not told:
                    raise
                given.note(f"The cluster is gone: {gone}")
    return 0


def _between(given: Given, told: int) -> str:
    """What stands in front of a tree, so that it is not taken for a part of the one before."""
    if given["output"] == "text" and given.out.isatty():
        return _CLEAR
    if not told:
        return ""
    return {"text": "\n", "json": "", "yaml": "---\n"}[given["output"]]


def _options(given: Given) -> Options:
    from mooring.clusterctl.describe import Options

    return Options(
        conditions=given["show-conditions"],
        machine_sets=given["show-machinesets"],
        resource_sets=given["show-resourcesets"],
        templates=given["show-templates"],
        health_checks=given["show-machinehealthchecks"],
        echo=given["echo"],
        grouping=given["grouping"],
        old=not given["v1beta2"],
    )


def _told(given: Given, tree: Tree) -> str:
    from datetime import UTC, datetime

    from mooring.clusterctl.describe import Paint, as_data, as_text, wants_colour

    match given["output"]:
        case "json":
            import json

            return json.dumps(as_data(tree), indent=2, ensure_ascii=False) + "\n"
        case "yaml":
            from mooring.clusterctl.yamls import dump_one

            return dump_one(as_data(tree))
    if "color" in given.changed:
        colours = given["color"] and not given.environ.get("NO_COLOR")
    else:
        colours = wants_colour(given.environ, terminal=given.out.isatty())
    return as_text(tree, now=datetime.now(UTC), paint=Paint(colours))


CLUSTER: Final = Command(
    "cluster",
    "Tell how a cluster is, and where there are problems.",
    _run,
    (
        KUBECONFIG,
        CONTEXT,
        NAMESPACE,
        Flag(
            "show-conditions",
            "Show the conditions of these: kind or kind/name, parted by commas, or 'all'. "
            "With + behind it only those that want attention.",
        ),
        Flag("show-machinesets", "Show MachineSets.", Form.SWITCH),
        Flag("show-resourcesets", "Show the ClusterResourceSets of the cluster.", Form.SWITCH),
        Flag("show-templates", "Show the templates that machines are made from.", Form.SWITCH),
        Flag("show-machinehealthchecks", "Show MachineHealthChecks, with what they watch.", Form.SWITCH),
        Flag(
            "echo",
            "Show the infrastructure and bootstrap configuration of a machine also where they say what it says.",
            Form.SWITCH,
        ),
        Flag("grouping", "Show machines that say the same as one line.", Form.SWITCH, default=True),
        Flag(
            "v1beta2",
            "Use the conditions of v1beta2.",
            Form.SWITCH,
            default=True,
            deprecated="conditions of v1beta1 go with v1beta1 itself.",
        ),
        Flag("color", "Use colours, or don't. [default: on a terminal, unless NO_COLOR is set]", Form.SWITCH, "c"),
        Flag("output", "How to write it: text, json or yaml.", letter="o", default="text"),
        Flag("watch", "Write it again whenever something has changed, until Ctrl-C.", Form.SWITCH, "w"),
    ),
    arguments="NAME",
    least=1,
    most=1,
    long="""
        The text is the other clusterctl's own. For programs, -o json and -o yaml give a ClusterDescription of
        clusterctl.mooring.dev/v1, whose tree has one object per line of the text: apiVersion, kind, namespace, name,
        part (what it is to the one above it), version, deleting, replicas (current, desired, available, ready,
        upToDate), status (the condition that stands for it: type, status, severity, reason, message, since),
        conditions (those that --show-conditions asks for), members (of a group), children. A field with nothing to
        say is left out.
    """,
    examples=(
        "mooring clusterctl describe cluster harbour\n"
        "mooring clusterctl describe cluster harbour --show-conditions KubeadmControlPlane,Machine/harbour-1+\n"
        "mooring clusterctl describe cluster harbour --grouping=false --echo\n"
        "mooring clusterctl describe cluster harbour -o json"
    ),
)
COMMAND: Final = Command("describe", "Describe clusters.", words=(CLUSTER,))

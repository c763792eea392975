"""``generate cluster``, ``provider`` and ``yaml``; and ``config cluster`` and ``provider``, their names of old."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mooring.cli.clusterctl.common import COMPAT, CONTEXT, KUBECONFIG, compat_of, management
from mooring.cli.clusterctl.tree import Command, Flag, Form, Given, UsageError

if TYPE_CHECKING:
    from mooring.clusterctl.generating import Wanted
    from mooring.clusterctl.providers import ProviderType

_COUNT: Final = "control-plane-machine-count"
_OLD_COUNT: Final = "controlplane-machine-count"
_WRITE_TO: Final = Flag("write-to", "The file to write to. [default: standard output]")
_LIST: Final = Flag("list-variables", "Show which variables the template has, instead of the result.", Form.SWITCH)
_WATCHING: Final = Flag(
    "watching-namespace", "With --compat: the one namespace that the controllers watch. [default: all]"
)
_TYPES: Final = (  # flag, letter, type, example
    ("core", "", "CORE", "cluster-api:v1.14.2"),
    ("infrastructure", "i", "INFRASTRUCTURE", "aws:v2.9.0"),
    ("bootstrap", "b", "BOOTSTRAP", "kubeadm:v1.14.2"),
    ("control-plane", "c", "CONTROL_PLANE", "kubeadm:v1.14.2"),
    ("ipam", "", "IPAM", "in-cluster:v1.0.0"),
    ("runtime-extension", "", "RUNTIME_EXTENSION", "nutanix:v0.1.0"),
    ("addon", "", "ADDON", "helm:v0.3.0"),
)
_PROVIDERS: Final = tuple(Flag(flag, f"A provider, such as {like}.", letter=one) for flag, one, _, like in _TYPES)


def _cluster(given: Given) -> None:
    from mooring.clusterctl.config import read_configuration
    from mooring.clusterctl.generating import cluster_template
    from mooring.clusterctl.looping import run
    from mooring.clusterctl.management import Management

    wanted = _wanted(given)
    configuration = read_configuration(given["config"], given.environ)
    there = Management(lambda: management(given), named=bool(given["kubeconfig"]))
    template = run(cluster_template(wanted, configuration, there, given.stdin))
    if not wanted.listing:
        _write(given, template.text())
    elif wanted.compat:
        _list_plainly(given, template.variables)
        given.say()
    else:
        from mooring.cli.clusterctl.variable_lists import variable_list

        given.out.write(variable_list(template.variables, wanted, given.environ))


def _wanted(given: Given) -> Wanted:
    from mooring.clusterctl.generating import ConfigMapSource, Wanted

    from_map = given["from-config-map"], given["from-config-map-namespace"], given["from-config-map-key"]
    return Wanted(
        given.arguments[0],
        namespace=given["target-namespace"],
        kubernetes_version=given["kubernetes-version"],
        control_plane_count=_given_number(given, _COUNT, _OLD_COUNT),
        worker_count=_given_number(given, "worker-machine-count"),
        address=given["from"],
        config_map=ConfigMapSource(*from_map) if any(from_map) else None,
        infrastructure=given["infrastructure"],
        flavor=given["flavor"],
        listing=given["list-variables"],
        compat=compat_of(given),
    )


def _given_number(given: Given, *flags: str) -> int | None:
    said = {flag: given[flag] for flag in flags if flag in given.changed}
    if len(set(said.values())) > 1:
        raise UsageError(f"{' and '.join(f'--{flag}' for flag in said)} are the same flag, and differ")
    return next(iter(said.values()), None)


def _provider(given: Given) -> None:
    skip = given["raw"] or given["describe"]
    made = _components(given, skip_template=skip)
    if given["describe"]:
        _describe(given, made)
    else:
        _write(given, made.text())


def _old_provider(given: Given) -> None:
    if given["output"] not in ("text", "yaml"):
        raise UsageError(f"invalid argument {given['output']!r} for --output: write text or yaml")
    made = _components(given, skip_template=True)
    if given["output"] == "text":
        _describe(given, made)
    else:
        given.out.write(_ended(made.text()))


def _components(given: Given, *, skip_template: bool) -> Any:
    from mooring.clusterctl.components import Options
    from mooring.clusterctl.config import read_configuration
    from mooring.clusterctl.generating import provider_components
    from mooring.clusterctl.looping import run

    name, type_ = _chosen_provider(given)
    options = Options(
        target_namespace=given["target-namespace"],
        skip_template=skip_template,
        compat=compat_of(given),
        watching_namespace=given["watching-namespace"],
    )
    configuration = read_configuration(given["config"], given.environ)
    return run(provider_components(name, type_, options, configuration))


def _chosen_provider(given: Given) -> tuple[str, ProviderType]:
    from mooring.clusterctl.providers import ProviderType

    flags = ", ".join(f"--{flag}" for flag, *_ in _TYPES)
    chosen = [(given[flag], ProviderType[member]) for flag, _, member, _ in _TYPES if given[flag]]
    if len(chosen) != 1:
        raise UsageError(f"{'only' if chosen else 'at least'} one of {flags} should be set")
    return chosen[0]


def _yaml(given: Given) -> None:
    from mooring.clusterctl.config import read_configuration
    from mooring.clusterctl.errors import ClusterctlError
    from mooring.clusterctl.looping import run
    from mooring.clusterctl.sources import STDIN, read_from
    from mooring.clusterctl.templates import about, template_of

    configuration = read_configuration(given["config"], given.environ)
    if not given["from"]:
        raise ClusterctlError("--from is empty: name a file, an https address, or - for standard input")
    text = run(read_from(given["from"], configuration, given.stdin))
    with about("standard input" if given["from"] == STDIN else given["from"]):
        template = template_of(text, configuration, listing=given["list-variables"])
    if not given["list-variables"]:
        given.out.write(_ended(template.text()))
    elif template.variables:
        _list_plainly(given, template.variables)
    else:
        given.say()


def _list_plainly(given: Given, names: Any) -> None:
    if names:
        given.say("Variables:")
    for name in sorted(names):
        given.say(f"  - {name}")


def _describe(given: Given, made: Any) -> None:
    """What there is to know about the components, for people."""
    folder, _, file = made.provider.url.rpartition("/")
    above, slash, _ = folder.rpartition("/")  # without the version, which has a line of its own
    rows = [
        ("Name", made.provider.name),
        ("Type", made.provider.type),
        ("URL", above + slash),
        ("Version", made.version),
        ("File", file),
        ("TargetNamespace", made.target_namespace),
    ]
    if given["compat"]:
        rows.append(("WatchingNamespace", made.watching_namespace))
    for name, value in rows:
        given.say(f"{name + ':':<20}{value}")
    _list_plainly(given, made.variables)
    if made.images:
        given.say("Images:")
    for image in made.images:
        given.say(f"  - {image}")
    given.say()


def _write(given: Given, text: str) -> None:
    """Write to the file that was named, or else to standard output: whole or not at all."""
    target = given["write-to"].strip()
    if target in ("", "-"):
        given.out.write(_ended(text))
        return
    from mooring.cli.clusterctl.written import write_privately

    write_privately(target, _ended(text))


def _ended(text: str) -> str:
    """With one line end behind it, also if there is nothing else."""
    return text.removesuffix("\n") + "\n"


CLUSTER: Final = Command(
    "cluster",
    "Make the objects of a workload cluster from a template.",
    _cluster,
    (
        KUBECONFIG,
        CONTEXT,
        Flag("target-namespace", "The namespace of the workload cluster. [default: the context's]", letter="n"),
        Flag("kubernetes-version", "The Kubernetes version. [default: the variable KUBERNETES_VERSION]"),
        Flag(_COUNT, "How many control plane machines.", Form.NUMBER, default=1),
        Flag(_OLD_COUNT, f"The same as --{_COUNT}.", Form.NUMBER, default=1, hidden=True),
        Flag("worker-machine-count", "How many worker machines. (default 0)", Form.NUMBER),
        Flag(
            "infrastructure",
            "The provider with the template, as NAME[:VERSION]. [default: the installed one]",
            letter="i",
        ),
        Flag("flavor", "Which of the provider's templates. [default: the one without a flavor]", letter="f"),
        Flag("from", "Read the template from a file, an https address, or with - from standard input."),
        Flag("from-config-map", "Read the template from this ConfigMap."),
        Flag("from-config-map-namespace", "The ConfigMap's namespace. [default: the context's]"),
        Flag("from-config-map-key", "Where in the ConfigMap the template is. [default: template]"),
        _LIST,
        _WRITE_TO,
        COMPAT,
    ),
    arguments="NAME",
    least=1,
    most=1,
    long="The template comes from the infrastructure provider's repository, unless --from or --from-config-map names "
    "another place. Its variables are filled in from flags, the environment and the configuration file, and a "
    "ClusterClass that it needs is put in front.",
    examples="""
        mooring clusterctl generate cluster mine --kubernetes-version v1.34.0 > mine.yaml
        mooring clusterctl generate cluster mine --infrastructure aws:v2.9.0 --flavor ha --list-variables
        mooring clusterctl generate cluster mine --control-plane-machine-count 3 --worker-machine-count 10
        mooring clusterctl generate cluster mine --target-namespace harbour --from template.yaml
        mooring clusterctl generate cluster mine --from-config-map templates --from-config-map-key small
    """,
)
PROVIDER: Final = Command(
    "provider",
    "Show a provider's components, or what there is to know about them; variables stay as they are.",
    _old_provider,
    (
        *_PROVIDERS,
        Flag("target-namespace", "Where to install them. [default: the namespace in the file]"),
        Flag("output", "text or yaml.", letter="o", default="text"),
        _WATCHING,
        COMPAT,
    ),
)
COMMAND: Final = Command(
    "generate",
    "Make YAML: of a workload cluster, of a provider, or of any template.",
    words=(
        CLUSTER,
        Command(
            "provider",
            "Make the objects of a provider from its components.",
            _provider,
            (
                *_PROVIDERS,
                Flag("target-namespace", "Where to install them. [default: the namespace in the file]", letter="n"),
                Flag("describe", "Show what there is to know about the components, instead.", Form.SWITCH),
                Flag("raw", "Leave variables as they are.", Form.SWITCH),
                _WRITE_TO,
                _WATCHING,
                COMPAT,
            ),
        ),
        Command(
            "yaml",
            "Fill in the variables of a template.",
            _yaml,
            (Flag("from", "A file, an https address, or - for standard input.", default="-"), _LIST),
            most=None,
            examples="""
                mooring clusterctl generate yaml --from template.yaml
                mooring clusterctl generate yaml --list-variables < template.yaml
            """,
        ),
    ),
)

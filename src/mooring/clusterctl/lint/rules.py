"""The table: each normative sentence of the provider contract as a numbered rule.

A rule is of a repository, of one release, or of live objects; some can be judged by nobody who has only files, and say
so. ``today`` tells what today's clusterctl does about it, where that differs from the contract of v1alpha3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mooring.clusterctl.lint import contents, linked, releases, templates
from mooring.clusterctl.lint.material import Material, Release


class Level(StrEnum):
    """How much the contract wants it."""

    MUST = "MUST"  # must, required, expected
    SHOULD = "SHOULD"  # should, recommended


class Outcome(StrEnum):
    """What can be said about a rule."""

    PASS = "pass"  # noqa: S105 - the word, and no password
    FAIL = "fail"
    UNKNOWN = "not checkable from files"


OfRepository = Callable[[Material], Iterable[str]]
OfRelease = Callable[[Release], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. A check yields what breaks it; a rule without one cannot be judged from files, and tells why."""

    number: int
    level: Level
    topic: str  # the section of the contract
    text: str
    repository: OfRepository | None = None
    release: OfRelease | None = None
    live: bool = False  # judged by the objects of a management cluster
    unknown: str = ""
    today: str = ""

    @property
    def id(self) -> str:
        return f"P{self.number:02}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one rule, for the repository or for one of its releases."""

    rule: Rule
    outcome: Outcome
    release: str = ""
    findings: tuple[str, ...] = ()

    @property
    def breaks(self) -> bool:
        """Whether the contract is broken, and not merely a recommendation."""
        return self.outcome is Outcome.FAIL and self.rule.level is Level.MUST


_MUST, _SHOULD = Level.MUST, Level.SHOULD
_REPOSITORIES, _LOCAL, _METADATA = "Provider repositories", "Local repositories", "Metadata YAML"
_NAMES, _SHARED, _NAMESPACE = "Naming conventions", "Shared and instance components", "Target namespace"
_CONTROLLERS, _VARIABLES, _LABELS = "Controllers and watching namespace", "Variables", "Labels"
_TEMPLATES, _COMMON, _OWNERS = "Workload cluster templates", "Common variables", "OwnerReferences chain"
_CHANGES, _LINKS, _MOVE = "Transformations", "Links to external objects", "Move"
_COMPONENTS, _TODAY = "Components YAML", "Today's clusterctl"

_TABLE: Final[tuple[Rule, ...]] = (
    Rule(1, _MUST, _REPOSITORIES, "There is a repository: a folder with at least one release.", releases.any_release),
    Rule(2, _MUST, _REPOSITORIES, "Each release has a metadata.yaml.", release=releases.has_metadata),
    Rule(3, _MUST, _REPOSITORIES, "Each release has a components YAML.", release=releases.has_components),
    Rule(
        4,
        _SHOULD,
        _REPOSITORIES,
        "Each release of an infrastructure provider has workload cluster templates.",
        release=releases.has_templates,
    ),
    Rule(
        5,
        _MUST,
        _REPOSITORIES,
        "A release on GitHub is tagged with a semantic version, and has these files as assets.",
        unknown="A folder does not show what is published elsewhere; P02, P03 and P07 judge the same files here.",
    ),
    Rule(6, _MUST, _LOCAL, "The folder is called after the provider's label.", releases.labelled_folder),
    Rule(7, _MUST, _LOCAL, "The folder of each release is called after a semantic version.", releases.version_folders),
    Rule(
        8,
        _MUST,
        _METADATA,
        "metadata.yaml can be read, and lists at least one release series.",
        release=releases.readable_metadata,
    ),
    Rule(
        9,
        _MUST,
        _METADATA,
        "metadata.yaml maps the release's own series to a contract.",
        release=releases.own_series,
        today="Works only with the contracts v1beta1 and v1beta2.",
    ),
    Rule(
        10,
        _SHOULD,
        _METADATA,
        "metadata.yaml is published with every release, and keeps the older series.",
        releases.series_kept,
        today="An upgrade asks the newest metadata.yaml for the installed version's series.",
    ),
    Rule(
        11,
        _MUST,
        _COMPONENTS,
        "The components YAML can be read: known substitutions, valid YAML, objects only.",
        release=contents.readable,
    ),
    Rule(
        12,
        _MUST,
        _COMPONENTS,
        "It is one file with all that the provider needs: definitions, controller, rights.",
        release=contents.complete,
    ),
    Rule(
        13,
        _SHOULD,
        _NAMES,
        "The components YAML has the name that is recommended for the provider's type.",
        release=releases.components_name,
        today="Any name works that the provider's url ends with.",
    ),
    Rule(
        14,
        _MUST,
        _SHARED,
        "What all instances share (webhooks and what serves them) is in capi-webhook-system.",
        release=contents.shared_namespace,
        today="Has no shared components: everything goes into the one target namespace.",
    ),
    Rule(
        15,
        _SHOULD,
        _NAMESPACE,
        "There is a Namespace object, the default target namespace.",
        release=contents.has_namespace,
        today="Without one, --target-namespace must be given.",
    ),
    Rule(
        16,
        _MUST,
        _NAMESPACE,
        "There is no second Namespace object.",
        release=contents.one_namespace,
        today="Counts capi-webhook-system, too, and refuses the release.",
    ),
    Rule(
        17,
        _MUST,
        _NAMESPACE,
        "All namespaced objects belong to the target namespace.",
        release=contents.in_target_namespace,
    ),
    Rule(18, _MUST, _CONTROLLERS, "Controllers are deployed with a Deployment.", release=contents.has_deployment),
    Rule(
        19,
        _MUST,
        _CONTROLLERS,
        "The container with the controller is called manager.",
        release=contents.called_manager,
        today="--wait-providers waits only for Deployments with a manager.",
    ),
    Rule(
        20,
        _MUST,
        _CONTROLLERS,
        "The manager has a flag --namespace.",
        unknown="Only the program itself knows its flags.",
        today="Never sets it: managers watch all namespaces.",
    ),
    Rule(21, _SHOULD, _VARIABLES, "Variables begin with the provider's name.", release=contents.prefixed_variables),
    Rule(22, _SHOULD, _VARIABLES, "Variables are written without spaces: ${VAR}.", release=contents.no_spaces),
    Rule(
        23, _MUST, _VARIABLES, "Variables have plain names: nothing such as ${VAR$OTHER}.", release=contents.plain_names
    ),
    Rule(
        24,
        _SHOULD,
        _VARIABLES,
        "The variables of the components are documented, with notes on their values.",
        unknown="Documentation is elsewhere; 'mooring clusterctl docs' writes a first version of it.",
    ),
    Rule(
        25,
        _SHOULD,
        _LABELS,
        "All components are labelled with cluster.x-k8s.io/provider and the provider's label.",
        release=contents.labelled,
        today="Without it, what kubectl installed is not found for adoption.",
    ),
    Rule(
        26,
        _MUST,
        _TEMPLATES,
        "Templates lie beside the components, as cluster-template.yaml or cluster-template-FLAVOR.yaml.",
        release=templates.names,
    ),
    Rule(27, _SHOULD, _TEMPLATES, "The default template is called cluster-template.yaml.", release=templates.default),
    Rule(
        28,
        _MUST,
        _TEMPLATES,
        "Each template can be read, and holds all objects of a cluster in one YAML.",
        release=templates.readable,
    ),
    Rule(
        29,
        _SHOULD,
        _TEMPLATES,
        "The templates are documented.",
        unknown="Documentation is elsewhere; 'mooring clusterctl docs' writes a first version of it.",
    ),
    Rule(
        30,
        _MUST,
        _TEMPLATES,
        "A template takes its namespace as given, and has no Namespace object.",
        release=templates.no_namespace,
    ),
    Rule(31, _MUST, _TEMPLATES, "All objects of a template are in one namespace.", release=templates.one_namespace),
    Rule(
        32,
        _SHOULD,
        _TEMPLATES,
        "The variables of the templates are documented, with notes on their values.",
        unknown="Documentation is elsewhere; 'mooring clusterctl docs' writes a first version of it.",
    ),
    Rule(
        33,
        _SHOULD,
        _COMMON,
        "Templates use the common variables, so that the flags for them work.",
        release=templates.common_variables,
    ),
    Rule(
        34,
        _MUST,
        _OWNERS,
        "All objects of the provider's kinds are linked to a Cluster by owner references.",
        live=True,
        unknown="Files do not show that: name a management cluster with --kubeconfig.",
    ),
    Rule(
        35,
        _SHOULD,
        _OWNERS,
        "Objects that no core object refers to have an owner among the provider's own.",
        live=True,
        unknown="Files do not show that: name a management cluster with --kubeconfig.",
    ),
    Rule(
        36,
        _SHOULD,
        _CHANGES,
        "Nothing depends on names that an installation changes: the namespace, the names of ClusterRoles.",
        release=contents.no_fixed_names,
        today="Changes the namespace, and leaves the names of ClusterRoles alone.",
    ),
    Rule(
        37, _MUST, _LINKS, "The components refer to no object that is not among them.", release=linked.components_closed
    ),
    Rule(
        38,
        _MUST,
        _LINKS,
        "The templates refer to no object that is not in the same file.",
        release=linked.templates_closed,
    ),
    Rule(
        39,
        _SHOULD,
        _LINKS,
        "Links to what is elsewhere are documented, with their limits.",
        unknown="Documentation is elsewhere; P37 and P38 list such links.",
    ),
    Rule(
        40,
        _SHOULD,
        _MOVE,
        "Definitions that are moved by label are namespaced; others are copied and left behind.",
        release=contents.moved_definitions,
    ),
    Rule(
        41,
        _SHOULD,
        _MOVE,
        "What move leaves out is documented, with the steps to move it.",
        unknown="Documentation is elsewhere; 'mooring clusterctl docs' lists the kinds that are left out.",
    ),
    Rule(
        42,
        _MUST,
        _MOVE,
        "Controllers respect a Cluster's spec.paused.",
        unknown="Only the running controller shows that.",
    ),
    Rule(
        43,
        _MUST,
        _TODAY,
        "Definitions have the names and labels that today's Cluster API looks for.",
        release=contents.todays_definitions,
        today="init refuses other names; core finds no contract without the label.",
    ),
    Rule(
        44,
        _MUST,
        _TODAY,
        "Objects are of versions that today's API servers know.",
        release=contents.todays_versions,
        today="init stops at the first such object.",
    ),
    Rule(
        45,
        _MUST,
        _TODAY,
        "Images have canonical names.",
        release=contents.canonical_images,
        today="init refuses others.",
    ),
)
RULES: Final = {rule.id: rule for rule in _TABLE}

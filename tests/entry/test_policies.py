"""Who may enter: every policy on every way to a cluster, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api.access import AccessRequest, AccessRequestSpec, OidcAccess, TokenAccess
from mooring.api.claims import Claim, with_claims
from mooring.api.clusters import Cluster, ClusterProfile, ClusterProfileSpec, ClusterSpec, Tenancy
from mooring.api.kinds import Metadata
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL, claim_of
from mooring.api.policies import AccessPolicy, AccessRules
from mooring.api.rbac import Permission, PolicyRule, RoleBindings, RoleKind, RoleReference, Subject
from mooring.api.references import LocalReference, NearbyReference, ObjectReference
from mooring.api.requests import (
    ClusterRequest,
    ClusterRequestGrant,
    ClusterRequestStatus,
    GrantSpec,
)
from mooring.entry.creators import stamp_of
from mooring.entry.policies import Denial, cluster_named, judged, request_named, right_labels
from mooring.entry.resolving import Gap, Sources, Target, Unresolved, resolved
from mooring.kube import ObjectKey, key_of

TEAM = Claim(uid="1", namespace="here", name="team", prefix="abc-")
RULES = (PolicyRule(verbs=("get",), api_groups=("",), resources=("pods",)),)


def profile(name="gold", **rules):
    spec = ClusterProfileSpec(
        provider_ref=LocalReference(name="maker"),
        provider_config_ref=LocalReference(name="plain"),
        supported_versions=(),
        access=AccessRules(**rules) if rules else None,
    )
    return ClusterProfile(metadata=Metadata(name=name), spec=spec)


def cluster(namespace="there", *claims, tenancy=Tenancy.SHARED, name="home"):
    metadata = with_claims(Metadata(name=name, namespace=namespace), claims)
    return Cluster(metadata=metadata, spec=ClusterSpec(profile="gold", tenancy=tenancy))


def access(*, cluster=None, request=None, labels=None, ttl="", **way):
    spec = AccessRequestSpec(
        cluster_ref=None if cluster is None else NearbyReference(name="home", namespace=cluster),
        request_ref=None if request is None else NearbyReference(name="team", namespace=request),
        ttl=ttl,
        **(way or {"token": TokenAccess()}),
    )
    return AccessRequest(metadata=Metadata(name="entry", namespace="here", labels=labels or {}), spec=spec)


S, A, C = AccessPolicy.SAME_NAMESPACE, AccessPolicy.ALL, AccessPolicy.CREATOR

# What is named; where the cluster is; who has a claim on it; whether somebody said that the request has it; the policy
TABLE = [
    (access(cluster=""), cluster("here"), None, S, None),
    (access(cluster="here"), cluster("here"), None, S, None),
    (access(cluster="there"), cluster(), None, S, Denial.FOREIGN_NAMESPACE),
    (access(cluster="there"), cluster("there", TEAM), None, S, Denial.FOREIGN_NAMESPACE),
    (access(request=""), cluster("there", TEAM), None, S, None),
    (access(request="here"), cluster("there", TEAM), None, S, None),
    (access(request=""), cluster(), True, S, None),
    (access(request=""), cluster(), False, S, Denial.NO_CLAIM),
    (access(request="", cluster="there"), cluster("there", TEAM), None, S, None),
    (access(request="", cluster="there"), cluster(), False, S, Denial.NO_CLAIM),
    (access(request="", cluster="there"), cluster(), True, S, None),
    (access(request="there"), cluster(), True, S, Denial.FOREIGN_NAMESPACE),
    (access(request="there", cluster="there"), cluster("there", TEAM), True, S, Denial.FOREIGN_NAMESPACE),
    (access(request="there", cluster="here"), cluster("here"), False, S, None),
    (access(cluster="there"), cluster(), None, A, None),
    (access(request="there"), cluster(), None, A, None),
    (access(cluster="there"), cluster(), None, C, "ask"),
    (access(cluster="here"), cluster("here"), None, C, "ask"),
]


@pytest.mark.parametrize(("request_", "place", "holds", "policy", "end"), TABLE)
def test_the_policies(request_, place, holds, policy, end):
    verdict = judged(request_, place, profile(policy=policy), holds=holds)
    assert verdict.allowed == (end in (None, "ask"))
    assert verdict.ask_creator == (end == "ask")
    assert verdict.reason == ("" if verdict.allowed else end)
    assert bool(verdict.message) != verdict.allowed


def test_without_a_word_it_is_the_same_namespace():
    assert not judged(access(cluster="there"), cluster(), profile()).allowed
    assert judged(access(cluster=""), cluster("here"), profile()).allowed


def permissions(*namespaces):
    return TokenAccess(permissions=tuple(Permission(rules=RULES, namespace=one) for one in namespaces))


def references(*namespaces):
    return tuple(RoleReference(kind=RoleKind.CLUSTER_ROLE, name="view", namespace=one) for one in namespaces)


def oidc(*, roles=(), bound=(), **more):
    subject = Subject(kind="User", name="me")
    return OidcAccess(
        name="corp",
        issuer="https://example.com",
        client_id="me",
        role_bindings=(RoleBindings(subjects=(subject,), role_refs=references(*bound)),),
        roles=tuple(Permission(rules=RULES, namespace=one) for one in roles),
        **more,
    )


INSIDE = [
    {"token": permissions("abc-x", "abc-")},
    {"token": TokenAccess()},
    {"token": TokenAccess(role_refs=references("abc-x"))},
    {"oidc": oidc(roles=("abc-x",), bound=("abc-y",))},
    {"oidc": oidc(bound=("abc-y",), username_prefix="corp", groups_prefix="teams:")},
]
OUTSIDE = [
    ({"token": permissions("abc-x", "")}, "spec.token.permissions[1]"),
    ({"token": permissions("abd-x")}, "spec.token.permissions[0].namespace"),
    ({"token": TokenAccess(role_refs=references(""))}, "spec.token.roleRefs[0]"),
    ({"oidc": oidc(roles=("",))}, "spec.oidc.roles[0]"),
    ({"oidc": oidc(bound=("abc-x", "kube-system"))}, "spec.oidc.roleBindings[0].roleRefs[1].namespace"),
    # Without a prefix, the issuer could say that somebody is any user or group of the cluster.
    ({"oidc": oidc(bound=("abc-x",), username_prefix="")}, "spec.oidc.usernamePrefix"),
    ({"oidc": oidc(bound=("abc-x",), groups_prefix="")}, "spec.oidc.groupsPrefix"),
]


@pytest.mark.parametrize("way", INSIDE)
def test_within_the_prefix(way):
    assert judged(access(request="", **way), cluster("there", TEAM), profile(bound_to_prefix=True)).allowed


@pytest.mark.parametrize(("way", "field"), OUTSIDE)
def test_outside_of_the_prefix(way, field):
    verdict = judged(access(request="", **way), cluster("there", TEAM), profile(bound_to_prefix=True))
    assert verdict.reason == Denial.OUTSIDE_PREFIX
    assert verdict.message.startswith(field)
    alone = cluster("there", TEAM, tenancy=Tenancy.EXCLUSIVE)
    assert judged(access(request="", **way), alone, profile(bound_to_prefix=True)).allowed, "it shares with nobody"


@pytest.mark.parametrize(("prefix", "namespace"), [("kub", "kube-system"), ("acc", "accessrequests")])
def test_a_prefix_leads_into_no_namespace_of_the_system(prefix, namespace):
    claim = Claim(uid="1", namespace="here", name="team", prefix=prefix)
    way = {"token": TokenAccess(permissions=(Permission(namespace=namespace, rules=RULES),))}
    verdict = judged(access(request="", **way), cluster("there", claim), profile(bound_to_prefix=True))
    assert verdict.reason == Denial.OUTSIDE_PREFIX
    assert namespace in verdict.message


def test_a_shared_cluster_is_not_entered_without_a_prefix():
    verdict = judged(access(cluster=""), cluster("here"), profile(bound_to_prefix=True))
    assert verdict.reason == Denial.OUTSIDE_PREFIX


def test_the_prefix_of_others_is_not_lent():
    """The cluster is in the own namespace; the request that is named, and its prefix, are another team's."""
    theirs = Claim(uid="2", namespace="there", name="team", prefix="abc-")
    way = {"token": permissions("abc-x")}
    place = cluster("here", theirs)
    for policy, allowed in ((S, False), (C, False), (A, True)):
        verdict = judged(access(request="there", **way), place, profile(policy=policy, bound_to_prefix=True))
        assert verdict.allowed == allowed


# -- the request itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", AccessPolicy)
@pytest.mark.parametrize("label", [PROVIDER_LABEL, PROFILE_LABEL])
def test_a_wrong_label_gets_nothing_whatever_the_policy(policy, label):
    request = access(cluster="", labels=right_labels(profile()) | {label: "other"})
    verdict = judged(request, cluster("here"), profile(policy=policy))
    assert verdict.reason == Denial.WRONG_LABEL
    for word in (label, "'other'", right_labels(profile())[label]):
        assert word in verdict.message
    assert judged(access(cluster="", labels=right_labels(profile())), cluster("here"), profile()).allowed


@pytest.mark.parametrize(("ttl", "passes"), [("", 1), ("8h", 1), ("0s", 0), ("-1h", 0), ("soon", 0), ("1d", 0)])
def test_a_ttl_is_a_time(ttl, passes):
    verdict = judged(access(cluster="", ttl=ttl), cluster("here"), profile())
    assert verdict.allowed == bool(passes)
    assert verdict.reason == ("" if passes else Denial.INVALID_TTL)


_TEXT = st.sampled_from(["", "here", "there"])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    named=st.tuples(st.none() | _TEXT, st.none() | _TEXT),
    place=st.sampled_from(["here", "there"]),
    claimed=st.booleans(),
    holds=st.sampled_from([None, True, False]),
)
def test_nobody_gets_out_of_their_namespace_by_the_usual_policy(named, place, claimed, holds):
    """Whoever enters is in the namespace of the cluster, or of a request that has it."""
    request = access(cluster=named[0], request=named[1])
    where = cluster(place, *([TEAM] if claimed else []))
    verdict = judged(request, where, profile(), holds=holds)
    asked = request_named(request)
    near = place == "here" or (asked == ObjectKey("here", "team") and (claimed or holds is True))
    assert verdict.allowed == near
    # More claims, or a looser policy, never shut anybody out.
    assert judged(request, cluster(place, TEAM), profile(), holds=True).allowed >= verdict.allowed
    assert judged(request, where, profile(policy=A), holds=holds).allowed


# -- resolving --------------------------------------------------------------------------------------------------------


def asked(status=None, uid="1", **metadata):
    return ClusterRequest(metadata=Metadata(name="team", namespace="here", uid=uid, **metadata), status=status)


def told(phase, cluster=None):
    where = None if cluster is None else ObjectReference(name="home", namespace=cluster)
    return ClusterRequestStatus(observed_generation=1, phase=phase, message="Because.", cluster=where)


def grant(namespace="there"):
    spec = GrantSpec(cluster_ref=ObjectReference(name="home", namespace=namespace))
    return ClusterRequestGrant(metadata=Metadata(name="team", namespace="here"), spec=spec)


def sources(*things):
    kinds = (ClusterRequest, ClusterRequestGrant, Cluster, ClusterProfile)
    found = [{key_of(one): one for one in things if isinstance(one, kind)} for kind in kinds]
    return Sources(requests=found[0], grants=found[1], clusters=found[2], profiles=found[3])


ENDS = [
    (AccessRequest(metadata=Metadata(name="entry", namespace="here")), (), Gap.NO_REFERENCE, None),
    (access(cluster=""), (), Gap.CLUSTER_MISSING, ("Cluster", "here/home")),
    (access(cluster="there"), (cluster(),), Gap.PROFILE_MISSING, ("ClusterProfile", "gold")),
    (access(request=""), (), Gap.REQUEST_MISSING, ("ClusterRequest", "here/team")),
    (access(request=""), (grant(), cluster(), profile()), Gap.REQUEST_MISSING, ("ClusterRequest", "here/team")),
    (access(request=""), (asked(),), Gap.REQUEST_PENDING, None),
    (access(request=""), (asked(told("Denied")),), Gap.REQUEST_DENIED, None),
    (access(request=""), (asked(deletion_timestamp="now"),), Gap.REQUEST_TERMINATING, None),
    (access(request=""), (asked(), grant()), Gap.CLUSTER_MISSING, ("Cluster", "there/home")),
]


@pytest.mark.parametrize(("request_", "things", "gap", "missing"), ENDS)
def test_where_the_way_ends(request_, things, gap, missing):
    end = resolved(request_, sources(*things))
    assert isinstance(end, Unresolved)
    assert end.gap is gap
    assert (None if end.missing is None else (end.missing[0].kind, str(end.missing[1]).lstrip("/"))) == missing


WAYS = [
    (access(cluster=""), (cluster("here"),), "here", False),
    (access(request=""), (asked(), grant(), cluster()), "there", True),
    (access(request=""), (asked(told("Granted", "there")), cluster()), "there", True),
    (access(request=""), (asked(told("Granted", "here")), grant(), cluster("here"), cluster()), "there", True),
    (access(request="", cluster="here"), (asked(), grant(), cluster("here"), cluster()), "here", False),
    (access(request="", cluster="there"), (asked(), grant(), cluster("here"), cluster()), "there", True),
    (access(request="", cluster="there"), (grant(), cluster()), "there", False),
]


@pytest.mark.parametrize(("request_", "things", "place", "holds"), WAYS)
def test_where_the_way_leads(request_, things, place, holds):
    target = resolved(request_, sources(profile(), *things))
    assert isinstance(target, Target)
    assert (key_of(target.cluster), target.holds) == (ObjectKey(place, "home"), holds)


def test_names_are_of_the_own_namespace_if_none_is_given():
    assert cluster_named(access(cluster="")) == ObjectKey("here", "home")
    assert request_named(access(request="there")) == ObjectKey("there", "team")
    assert cluster_named(access(request="")) is None
    assert claim_of("1") in cluster("there", TEAM).metadata.finalizers


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"user": 1}', '{"user": ""}', '{"groups": ["a"]}'])
def test_what_is_no_stamp_is_none(text):
    annotations = {"mooring.dev/creator": text}
    assert stamp_of(AccessRequest(metadata=Metadata(annotations=annotations))) is None

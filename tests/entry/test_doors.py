"""Which objects a request becomes, and which requests become none."""

import msgspec
import pytest
from entry_kit import RBAC, a_rule, an_entrant, new_namespace, oidc, picture, reading, token, unique
from hypothesis import given, settings
from hypothesis import strategies as st
from rights_kit import wishes

from mooring.entry.closing import close
from mooring.entry.doors import Unfit, groups_prefix, oidc_door, token_door, username_prefix
from mooring.entry.opening import NamespaceMissing, NotOurs, make, parts_of
from mooring.kube.errors import KubeError
from mooring.testing.builders import CONFIG_MAPS, config_map

ENTRANT = an_entrant("one", uid="5b8a5a4e-0000-4000-8000-000000000000")
LONG = "x" * 1100


def subjects_of(door):
    return [subject["name"] for one in door.objects if "subjects" in one for subject in one["subjects"]]


@pytest.mark.parametrize(
    ("chosen", "prefix"),
    [(None, "corp:"), ("", ""), ("my-user:", "my-user:"), ("my-user", "my-user:"), (":", ":")],
)
def test_prefixes_of_an_identity_provider(chosen, prefix):
    """Absent: the provider's name; empty: none; and one that does not end in a colon gets one."""
    users, groups = oidc(usernamePrefix=chosen), oidc(groupsPrefix=chosen)
    assert (username_prefix(users), groups_prefix(users)) == (prefix, "corp:")
    assert (username_prefix(groups), groups_prefix(groups)) == ("corp:", prefix)


def test_subjects_get_the_prefix_of_their_kind():
    subjects = [
        {"kind": "User", "name": "jane"},
        {"kind": "Group", "name": "devs"},
        {"kind": "User", "name": "::jane"},
        {"kind": "Group", "name": "::system:authenticated"},
        {"kind": "User", "name": "a::b"},
        {"kind": "User", "name": "::::c"},
        {"kind": "ServiceAccount", "name": "bot", "namespace": "team"},
    ]
    bound = {"subjects": subjects, "roleRefs": [{"kind": "ClusterRole", "name": "view"}]}
    door = oidc_door(ENTRANT, oidc(usernamePrefix="u", groupsPrefix="g:", roleBindings=[bound]))
    assert subjects_of(door) == ["u:jane", "g:devs", "jane", "system:authenticated", "u:a::b", "::c", "bot"]
    (binding,) = door.objects
    assert binding["subjects"][0] == {"kind": "User", "name": "u:jane", "apiGroup": RBAC}
    assert binding["subjects"][-1] == {"kind": "ServiceAccount", "name": "bot", "namespace": "team"}
    assert door.account == ""


def test_bindings_of_an_identity_provider_are_named_as_upstream_names_them():
    roles = [{"kind": "ClusterRole", "name": "view"}, {"kind": "Role", "name": "own", "namespace": "team"}]
    bound = {"subjects": [{"kind": "User", "name": "jane"}], "roleRefs": roles}
    door = oidc_door(ENTRANT, oidc(roles=[reading(), reading(name="own", namespace="team")], roleBindings=[bound] * 2))
    assert [(one["kind"], one["metadata"]["name"]) for one in door.objects] == [
        ("ClusterRole", f"openmcp:permission:{ENTRANT.hash}:0"),
        ("Role", "own"),
        ("ClusterRoleBinding", f"openmcp:{ENTRANT.hash}:0:0"),
        ("RoleBinding", f"openmcp:{ENTRANT.hash}:0:1"),
        ("ClusterRoleBinding", f"openmcp:{ENTRANT.hash}:1:0"),
        ("RoleBinding", f"openmcp:{ENTRANT.hash}:1:1"),
    ]


@settings(deadline=None, derandomize=True, max_examples=200)
@given(first=wishes(["a", "b"], [{"kind": "ClusterRole", "name": "view"}]), second=st.data())
def test_the_fingerprint_changes_exactly_when_objects_do(first, second):
    other = second.draw(st.one_of(st.just(first), wishes(["a", "b"], [{"kind": "ClusterRole", "name": "view"}])))
    one, two = (token_door(ENTRANT, token(**wish)) for wish in (first, other))
    plain = [msgspec.json.decode(msgspec.json.encode(door.objects)) for door in (one, two)]
    assert (one.fingerprint == two.fingerprint) == (plain[0] == plain[1])
    assert one.fingerprint == token_door(ENTRANT, token(**first)).fingerprint
    # Objects as a server would tell them: nothing needs mending that is as it was written.
    assert list(one.objects) == plain[0]


def test_the_fingerprint_is_of_the_objects_alone():
    plain = token_door(ENTRANT, token(permissions=[reading(namespace="a")]))
    closed = reading(namespace="a", disableAutomaticNamespaceCreation=True)
    assert token_door(ENTRANT, token(permissions=[closed], lifetime="1h")).fingerprint == plain.fingerprint
    assert token_door(ENTRANT, token(permissions=[reading()])).fingerprint != plain.fingerprint
    assert (
        token_door(ENTRANT, token(permissions=[reading(namespace="a")]), accounts="x").fingerprint != plain.fingerprint
    )
    assert token_door(an_entrant(), token(permissions=[reading(namespace="a")])).fingerprint != plain.fingerprint


PATH_RULE = {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}
BAD_NAMES = [".", "..", "a/b", "../../secrets", "a%2fb", "/", LONG]
BAD_NAMESPACES = [".", "..", "a/b", "../kube-system", "a b", "a:b", "Ä", "UPPER", "-a", "a-", "x" * 64, "a\n"]
BAD_PERMISSIONS = [
    *(({"name": name}, "permissions[0].name") for name in [*BAD_NAMES, "x" * 254]),
    *(({"namespace": name}, "permissions[0].namespace") for name in BAD_NAMESPACES),
    ({"rules": [a_rule() | {"verbs": []}]}, "permissions[0].rules[0].verbs"),
    ({"rules": [a_rule(), a_rule() | {"apiGroups": []}]}, "permissions[0].rules[1].apiGroups"),
    ({"rules": [a_rule() | {"resources": []}]}, "permissions[0].rules[0].resources"),
    ({"rules": [a_rule() | {"nonResourceURLs": ["/x"]}]}, "permissions[0].rules[0].nonResourceURLs"),
    ({"rules": [PATH_RULE | {"resourceNames": ["x"]}]}, "permissions[0].rules[0].nonResourceURLs"),
    ({"rules": [PATH_RULE], "namespace": "a"}, "permissions[0].rules[0].nonResourceURLs"),
    ({"name": f"openmcp:permission:{ENTRANT.hash}:7"}, "permissions[0].name"),
    ({"name": f"openmcp:roleref:{ENTRANT.hash}:0"}, "permissions[0].name"),
    ({"name": f"openmcp:{ENTRANT.hash}:0:0"}, "permissions[0].name"),
]


@pytest.mark.parametrize(("fields", "field"), BAD_PERMISSIONS)
def test_a_permission_that_cannot_be_made_is_told_by_its_field(fields, field):
    with pytest.raises(Unfit) as told:
        token_door(ENTRANT, token(permissions=[reading(**fields) if "rules" not in fields else fields]))
    assert f"spec.token.{field}" in str(told.value)
    with pytest.raises(Unfit) as told:
        oidc_door(ENTRANT, oidc(roles=[reading(**fields) if "rules" not in fields else fields]))
    assert f"spec.oidc.{field.replace('permissions', 'roles')}" in str(told.value)
    assert len(str(told.value)) < 400


def test_two_permissions_of_one_name():
    with pytest.raises(Unfit, match=r"spec\.token\.permissions\[2\]\.name is 'a'.*permissions\[0\]"):
        token_door(ENTRANT, token(permissions=[reading(name="a"), reading(name="a", namespace="x"), reading(name="a")]))


@pytest.mark.parametrize(
    ("role", "field"),
    [
        *(({"kind": "ClusterRole", "name": name}, "name") for name in [*BAD_NAMES, ""]),
        *(({"kind": "Role", "name": "a", "namespace": name}, "namespace") for name in BAD_NAMESPACES),
        ({"kind": "Role", "name": "a"}, "namespace"),
    ],
)
def test_a_reference_that_cannot_be_meant_is_told_by_its_field(role, field):
    with pytest.raises(Unfit) as told:
        token_door(ENTRANT, token(roleRefs=[{"kind": "ClusterRole", "name": "view"}, role]))
    assert f"spec.token.roleRefs[1].{field}" in str(told.value)
    with pytest.raises(Unfit) as told:
        oidc_door(ENTRANT, oidc(roleBindings=[{"subjects": [], "roleRefs": [role]}]))
    assert f"spec.oidc.roleBindings[0].roleRefs[0].{field}" in str(told.value)


@pytest.mark.parametrize(
    ("subject", "field"),
    [
        ({"kind": "User", "name": ""}, "name"),
        ({"kind": "Group", "name": "::"}, "name"),
        ({"kind": "ServiceAccount", "name": "bot"}, "namespace"),
        ({"kind": "Robot", "name": "bot"}, "kind"),
    ],
)
def test_a_subject_that_is_nobody_is_told_by_its_field(subject, field):
    bound = {
        "subjects": [{"kind": "User", "name": "jane"}, subject],
        "roleRefs": [{"kind": "ClusterRole", "name": "a"}],
    }
    with pytest.raises(Unfit) as told:
        oidc_door(ENTRANT, oidc(roleBindings=[bound]))
    assert f"spec.oidc.roleBindings[0].subjects[1].{field}" in str(told.value)


@pytest.mark.parametrize("name", ["a b", "a:b", "Ünïcödé", "…", "x" * 253, "a?b#c", "-", "a\\b", "\u202e", "a;b&c=d"])
async def test_strange_names_that_servers_take_are_just_names(own_kube, name):
    """RBAC's names are free; each of them is that object, and no other."""
    accounts, entrant = await new_namespace(own_kube), an_entrant()
    unlike = f"{name[:240]}{unique()}"
    door = token_door(entrant, token(permissions=[reading(name=unlike, namespace=accounts)]), accounts=accounts)
    await make(own_kube, door)
    await make(own_kube, door)
    assert {key.name for _, key in await parts_of(own_kube, entrant)} == {unlike, entrant.hash}
    await close(own_kube, entrant, accounts=accounts)
    assert await picture(own_kube, entrant) == {}


words = st.text(max_size=12) | st.sampled_from(["", "*", "..", "a/b", "a b", "%2e", "\x00", "é", LONG])


async def test_whatever_is_asked_for_is_made_or_refused_in_so_many_words(own_kube):
    """Never a traceback of another sort, and nothing of anybody else is touched."""
    accounts = await new_namespace(own_kube)
    await own_kube.create(CONFIG_MAPS, config_map("bystander", accounts))
    some = st.lists(words, max_size=2)
    rule = st.fixed_dictionaries(
        {"verbs": some}, optional={"apiGroups": some, "resources": some, "resourceNames": some, "nonResourceURLs": some}
    )
    permission = st.fixed_dictionaries(
        {"rules": st.lists(rule, max_size=2)}, optional={"name": words, "namespace": st.just(accounts) | words}
    )
    asked: list[dict[str, object]] = []

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(permission)
    def draw(drawn):
        asked.append(drawn)

    draw()
    ends = set()
    for one in asked:
        entrant = an_entrant()
        try:
            await make(own_kube, token_door(entrant, token(permissions=[one]), accounts=accounts))
            ends.add("made")
        except (Unfit, KubeError, NotOurs, NamespaceMissing) as error:
            ends.add(type(error).__name__)
        made = {key.name for kind, key in await parts_of(own_kube, entrant) if kind != "ServiceAccount"}
        assert made <= {one.get("name") or f"openmcp:permission:{entrant.hash}:0"}
        await close(own_kube, entrant, accounts=accounts)
    assert {"made", "Unfit"} <= ends
    assert await own_kube.get(CONFIG_MAPS, "bystander", namespace=accounts)

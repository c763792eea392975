"""What RBAC should say of a wish, worked out from the wish alone, and wishes to try it on.

Nothing here reads what is made in the cluster.
"""

from __future__ import annotations

import itertools

from entry_kit import about
from hypothesis import strategies as st

THINGS = [
    ("", "pods", ""),
    ("", "pods", "log"),
    ("", "secrets", ""),
    ("apps", "deployments", ""),
    ("apps", "deployments", "scale"),
    ("rbac.authorization.k8s.io", "clusterroles", ""),
    ("example.dev", "widgets", ""),
]
VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
MIGHTY = ["escalate", "bind", "impersonate"]  # by which one gets further rights
PATHS = ["/healthz", "/metrics", "/metrics/slis", "/api"]


def every_question(namespaces):
    """Each verb on each resource, in each namespace and in none, with a name and without; and paths."""
    asked = [
        about(verb, resource, group=group, subresource=part, namespace=namespace, name=name)
        for (group, resource, part), verb, namespace, name in itertools.product(
            THINGS, VERBS + MIGHTY, ["", *namespaces], ["", "one"]
        )
    ]
    paths = [{"nonResourceAttributes": {"path": path, "verb": verb}} for path in PATHS for verb in ("get", "post")]
    return asked + paths


def should(wish, known, question):
    """``known``: the rules of roles that are there, by kind, namespace and name."""
    namespace = question.get("resourceAttributes", {}).get("namespace", "")
    for permission in wish["permissions"]:
        if permission.get("namespace", "") in ("", namespace) and any(
            allows(rule, question) for rule in permission["rules"]
        ):
            return True
    for role in wish["roleRefs"]:
        place = role.get("namespace", "")
        rules = known.get((role["kind"], place if role["kind"] == "Role" else "", role["name"]), [])
        # By a binding in a namespace, no path is ever allowed.
        if place and "nonResourceAttributes" in question:
            continue
        if place in ("", namespace) and any(allows(rule, question) for rule in rules):
            return True
    return False


def allows(rule, question):
    if path := question.get("nonResourceAttributes"):
        return fits(rule["verbs"], path["verb"]) and any(
            path["path"].startswith(one[:-1]) if one.endswith("*") else path["path"] == one
            for one in rule.get("nonResourceURLs", [])
        )
    asked = question["resourceAttributes"]
    whole = "/".join(filter(None, (asked["resource"], asked["subresource"])))
    spellings = {whole, "*"} | ({f"*/{asked['subresource']}"} if asked["subresource"] else set())
    names = rule.get("resourceNames", [])
    return (
        fits(rule["verbs"], asked["verb"])
        and fits(rule.get("apiGroups", []), asked["group"])
        and bool(spellings & set(rule.get("resources", [])))
        and (not names or asked["name"] in names)
    )


def fits(words, word):
    return "*" in words or word in words


def some(*words, least=1, most=3):
    return st.lists(st.sampled_from(words), min_size=least, max_size=most, unique=True)


def rules(*, of_cluster):
    of_resources = st.fixed_dictionaries(
        {
            "verbs": some(*VERBS, *MIGHTY, "*"),
            "apiGroups": some("", "apps", "example.dev", "rbac.authorization.k8s.io", "*"),
            "resources": some("pods", "pods/log", "secrets", "deployments", "*/scale", "widgets", "clusterroles", "*"),
        },
        optional={"resourceNames": some("one", "two", least=0, most=2)},
    )
    of_paths = st.fixed_dictionaries(
        {"verbs": some("get", "post", "*"), "nonResourceURLs": some("/healthz", "/metrics/*", "/api*", "*")}
    )
    return st.lists(st.one_of(of_resources, of_paths) if of_cluster else of_resources, min_size=0, max_size=3)


def wishes(namespaces, references):
    in_cluster = st.fixed_dictionaries({"rules": rules(of_cluster=True)})
    in_namespace = st.fixed_dictionaries({"rules": rules(of_cluster=False), "namespace": st.sampled_from(namespaces)})
    return st.fixed_dictionaries(
        {
            "permissions": st.lists(st.one_of(in_cluster, in_namespace), max_size=3),
            "roleRefs": st.lists(st.sampled_from(references), max_size=2),
        }
    )

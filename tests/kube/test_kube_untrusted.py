"""A kubeconfig out of an API object: data only, whatever it says."""

import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mooring.kube import Connection, connection_from_untrusted
from mooring.kube.errors import ConfigError


def document(*, cluster=None, user=None):
    return {
        "clusters": [
            {"name": "used", "cluster": {"server": "https://one.example"}},
            {"name": "unused", "cluster": {"server": "https://two.example", **(cluster or {})}},
        ],
        "users": [{"name": "used", "user": {"token": "t"}}, {"name": "unused", "user": user or {}}],
        "contexts": [{"name": "c", "context": {"cluster": "used", "user": "used"}}],
        "current-context": "c",
    }


def test_data_is_taken():
    text = yaml.safe_dump(document(user={"token": "x", "exec": None, "tokenFile": ""}))
    assert connection_from_untrusted(text).server == "https://one.example"
    assert connection_from_untrusted(text.encode()).server == "https://one.example"


REFUSED = {
    "users[1].user.exec": {"user": {"exec": {"command": "sh"}}},
    "users[1].user.auth-provider": {"user": {"auth-provider": {"name": "x"}}},
    "users[1].user.tokenFile": {"user": {"tokenFile": "/etc/passwd"}},
    "users[1].user.client-certificate": {"user": {"client-certificate": "a"}},
    "users[1].user.client-key": {"user": {"client-key": "a"}},
    "clusters[1].cluster.certificate-authority": {"cluster": {"certificate-authority": "/etc/passwd"}},
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_reaches_beyond_the_document_is_refused_by_name(field):
    with pytest.raises(ConfigError) as caught:
        connection_from_untrusted(yaml.safe_dump(document(**REFUSED[field])))
    assert caught.value.field == field
    assert caught.value.remedy


def test_nothing_is_run_or_read(tmp_path):
    witness = tmp_path / "ran"
    run = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(witness)]}}
    for hidden in (run, {"exec": {}}, {"exec": []}, {"exec": "touch"}, {"exec": False}, {"tokenFile": 0}):
        with pytest.raises(ConfigError):
            connection_from_untrusted(yaml.safe_dump(document(user=hidden)))
    assert not witness.exists()


LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
HOSTILE = {
    "aliases": LAUGHS,
    "merges": "a0: &a0 {k0: 0}\n"
    + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: 0}}\n" for n in range(1, 60)),
    "deep lists": "[" * 100_000,
    "deep maps": "{a: " * 50_000,
    "deep blocks": "\n".join(" " * n + "a:" for n in range(3_000)),
    "large": "a: " + "x" * 3_000_000,
    "python": "!!python/object/apply:os.system [true]",
    "date": "2001-99-99",
    "empty int": "!!int ''",
    "bool": "!!bool maybe",
    "long int": "9" * 5_000,
    "unhashable key": "? {a: b}\n: c",
    "binary": b"\xff\xfe\x00",
    "nul": "a\x00b",
    "two documents": "---\na: 1\n---\nb: 2\n",
    "self": "&a [*a]",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_is_an_error_and_soon(case):
    started = time.monotonic()
    with pytest.raises(ConfigError):
        connection_from_untrusted(HOSTILE[case])
    assert time.monotonic() - started < 10


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
FIELDS = [
    "server", "token", "exec", "tokenFile", "client-key", "client-key-data", "proxy-url", "as", "as-groups",
    "certificate-authority-data", "insecure-skip-tls-verify", "as-user-extra", "username",
]  # fmt: skip


@given(st.text() | st.binary())
def test_any_text_is_a_connection_or_a_config_error(text):
    with pytest.raises(ConfigError):
        connection_from_untrusted(text)


@given(
    cluster=st.dictionaries(st.sampled_from(FIELDS), json_values) | json_values,
    user=st.dictionaries(st.sampled_from(FIELDS), json_values) | json_values,
    context=json_values,
)
def test_any_value_anywhere_is_a_connection_or_a_config_error(cluster, user, context):
    text = yaml.safe_dump(
        {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "c", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": context}}],
            "current-context": "c",
        }
    )
    try:
        connection = connection_from_untrusted(text)
    except ConfigError:
        return
    assert isinstance(connection, Connection)

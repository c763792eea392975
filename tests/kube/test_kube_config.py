"""Where a connection comes from: kubeconfig files as kubectl reads them, KUBECONFIG lists, the pod."""

import base64
import datetime

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mooring.api.kubeconfigs import ClientCertificate
from mooring.kube import Client, Connection, connection_from_document, load_connection
from mooring.kube.credentials import TokenFile, bearer, certificate_only
from mooring.kube.errors import ConfigError, KubeError
from mooring.kube.proxies import Proxy, proxy_from_environment
from mooring.kube.tls import tls_context

SERVER = "https://one.example:6443"


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch, tmp_path):
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def document(*, server=SERVER, cluster=None, user=None, context=None, name="c"):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u", **(context or {})}}],
        "current-context": name,
    }


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody")])
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    locked = serialization.BestAvailableEncryption(b"secret")
    return (
        signed.public_bytes(pem),
        key.private_bytes(pem, form, plain),
        key.private_bytes(pem, form, locked),
    )


def b64(data):
    return base64.b64encode(data).decode()


async def authorization(connection):
    return (await connection.credentials.identity()).authorization


async def test_an_explicit_file_wins_over_everything(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(write(tmp_path / "env", document(server="https://env.example"))))
    file = write(tmp_path / "file", document(user={"token": "t0"}, context={"namespace": "team"}))
    connection = load_connection(file)
    assert (connection.server, connection.namespace) == (SERVER, "team")
    assert await authorization(connection) == "Bearer t0"


def test_a_list_merges_and_the_first_to_say_something_wins(tmp_path, monkeypatch):
    first = document(server="https://first.example", name="shared")
    second = document(server="https://second.example", name="shared", cluster={"tls-server-name": "late"})
    second["clusters"].append({"name": "other", "cluster": {"server": "https://other.example"}})
    second["contexts"].append({"name": "other", "context": {"cluster": "other", "user": "u"}})
    second["current-context"] = "other"
    files = [tmp_path / "missing", write(tmp_path / "1", first), write(tmp_path / "2", second)]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, files)))
    connection = load_connection()
    assert connection.server == "https://first.example"
    assert connection.tls_server_name is None  # entries are never mixed
    assert load_connection(context="other").server == "https://other.example"


def test_the_current_context_may_come_from_a_later_file(tmp_path, monkeypatch):
    first = document()
    del first["current-context"]
    files = [write(tmp_path / "1", first), write(tmp_path / "2", {"current-context": "c"})]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, files)))
    assert load_connection().server == SERVER


def test_the_file_at_home_is_the_default(tmp_path):
    write(tmp_path / "home/.kube/config", document())
    assert load_connection().server == SERVER


def test_nothing_at_all_says_what_to_do():
    with pytest.raises(ConfigError, match="mooring up"):
        load_connection()


async def test_relative_paths_start_at_the_file_that_says_them(tmp_path, monkeypatch):
    cert, key, _ = certificate()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/ca.pem").write_bytes(cert)
    (tmp_path / "sub/cert.pem").write_bytes(cert)
    (tmp_path / "sub/key.pem").write_bytes(key)
    (tmp_path / "sub/token").write_text("from-file\n")
    user = {"client-certificate": "cert.pem", "client-key": "key.pem", "tokenFile": "token", "token": "old"}
    write(tmp_path / "sub/config", document(cluster={"certificate-authority": "ca.pem"}, user=user))
    monkeypatch.chdir(tmp_path)
    connection = load_connection(tmp_path / "sub/config")
    identity = await connection.credentials.identity()
    assert connection.ca == cert
    assert identity.certificate.key == key
    assert identity.authorization == "Bearer from-file"


async def test_a_token_file_is_read_again_when_the_server_no_longer_knows_us(tmp_path):
    file = tmp_path / "token"
    file.write_text("one")
    source = TokenFile(file)
    assert (await source.identity()).authorization == "Bearer one"
    file.write_text("two")
    assert (await source.identity()).authorization == "Bearer one"
    assert source.forget()
    assert (await source.identity()).authorization == "Bearer two"
    file.unlink()
    source.forget()
    with pytest.raises(ConfigError, match="token file"):
        await source.identity()


async def test_data_wins_over_files_and_basic_authentication_is_spoken():
    connection = connection_from_document(
        document(
            cluster={"certificate-authority-data": b64(b"pem"), "certificate-authority": "/nowhere"},
            user={"username": "jo", "password": "pw"},
        )
    )
    assert connection.ca == b"pem"
    assert await authorization(connection) == "Basic " + b64(b"jo:pw")


def test_impersonation_names_and_proxy_are_taken_over():
    user = {"as": "jane", "as-uid": "7", "as-groups": ["g"], "as-user-extra": {"scopes": ["a", "b"]}}
    cluster = {"proxy-url": "http://me:pw@proxy.example:3128", "tls-server-name": "inner.example"}
    connection = connection_from_document(document(cluster=cluster, user=user))
    assert connection.impersonation.user == "jane"
    assert connection.impersonation.extra == {"scopes": ("a", "b")}
    assert connection.proxy == Proxy("http://proxy.example:3128", "me", "pw")
    assert connection.tls_server_name == "inner.example"


WRONG = {
    "not yaml": ("a: [", "line"),
    "a list": ("[]", "kubeconfig"),
    "a text": ("hello", "kubeconfig"),
    "another kind": ("kind: Pod", "kind"),
    "clusters is text": ("clusters: x", "clusters"),
    "token is a number": (document(user={"token": 12}), r"users\[0\].user.token"),
    "no context": ({"clusters": []}, "current-context"),
    "unknown context": ({"current-context": "x"}, "'x'"),
    "unknown cluster": (document() | {"clusters": []}, r"contexts\[c\].context.cluster"),
    "unknown user": (document() | {"users": []}, r"contexts\[c\].context.user"),
    "no server": (document(server=""), r"clusters\[c\].cluster.server"),
    "server without scheme": (document(server="one.example"), "https://host"),
    "server with a bad port": (document(server="https://h:x"), "server"),
    "server with a password": (document(server="https://a:b@h"), "server"),
    "bad base64": (document(cluster={"certificate-authority-data": "%%"}), "certificate-authority-data"),
    "missing file": (document(cluster={"certificate-authority": "/no/such"}), "/no/such"),
    "insecure and checked": (
        document(cluster={"insecure-skip-tls-verify": True, "certificate-authority-data": "cGVt"}),
        "insecure-skip-tls-verify",
    ),
    "certificate without key": (document(user={"client-certificate-data": "cGVt"}), "client-key"),
    "auth provider": (document(user={"auth-provider": {"name": "gcp"}}), "auth-provider"),
    "socks proxy": (document(cluster={"proxy-url": "socks5://h:1"}), "socks5"),
    "old exec": (document(user={"exec": {"command": "x", "apiVersion": "v1alpha1"}}), "apiVersion"),
    "exec without mode": (
        document(user={"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}}),
        "interactiveMode",
    ),
    "groups of nobody": (document(user={"as-groups": ["g"]}), "user.as"),
    "merge keys": ("a: &a {b: 1}\nc: {<<: *a}", "merge"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(tmp_path, case):
    content, named = WRONG[case]
    with pytest.raises(ConfigError, match=named) as caught:
        load_connection(write(tmp_path / "config", content))
    assert caught.value.terminal


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nowhere"):
        load_connection(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=str(tmp_path)):
        load_connection(tmp_path)


async def test_the_pod_knows_itself(tmp_path, monkeypatch):
    monkeypatch.setattr("mooring.kube.config._SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    for name, text in {"token": "pod", "ca.crt": "pem", "namespace": "home\n"}.items():
        (tmp_path / name).write_text(text)
    connection = load_connection()
    assert (connection.server, connection.namespace) == ("https://[fd00::1]:6443", "home")
    assert await authorization(connection) == "Bearer pod"


PROXIES = [
    ("https://api.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
    ("https://api.example", {"https_proxy": "p:1"}, "http://p:1"),
    ("http://api.example", {"HTTPS_PROXY": "http://p:1"}, None),
    ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example"}, None),
    ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".api.example"}, "http://p:1"),
    ("https://api.example", {"HTTPS_PROXY": "http://p:1", "no_proxy": "other, *"}, None),
    ("https://api.example:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:6443"}, None),
    ("https://api.example:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.example:1"}, "http://p:1"),
    ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None),
    ("https://11.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,x/y"}, "http://p:1"),
    ("https://127.0.0.1", {"HTTPS_PROXY": "http://p:1"}, None),
    ("https://[::1]:6443", {"HTTPS_PROXY": "http://p:1"}, None),
    ("https://localhost", {"HTTPS_PROXY": "http://p:1"}, None),
]


@pytest.mark.parametrize(("server", "environ", "expected"), PROXIES)
def test_the_environment_may_name_a_proxy(server, environ, expected):
    proxy = proxy_from_environment(server, environ)
    assert (proxy.url if proxy else None) == expected


def test_keys_are_loaded_from_memory_and_never_asked_for_at_the_terminal():
    cert, key, locked = certificate()
    tls_context(ca=cert, certificate=ClientCertificate(certificate=cert, key=key))
    for bad_cert, bad_key in [(cert, locked), (cert, b"junk"), (b"", key), (cert, certificate()[1])]:
        with pytest.raises(ConfigError, match="client-key-data"):
            tls_context(ca=cert, certificate=ClientCertificate(certificate=bad_cert, key=bad_key))
    with pytest.raises(ConfigError, match="certificate-authority-data"):
        tls_context(ca=b"junk")


def test_no_repr_shows_a_secret():
    pair = ClientCertificate(certificate=b"C", key=b"hush")
    shown = [
        Connection(server=SERVER, credentials=bearer("hush", certificate=pair)),
        Connection(server=SERVER, credentials=certificate_only(pair), proxy=Proxy("http://p", "me", "hush")),
        connection_from_document(document(user={"username": "u", "password": "hush"})),
    ]
    assert "hush" not in repr(shown)


async def test_a_server_whose_certificate_is_not_ours_is_not_talked_to(connection):
    cert, _, _ = certificate()
    wary = Connection(server=connection.server, ca=cert, credentials=bearer("hush"))
    async with Client(wary) as client:
        with pytest.raises(KubeError, match="not trusted") as caught:
            await client.version()
    assert "hush" not in str(caught.value)

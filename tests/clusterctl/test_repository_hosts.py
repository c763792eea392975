"""Repositories on the web, against loopback stand-ins (see `hosts`): no real GitHub or GitLab took part here."""

from __future__ import annotations

import hashlib

import pytest
import yaml
from hosts import Asked, GitHubStandIn, GitLabStandIn, GoProxyStandIn, PlainSite, Reply, StandIn
from repository_kit import COMPONENTS, LABEL, components, configured, files_of, metadata, shipyard

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.repository import open_repository

OURS = (1, 0, "v1beta2")
LATER = (1, 1, "v1beta3")


def releases(*versions, **more):
    return {version: files_of(version, OURS, **more) for version in versions}


async def on_github(host, tmp_path, *, at="latest", token="", configuration=None, **environ):
    settings = {"github-server": host.url} | ({"github-token": token} if token else {})
    configuration = configuration or configured(tmp_path, settings, **environ)
    return await open_repository(shipyard(f"{host.url}/{host.repository}/releases/{at}/{COMPONENTS}"), configuration)


# GitHub


async def test_a_github_server_is_read_through_its_api(tmp_path):
    files = releases("v1.0.0", "nightly", "v1.0.1", "v1.1.0-rc.1", **{"cluster-template.yaml": "kind: Cluster\n"})
    with GitHubStandIn("yard/provider", files, page=2) as host:
        host.token = "secret"
        repository = await on_github(host, tmp_path, token="secret")
        assert repository.default_version == "v1.0.1"
        assert await repository.versions() == ["v1.0.0", "v1.0.1", "v1.1.0-rc.1"]
        assert await repository.components() == components("v1.0.1")
        assert await repository.components("nightly") == components("nightly")
        assert await repository.template() == "kind: Cluster\n"
        assert await repository.contract() == "v1beta2"
        assert host.paths == host.api_calls
        with pytest.raises(
            NotHere, match=r"v1\.0\.1 of yard/provider has no file cluster-template-ha\.yaml: its assets are clu"
        ):
            await repository.template("ha")
        with pytest.raises(NotHere, match=r"has no release v7\.0\.0 \(there is v1\.0\.0, v1\.0\.1, v1\.1\.0-rc\.1\)"):
            await repository.components("v7.0.0")


async def test_latest_on_github_is_the_newest_of_our_contract(tmp_path):
    files = {one: files_of(one, OURS, LATER) for one in ("v1.0.0", "v1.0.5", "v1.1.0")}
    with GitHubStandIn("yard/provider", files) as host:
        assert (await on_github(host, tmp_path)).default_version == "v1.0.5"
        assert (await on_github(host, tmp_path, at="v1.1.0")).default_version == "v1.1.0"


async def test_the_module_proxy_spares_the_api(tmp_path):
    """Versions come from it, and files are downloaded plainly; tags that were never released are passed over."""
    files = releases("v1.0.0", "v1.0.1") | {"v2.0.0": files_of("v2.0.0", OURS, (2, 0, "v1beta2"))}
    with GitHubStandIn("Yard/provider", files) as host:
        module = f"{host.host}/!yard/provider"
        lists = {module: ["v1.0.1", "v1.0.0", "v1.0.2", "v2.0.0+incompatible", "v1.0.3-rc.1", ""]}
        with GoProxyStandIn(lists) as proxy:
            first = await on_github(host, tmp_path, GOPROXY=f"{proxy.url},direct")
            assert first.default_version == "v2.0.0"
            assert await first.versions() == ["v1.0.0", "v1.0.1", "v1.0.2", "v1.0.3-rc.1", "v2.0.0"]
            assert await first.components("v1.0.1") == components("v1.0.1")
            assert host.api_calls == []
            proxy.lists = {module: ["v1.0.1", "v1.0.2"]}
            assert (await on_github(host, tmp_path, GOPROXY=proxy.url)).default_version == "v1.0.1"
            assert host.api_calls == ["/api/v3/repos/Yard/provider/releases/tags/v1.0.2"]


async def test_a_module_proxy_that_knows_nothing_is_no_hindrance(tmp_path):
    with GitHubStandIn("yard/provider", releases("v1.0.0")) as host, GoProxyStandIn({}) as proxy:
        repository = await on_github(host, tmp_path, GOPROXY=proxy.url)
        assert repository.default_version == "v1.0.0"
        assert host.api_calls == ["/api/v3/repos/yard/provider/releases"]


async def test_nobody_is_told_what_is_installed_unless_that_is_wanted(tmp_path):
    """No module proxy is asked that nobody has named (DEVIATION goproxy-unset)."""
    with GitHubStandIn("yard/provider", releases("v1.0.0")) as host:
        await on_github(host, tmp_path, GOPROXY="")
        assert host.paths == host.api_calls


async def test_a_run_asks_github_only_once(tmp_path):
    with GitHubStandIn("yard/provider", releases("v1.0.0")) as host:
        configuration = configured(tmp_path, {"github-server": host.url})
        for _ in range(3):
            repository = await on_github(host, tmp_path, configuration=configuration)
            await repository.metadata()
            await repository.components()
        asked = [(one.path, tuple(one.query.items())) for one in host.asked]
        assert len(asked) == len(set(asked)) == 4  # the list, the release, two assets


async def test_an_exhausted_rate_limit_is_told_with_the_remedy(tmp_path):
    with GitHubStandIn("yard/provider", releases("v1.0.0")) as host:
        host.limited = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000000"}
        with pytest.raises(ClusterctlError, match=r"rate limit is used up, .* until 08:00 UTC: set GITHUB_TOKEN"):
            await on_github(host, tmp_path)
        with pytest.raises(ClusterctlError, match=r"until 08:00 UTC: wait, or use a token of another account"):
            await on_github(host, tmp_path, token="known")
        host.limited = {"Retry-After": "77"}
        with pytest.raises(ClusterctlError, match=r"cannot be had for 77 seconds"):
            await on_github(host, tmp_path)


async def test_a_token_goes_to_the_api_and_nowhere_else(tmp_path):
    files = releases("v1.0.0")
    with GitHubStandIn("yard/provider", files) as host, PlainSite({}) as storage:
        storage.files = {f"{version}/{name}": text for version in files for name, text in files[version].items()}
        host.token, host.elsewhere = "secret", storage.url
        repository = await on_github(host, tmp_path, token="secret")
        assert await repository.components() == components("v1.0.0")
        assert all("secret" in asked.headers["authorization"] for asked in host.asked)
        assert storage.asked
        assert not any("authorization" in asked.headers for asked in storage.asked)
        with pytest.raises(ClusterctlError, match=r"refuses the token in GITHUB_TOKEN .* renew it, or unset it"):
            await on_github(host, tmp_path, token="old")


async def test_a_repository_that_is_not_there_may_be_private(tmp_path):
    with GitHubStandIn("yard/provider", {}) as host:
        host.repository = "yard/other"
        configuration = configured(tmp_path, {"github-server": host.url})
        url = f"{host.url}/yard/provider/releases/latest/{COMPONENTS}"
        with pytest.raises(NotHere, match=r"does not have the list of releases of yard/provider .* set GITHUB_TOKEN"):
            await open_repository(shipyard(url), configuration)


@pytest.mark.parametrize(
    "body",
    [b"<html>log in</html>", b"{}", b"[1]", b'[{"tag_name": 1}]', b'[{"assets": 1}]', b"[" * 100_000, b"\xff", b""],
)
async def test_an_answer_that_github_would_not_give_is_told(body, tmp_path):
    with StandIn(lambda asked: Reply(body=body)) as host:
        configuration = configured(tmp_path, {"github-server": host.url})
        url = f"{host.url}/yard/provider/releases/latest/{COMPONENTS}"
        with pytest.raises(ClusterctlError, match=r"did not answer as GitHub does .* is there a login page in between"):
            await open_repository(shipyard(url), configuration)


async def test_assets_that_github_would_not_have_are_told(tmp_path):
    odd = [
        b'{"assets": [{"name": "metadata.yaml"}]}',
        b'{"assets": [{"name": "metadata.yaml", "id": "../../x"}]}',
        b"[]",
    ]
    for body in odd:
        with StandIn(lambda asked: Reply(body=body)) as host:  # noqa: B023
            configuration = configured(tmp_path, {"github-server": host.url})
            url = f"{host.url}/yard/provider/releases/v1.0.0/{COMPONENTS}"
            repository = await open_repository(shipyard(url), configuration)
            with pytest.raises(ClusterctlError, match="did not answer as GitHub does"):
                await repository.components()
            assert host.paths == ["/api/v3/repos/yard/provider/releases/tags/v1.0.0"]


# GitLab


def packages(*versions):
    return GitLabStandIn("group%2Fyard", "provider", releases(*versions), page=2)


async def test_a_gitlab_package_is_read(tmp_path):
    with packages("v1.0.0", "v1.0.1", "v1.1.0-rc.1") as host:
        host.token = "secret"
        configuration = configured(tmp_path, GITLAB_ACCESS_TOKEN="secret")
        pinned = await open_repository(shipyard(host.address("v1.0.0", COMPONENTS)), configuration)
        assert pinned.default_version == "v1.0.0"
        assert await pinned.versions() == ["v1.0.0", "v1.0.1", "v1.1.0-rc.1"]
        assert await pinned.components() == components("v1.0.0")
        latest = await open_repository(shipyard(host.address("latest", COMPONENTS)), configuration)
        assert latest.default_version == "v1.0.1"
        assert await latest.components() == components("v1.0.1")
        with pytest.raises(
            NotHere, match=r"has no cluster-template\.yaml in version v1\.0\.1: there is components\.yaml, m"
        ):
            await latest.template()
        with pytest.raises(NotHere, match=r"in version v7\.0\.0: there are the versions v1\.0\.0, v1\.0\.1"):
            await latest.components("v7.0.0")
        with pytest.raises(ClusterctlError, match=r"\(401\): check gitlab-access-token"):
            await (
                await open_repository(shipyard(host.address("v1.0.0", COMPONENTS)), configured(tmp_path))
            ).components()


async def test_a_gitlab_version_may_be_called_latest(tmp_path):
    with packages("v1.0.0", "latest") as host:
        repository = await open_repository(shipyard(host.address("latest", COMPONENTS)), configured(tmp_path))
        assert repository.default_version == "latest"
        assert await repository.components() == components("latest")


async def test_where_gitlab_does_not_list_the_address_is_taken_at_its_word(tmp_path):
    with packages("v1.0.0", "latest") as host:
        host.may_list = False
        for version in ("v1.0.0", "latest"):
            repository = await open_repository(shipyard(host.address(version, COMPONENTS)), configured(tmp_path))
            assert await repository.components() == components(version)
        assert await repository.versions() == []


# Any other web server


def index(*versions, **more):
    document = {
        "apiVersion": "clusterctl.mooring.dev/v1",
        "kind": "RepositoryIndex",
        "versions": list(versions),
        **more,
    }
    return yaml.safe_dump(document)


def site(listing, *versions, folder="mirror"):
    files = {f"{folder}/{LABEL}/index.yaml": listing} if listing else {}
    for version, names in releases(*versions).items():
        files |= {f"{folder}/{LABEL}/{version}/{name}": text for name, text in names.items()}
    return PlainSite(files)


async def at_site(host, tmp_path, version="latest", folder="mirror"):
    return await open_repository(shipyard(f"{host.url}/{folder}/{LABEL}/{version}/{COMPONENTS}"), configured(tmp_path))


async def test_a_web_server_with_an_index_is_a_repository(tmp_path):
    known = {COMPONENTS: f"sha256:{hashlib.sha256(components('v1.0.1').encode()).hexdigest()}", "metadata.yaml": None}
    listing = index({"name": "v1.0.0"}, {"name": "v1.0.1", "files": known}, {"name": "v1.1.0-rc.1"})
    with site(listing, "v1.0.0", "v1.0.1") as host:
        repository = await at_site(host, tmp_path)
        assert repository.default_version == "v1.0.1"
        assert await repository.versions() == ["v1.0.0", "v1.0.1", "v1.1.0-rc.1"]
        assert await repository.components() == components("v1.0.1")
        assert (await at_site(host, tmp_path, "v1.0.0")).default_version == "v1.0.0"
        with pytest.raises(
            NotHere, match=r"v1\.0\.1 .* has no file cluster-template\.yaml: its index lists components"
        ):
            await repository.template()
        with pytest.raises(NotHere, match=r"v1\.0\.0 .* has no file cluster-template\.yaml: .* answers 404"):
            await repository.template("", "v1.0.0")
        with pytest.raises(NotHere, match=r"no version v7\.0\.0 \(for components\.yaml\): .* lists v1\.0\.0, v1\.0\.1"):
            await repository.components("v7.0.0")


async def test_a_file_that_is_not_what_its_index_says_is_refused(tmp_path):
    listing = index({"name": "v1.0.0", "files": {COMPONENTS: f"sha256:{'0' * 64}", "metadata.yaml": None}})
    with site(listing, "v1.0.0") as host:
        repository = await at_site(host, tmp_path)
        with pytest.raises(ClusterctlError, match="was changed after the index was written"):
            await repository.components()


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        (None, r"neither on GitHub nor a GitLab package registry, and .*/index\.yaml answers 404: publish an index"),
        ("- v1.0.0", "must be a mapping with apiVersion, kind, versions"),
        ("{", r"index\.yaml: "),
        (index(apiVersion="clusterctl.mooring.dev/v2"), r"apiVersion is 'clusterctl\.mooring\.dev/v2', and must be"),
        (index(kind="List"), "kind is 'List', and must be RepositoryIndex"),
        (index(versions="v1.0.0"), "versions must be a list"),
        (index("v1.0.0"), r"versions\[0\]\.name is None, and must be a semantic version"),
        (index({"name": "../../etc"}), r"versions\[0\]\.name is '\.\./\.\./etc'"),
        (index({"name": "v1.0.0", "files": [COMPONENTS]}), r"versions\[0\]\.files must map"),
        (index({"name": "v1.0.0", "files": {COMPONENTS: "md5:1"}}), r"files\[components\.yaml\] is 'md5:1'"),
        ("#" * (5 * 1024 * 1024), r"index\.yaml has 5242880 bytes: at most 4194304 are read"),
        (index(), "there is no release of infrastructure-shipyard that is tagged"),
    ],
)
async def test_an_index_that_is_none_is_told(listing, message, tmp_path):
    with site(listing, "v1.0.0") as host, pytest.raises(ClusterctlError, match=message):
        await at_site(host, tmp_path)


# The wire


def one_file(reply):
    listing = index({"name": "v1.0.0"}).encode()
    return StandIn(lambda asked: Reply(body=listing) if asked.path.endswith("/index.yaml") else reply(asked))


async def test_a_server_that_stumbles_is_asked_again(tmp_path):
    answers = [
        Reply(503),
        Reply(body=metadata(OURS).encode(), claimed_length=5000),
        Reply(body=metadata(OURS).encode()),
    ]
    with one_file(lambda asked: answers.pop(0)) as host:
        assert (await at_site(host, tmp_path)).default_version == "v1.0.0"
    assert answers == []


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            Reply(302, headers={"Location": "http://example.com/metadata.yaml"}),
            "http://example.com/metadata.yaml is not https",
        ),
        (Reply(302, headers={"Location": "file:///etc/passwd"}), "answers 302"),
        (Reply(302, headers={"Location": "/mirror/again"}), "metadata.yaml answers 302|redirect"),
        (Reply(500), "answers 500"),
        (Reply(401), "answers 401"),
        (Reply(body=b"x" * (65 * 1024 * 1024)), "is larger than 64 MiB"),
    ],
    ids=["http", "file", "loop", "500", "401", "huge"],
)
async def test_answers_that_cannot_be_used_are_told(reply, message, tmp_path):
    with one_file(lambda asked: reply) as host, pytest.raises(ClusterctlError, match=message):
        await at_site(host, tmp_path)


async def test_only_this_machine_is_spoken_to_without_https(tmp_path):
    for address in ("http://example.com", "http://127.0.0.1.example.com", "http://localhost@example.com"):
        url = f"{address}/mirror/{LABEL}/latest/{COMPONENTS}"
        with pytest.raises(ClusterctlError, match="by https only"):
            await open_repository(shipyard(url), configured(tmp_path))


async def test_a_password_in_an_address_is_neither_sent_nor_shown(tmp_path):
    for path in ("mirror/latest", "api/v4/projects/1/x", f"mirror/{LABEL}/latest/{COMPONENTS}", "%zz"):
        with pytest.raises(ClusterctlError, match=r"//…@example\.com/") as caught:
            await open_repository(shipyard(f"https://me:secret@example.com/{path}"), configured(tmp_path))
        assert "secret" not in str(caught.value)
    with pytest.raises(ClusterctlError, match=r"//…@github\.com/.* on GitHub it must be in the form"):
        await open_repository(shipyard("https://me:secret@github.com/yard"), configured(tmp_path))


async def test_a_host_that_is_not_there_is_told(tmp_path):
    with StandIn() as gone:
        address = gone.url
    with pytest.raises(ClusterctlError, match=r"cannot open the repository .* cannot be reached"):
        await open_repository(shipyard(f"{address}/mirror/{LABEL}/latest/{COMPONENTS}"), configured(tmp_path))


async def test_names_cannot_lead_elsewhere_on_a_server(tmp_path):
    paths: list[str] = []

    def answered(asked: Asked) -> Reply:
        paths.append(asked.path)
        return Reply(body=metadata(OURS).encode())

    with one_file(answered) as host:
        repository = await at_site(host, tmp_path)
        await repository.template("a?b#c%2e")
        with pytest.raises(ClusterctlError, match="without slashes"):
            await repository.cluster_class("../../x")
    assert paths[-1] == f"/mirror/{LABEL}/v1.0.0/cluster-template-a%3Fb%23c%252e.yaml"

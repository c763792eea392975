"""What a LocalConfig may say, what it amounts to, and what the server and the provider say to the rest."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from uuid import uuid4

import pytest
from local_kit import PATIENCE, local_config, scripts

from mooring.api.clusters import Cluster, SupportedVersion
from mooring.api.crds import definition_of
from mooring.api.providers import ClusterProvider
from mooring.api.traits import WORKERLESS, SupportedTrait
from mooring.controlplane.binarycache import Source, adopt
from mooring.controlplane.errors import BinariesError, StateError
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ID_PATTERN, Executables, identity_for
from mooring.controlplane.versions import cached_versions, further_versions, versions_at_hand
from mooring.kube import Client, Object, ObjectKey, Resource, typed
from mooring.kube.definitions import install, put
from mooring.kube.errors import Forbidden, Invalid
from mooring.providers.local import LocalConfig
from mooring.providers.local.config import Resources
from mooring.providers.local.first import default_config, kept, platform_cluster, platform_config
from mooring.providers.local.flags import FLAGS, refusals
from mooring.providers.local.light import LIGHT_ENVIRONMENT
from mooring.providers.local.plans import next_version, offer, wish
from mooring.providers.local.reasons import Reason
from mooring.providers.local.troubles import Troubles, cause_of, fit_to_tell
from mooring.providers.sdk.provider import Refused
from mooring.providers.sdk.versions import version_for
from mooring.testing.builders import NAMESPACES, an_object, namespace_object, plain_resource_of

_PROGRAMS = Executables(Path("a"), Path("b"))
_AT_HAND = dict.fromkeys(("1.36.10", "1.36.9", "1.35.2"), _PROGRAMS)
_GOOD = {
    "default-watch-cache-size": "10",
    "delete-collection-workers": "2",
    "enable-admission-plugins": "AlwaysPullImages,NamespaceAutoProvision",
    "event-ttl": "1h30m",
    "max-mutating-requests-inflight": "20",
    "max-requests-inflight": "40",
    "min-request-timeout": "300",
    "request-timeout": "30s",
    "runtime-config": "api/beta=true,batch/v1=false",
    "v": "2",
}


def test_an_offer_is_what_is_here_and_what_the_configuration_adds() -> None:
    plain = offer(local_config(), _AT_HAND)
    assert plain.versions == tuple(SupportedVersion(version=one) for one in ("1.36.10", "1.36.9", "1.35.2"))
    assert (plain.traits, plain.max_clusters) == ((WORKERLESS,), 0)
    versions = (SupportedVersion(version="1.36.9"), SupportedVersion(version="1.35.2", deprecated=True))
    traits = (SupportedTrait(trait="example/fast"), SupportedTrait(name=WORKERLESS))
    chosen = offer(local_config(versions=versions, traits=traits, max_clusters=3), _AT_HAND)
    assert (chosen.versions, chosen.traits, chosen.max_clusters) == (versions, (WORKERLESS, "example/fast"), 3)


def test_versions_that_are_not_here_are_named() -> None:
    versions = (SupportedVersion(version="1.36.9"), SupportedVersion(version="1.99.0"))
    with pytest.raises(Refused, match=r"spec.versions\[1\] is 1.99.0.*1.35.2, 1.36.9, 1.36.10.*MOORING_MORE_BINARIES"):
        offer(local_config(versions=versions), _AT_HAND)


def test_flags_that_may_be_set() -> None:
    assert _GOOD.keys() == FLAGS.keys()
    assert refusals(_GOOD) == []


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("v", "9"),
        ("v", "-1"),
        ("event-ttl", "soon"),
        ("max-requests-inflight", "0"),
        ("runtime-config", "api/beta=true --anonymous-auth"),
        ("enable-admission-plugins", "EventRateLimit"),
        ("request-timeout", ""),
    ],
)
def test_values_that_are_not_taken_are_named_with_their_flag(flag: str, value: str) -> None:
    with pytest.raises(Refused, match=re.escape(f"spec.apiServerFlags[{flag}] is {value!r} and must be")):
        offer(local_config(api_server_flags={flag: value}), _AT_HAND)


@pytest.mark.parametrize("flag", ["anonymous-auth", "authorization-mode", "audit-log-path", "etcd-servers", "V"])
def test_flags_that_may_not_be_set_are_named(flag: str) -> None:
    with pytest.raises(Refused, match=re.escape(f"spec.apiServerFlags[{flag}] is none of the flags")):
        wish(local_config(api_server_flags={flag: "x"}), "1.36.9", _AT_HAND)


def test_bounds_become_those_that_go_knows() -> None:
    bounded = wish(local_config(resources=Resources(memory="256Mi", cpus=1)), "v1.36.9", _AT_HAND)
    assert bounded.environment == LIGHT_ENVIRONMENT | {"GOMEMLIMIT": "256MiB", "GOMAXPROCS": "1"}
    assert bounded.version == "1.36.9"
    assert wish(local_config(), "1.36.9", _AT_HAND).environment == LIGHT_ENVIRONMENT


@pytest.mark.parametrize(
    ("running", "wanted", "taken", "reason"),
    [
        ("", "1.36.9", "1.36.9", None),
        ("1.36.9", "v1.36.9", "1.36.9", None),
        ("1.36.9", "1.36.10", "1.36.10", None),
        ("1.35.2", "1.36.9", "1.36.9", None),
        ("1.36.10", "1.36.9", "1.36.10", "DowngradeRefused"),
        ("1.34.0", "1.36.9", "1.34.0", "UpgradeRefused"),
        ("1.36.9", "2.0.0", "1.36.9", "UpgradeRefused"),
    ],
)
def test_versions_go_forward_in_small_steps(running: str, wanted: str, taken: str, reason: str | None) -> None:
    version, refusal = next_version(running, wanted)
    assert (version, refusal and refusal.reason) == (taken, reason)


def test_the_page_tells_all_fields_flags_and_reasons() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/local-clusters.md").read_text()
    schema = definition_of(LocalConfig)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    fields = [name for name in schema["properties"] if name not in ("providerRef", "resources", "oidc")]
    fields += [f"{part}.{name}" for part in ("resources", "oidc") for name in schema["properties"][part]["properties"]]
    assert [name for name in fields if f"`spec.{name}`" not in page] == []
    assert [name for name in (*FLAGS, *Reason) if f"`{name}`" not in page] == []


def test_identities_have_one_form_and_tell_uids_apart() -> None:
    made = {identity_for(str(uuid4())) for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(ID_PATTERN, one) for one in made)
    assert identity_for("a") == identity_for("a")


def test_what_is_told_is_short_and_holds_no_secrets() -> None:
    token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0xyz.c2lnbmF0dXJl"
    told = fit_to_tell(f"one\nBearer {token}\n{'x' * 5000}")
    assert token not in told
    assert told.startswith("one\n")
    assert len(told) < 600


def test_what_went_wrong_in_one_of_several_tasks_is_told_as_what_it_is() -> None:
    troubles = Troubles()
    troubles.failed(
        cause_of(ExceptionGroup("unhandled", [ExceptionGroup("inner", [StateError("ports.json is torn.")])]))
    )
    assert (troubles.reason, troubles.message) == ("StartFailed", "ports.json is torn.")


def test_further_programs_are_named_by_version(tmp_path: Path, landscape: Landscape) -> None:
    first, second = scripts(tmp_path / "first", "true"), scripts(tmp_path / "second", "true")
    found = further_versions(f"1.35.1={first}, v1.36.0={second},")
    assert {version: one.api_server for version, one in found.items()} == {
        "1.35.1": first / "kube-apiserver",
        "1.36.0": second / "kube-apiserver",
    }
    own = str(landscape.binaries.programs["kube-apiserver"].version).removeprefix("v")
    assert own in versions_at_hand(landscape.binaries)


def test_programs_of_an_earlier_mooring_are_found_in_the_cache(
    tmp_path: Path, landscape: Landscape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another pin than today's has left them there: clusters that run them come back, and nobody else gets them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = _cached(tmp_path, "1.35.9", "echo Kubernetes v1.35.9")
    _cached(tmp_path, "1.35.8", "exit 126")  # of another kind of machine
    spoiled = _cached(tmp_path, "1.35.7", "echo Kubernetes v1.35.7")
    (spoiled / "kube-apiserver").write_text("not what was put there")
    own = versions_at_hand(landscape.binaries)
    _cached(tmp_path, next(iter(own)), "exit 1")  # which is known already, and not asked
    found = cached_versions(known=own)
    assert found == {"1.35.9": Executables(kept / "kube-apiserver", kept / "kube-controller-manager")}

    offered = offer(local_config(), {**own, **found}, left=found).versions
    assert [one for one in offered if isinstance(one, SupportedVersion) and one.deprecated] == [
        SupportedVersion(version="1.35.9", deprecated=True)
    ]
    chosen = version_for("", [one for one in offered if isinstance(one, SupportedVersion)], running="1.35.9")
    assert wish(local_config(), chosen, {**own, **found}).executables == found["1.35.9"]


def _cached(home: Path, version: str, script: str) -> Path:
    """Programs in a cache, as a fetch leaves them."""
    directory = home / "mooring/binaries/kubernetes" / f"v{version}-{uuid4().hex[:12]}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    drafts = scripts(home / f"drafts-{directory.name}", script)
    directory.mkdir()
    (directory / ".partial").mkdir()
    for name in ("kube-apiserver", "kube-controller-manager"):
        adopt(drafts / name, directory, name, version=f"v{version}", source=Source.BUILT)
    return directory


@pytest.mark.parametrize("text", ["1.35=/tmp", "old=/tmp", "/tmp", "1.35.1=somewhere", "1.35.1=/does/not/exist"])
def test_a_word_in_the_variable_that_means_nothing_is_quoted(text: str) -> None:
    with pytest.raises(BinariesError, match="MOORING_MORE_BINARIES"):
        further_versions(text)


async def test_the_server_refuses_flags_that_may_not_be_set(kube: Client) -> None:
    await install(kube, [definition_of(LocalConfig)])
    resource = plain_resource_of(LocalConfig)
    spec = {"providerRef": {"name": f"nobody-{uuid4().hex[:8]}"}}
    for wrong, field in (
        ({"apiServerFlags": {"anonymous-auth": "true"}}, "spec.apiServerFlags may hold"),
        ({"resources": {"memory": "lots"}}, "spec.resources.memory"),
        ({"maxClusters": -1}, "spec.maxClusters"),
    ):
        with pytest.raises(Invalid, match=field):
            await kube.create(resource, an_object(LocalConfig, f"bad-{uuid4().hex[:8]}", spec=spec | wrong))
    name = f"good-{uuid4().hex[:8]}"
    made = await kube.create(typed(LocalConfig), an_object(LocalConfig, name, spec=spec | {"apiServerFlags": _GOOD}))
    assert made.spec.api_server_flags == _GOOD
    await kube.delete(resource, name)


def test_the_platform_has_a_profile_of_its_own_that_only_its_administrators_enter() -> None:
    cluster, config = platform_cluster("blue", "local"), platform_config("local")
    assert cluster["metadata"] == {"name": "platform", "namespace": "mooring-system"}
    assert cluster["spec"]["profile"] == f"blue.local.{config['metadata']['name']}"
    assert cluster["spec"]["profile"] != f"blue.local.{default_config('local')['metadata']['name']}"
    assert config["spec"]["access"] == {"policy": "Creator"}


async def test_nobody_deletes_the_platforms_objects(own_kube: Client) -> None:
    """The policy under another name, for another namespace and another provider: others use the server, too."""
    kube, namespace = own_kube, f"keeping-{uuid4().hex[:8]}"
    await install(kube, [definition_of(kind) for kind in (Cluster, LocalConfig, ClusterProvider)])
    await kube.create(NAMESPACES, namespace_object(namespace))
    policy, binding = kept(namespace, ObjectKey(namespace, "platform"), f"keep-{namespace}")
    clusters, providers, configs = map(plain_resource_of, (Cluster, ClusterProvider, LocalConfig))
    spec = {"profile": "some.local.platform", "tenancy": "Shared", "purposes": ["platform"]}
    resources = [await kube.resource(one["apiVersion"], one["kind"]) for one in (policy, binding)]
    try:
        for resource, document in zip(resources, (policy, binding), strict=True):
            await kube.create(resource, document)
        for name in ("platform", "other"):
            await kube.create(clusters, an_object(Cluster, name, namespace, spec=spec))
        await kube.create(providers, an_object(ClusterProvider, namespace, spec={"image": "mooring/local"}))
        await kube.create(configs, an_object(LocalConfig, "platform", spec={"providerRef": {"name": namespace}}))
        await _until_denied(kube, namespace)
        with pytest.raises(Forbidden, match="platform that Mooring itself runs on"):
            await kube.delete(clusters, "platform", namespace=namespace)
        with pytest.raises(Forbidden):  # all of them at once
            await kube.raw("DELETE", f"/apis/{Cluster.API.api_version}/namespaces/{namespace}/clusters")
        await kube.get(clusters, "platform", namespace=namespace)
        await kube.create(clusters, an_object(Cluster, "third", namespace, spec=spec))
        await kube.delete(clusters, "third", namespace=namespace)
        with pytest.raises(Forbidden, match="LocalConfig is that of the platform"):
            await kube.delete(configs, "platform")
        with pytest.raises(Forbidden, match=r"runs inside Mooring.*mooring down --purge"):
            await kube.delete(providers, namespace)
        for document in (policy, binding):  # what is in place is not written again, at any start
            before = await kube.get(await kube.resource(document["apiVersion"], document["kind"]), f"keep-{namespace}")
            await put(kube, document)
            after = await kube.get(await kube.resource(document["apiVersion"], document["kind"]), f"keep-{namespace}")
            assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]
    finally:
        for resource in reversed(resources):
            await kube.delete(resource, f"keep-{namespace}")
        await _until_allowed(kube, configs, "platform")
        await kube.delete(providers, namespace)


async def _until_denied(kube: Client, namespace: str) -> None:
    """Policies take effect a moment after they were written. Dry runs harm nobody."""
    path = f"/apis/{Cluster.API.api_version}/namespaces/{namespace}/clusters/platform"
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await kube.raw("DELETE", path, parameters={"dryRun": "All"})
            except Forbidden:
                return
            await asyncio.sleep(0.1)


async def _until_allowed(kube: Client, resource: Resource[Object], name: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await kube.delete(resource, name)
            except Forbidden:
                await asyncio.sleep(0.1)
            else:
                return

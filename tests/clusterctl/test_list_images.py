"""``init list-images``: what would be pulled, told by the real clusterctl and by ours."""

from __future__ import annotations

import releases
from components_kit import container, namespace, workload, written
from releases import Release

from mooring.clusterctl.config import CERT_MANAGER_VERSION
from mooring.clusterctl.inventory_definition import inventory_definition
from mooring.clusterctl.providers import ProviderType
from mooring.kube import untyped
from mooring.kube.definitions import install

NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)


async def test_images_of_a_cluster_that_has_nothing_yet(twins, judge, ours, tmp_path):
    base = tmp_path / "images"
    several = {
        "containers": [container("a", "r.io/x/same:v1"), container("b", "r.io/x/same:v1"), container("c", "r.io/a")]
    }
    made = [
        releases.core(),
        releases.bootstrap(),
        releases.control_plane(),
        releases.infrastructure(
            extra=[workload("DaemonSet", "agent", initContainers=[container("i", "r.io/init:v1")])]
        ),
        Release("pier", ProviderType.IPAM, "v0.2.0", extra=[workload(name="several", **several)]),
        Release("tug", ProviderType.ADDON, "v0.1.0", arguments=["--needed=${NOT_GIVEN}"]),
    ]
    releases.write_repository(base, made)
    certificates = base / "cert-manager" / CERT_MANAGER_VERSION / "cert-manager.yaml"
    certificates.parent.mkdir(parents=True)
    certificates.write_text(written([namespace("cert-manager"), workload(name="a"), workload(name="b")]))
    settings = {
        "cert-manager": {"url": str(certificates)},
        "images": {"all": {"repository": "mirror.example.com"}, "cert-manager": {"tag": "v0"}},
    }
    config = releases.write_config(tmp_path / "images.yaml", base, made, **settings)
    place = twins.mine
    await install(place.client, [inventory_definition()])  # whose absence the judge would not believe for long

    async def listed(runner, *flags: str) -> tuple[int, str]:
        words = ("init", "list-images", "--kubeconfig", str(place.kubeconfig), *flags)
        ended = await runner.beside(*words, config=config)
        return ended.code, ended.out

    asked = [
        (),
        ("-i", "shipyard", "--ipam", "pier", "--addon", "tug"),
        ("-i", "shipyard:v1.0.0", "-b", "-", "-c", "-", "--core", "cluster-api:v1.14.2"),
        ("-i", "nobody"),
        ("--core", "-"),
    ]
    for flags in asked:
        assert await listed(ours, *flags) == await listed(judge, *flags), flags
    code, images = await listed(ours, *asked[1])
    assert code == 0
    assert images.splitlines().count("mirror.example.com/manager:v0") == 2  # each of cert-manager's, as the judge does
    assert "mirror.example.com/init:v1" in images

    await place.client.create(NAMESPACES, namespace("cert-manager"))
    assert await listed(ours, *asked[1]) == await listed(judge, *asked[1]) != (code, images)


def test_images_are_listed_before_there_is_a_cluster(judge, ours, tmp_path):
    """DEVIATION list-images-without-a-cluster: the judge wants a cluster, only to find that it has nothing."""
    made = [releases.core(), releases.infrastructure()]
    releases.write_repository(tmp_path / "images", made)
    certificates = tmp_path / "images" / "cert-manager" / CERT_MANAGER_VERSION / "cert-manager.yaml"
    certificates.parent.mkdir(parents=True)
    certificates.write_text(written([workload(name="injector", containers=[container(image="r.io/injector:v1")])]))
    settings = {"cert-manager": {"url": str(certificates)}}
    config = releases.write_config(tmp_path / "images.yaml", tmp_path / "images", made, **settings)
    words = ("init", "list-images", "-i", "shipyard", "-b", "-", "-c", "-")
    assert judge(*words, config=config).code == 1
    ended = ours(*words, config=config)
    assert ended.out.splitlines() == [
        "r.io/injector:v1",
        "registry.example.com/capi/manager:v1.14.2",
        "registry.example.com/infrastructure-shipyard/manager:v1.0.0",
    ]
    named = ours(*words, "--kubeconfig", str(tmp_path / "absent"), config=config)
    assert (named.code, named.out) == (1, "")

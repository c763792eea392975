"""The verbs, against a real API server: what was asked for is afterwards so."""

import asyncio
import gc
from dataclasses import replace

import msgspec
import pytest
from wire_kit import CONFIG_MAPS, NAMESPACES, OURS, ROLES, SERVICE_ACCOUNTS, config_map, tunnelling

from mooring.kube import Apply, Client, Impersonation, JsonPatch, MergePatch, key_of, untyped
from mooring.kube.credentials import bearer
from mooring.kube.errors import (
    AlreadyExists,
    BadAnswer,
    Conflict,
    Forbidden,
    Invalid,
    InvalidName,
    NotFound,
    Unauthorized,
    UnknownKind,
    Unreachable,
)
from mooring.kube.proxies import Proxy


async def names(kube, namespace, **selectors):
    listing = await kube.list(CONFIG_MAPS, namespace=namespace, **selectors)
    return {item["metadata"]["name"] for item in listing.items}


async def test_an_object_is_created_read_replaced_and_deleted(kube, namespace):
    made = await kube.create(CONFIG_MAPS, config_map("a", namespace, colour="red"))
    assert await kube.get(CONFIG_MAPS, "a", namespace=namespace) == made

    made["data"] = {"colour": "blue"}
    await kube.replace(CONFIG_MAPS, made)
    assert (await kube.get(CONFIG_MAPS, "a", namespace=namespace))["data"] == {"colour": "blue"}

    await kube.delete(CONFIG_MAPS, "a", namespace=namespace)
    with pytest.raises(NotFound) as caught:
        await kube.get(CONFIG_MAPS, "a", namespace=namespace)
    assert caught.value.details["name"] == "a"


async def test_a_name_is_taken_once(kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("a", namespace))
    with pytest.raises(AlreadyExists):
        await kube.create(CONFIG_MAPS, config_map("a", namespace))


async def test_a_stale_replace_is_a_conflict_and_changes_nothing(kube, namespace):
    old = await kube.create(CONFIG_MAPS, config_map("a", namespace))
    await kube.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "new"}}), namespace=namespace)
    with pytest.raises(Conflict):
        await kube.replace(CONFIG_MAPS, old | {"data": {"k": "late"}})
    assert (await kube.get(CONFIG_MAPS, "a", namespace=namespace))["data"] == {"k": "new"}


async def test_a_merge_patch_can_be_guarded_by_the_resource_version(kube, namespace):
    old = await kube.create(CONFIG_MAPS, config_map("a", namespace))
    version = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}}
    await kube.patch(CONFIG_MAPS, "a", MergePatch(version | {"data": {"n": "1"}}), namespace=namespace)
    with pytest.raises(Conflict):
        await kube.patch(CONFIG_MAPS, "a", MergePatch(version | {"data": {"n": "2"}}), namespace=namespace)


async def test_a_json_patch_is_all_or_nothing(kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("a", namespace, k="v"))
    add = {"op": "add", "path": "/data/more", "value": "x"}
    test = {"op": "test", "path": "/data/k", "value": "something else"}
    with pytest.raises(Invalid):
        await kube.patch(CONFIG_MAPS, "a", JsonPatch([add, test]), namespace=namespace)
    patched = await kube.patch(CONFIG_MAPS, "a", JsonPatch([add]), namespace=namespace)
    assert patched["data"] == {"k": "v", "more": "x"}


async def test_two_managers_of_one_field_conflict_until_one_forces(kube, namespace):
    await kube.apply(CONFIG_MAPS, config_map("a", namespace, k="mine"), field_manager="one")
    with pytest.raises(Conflict) as caught:
        await kube.apply(CONFIG_MAPS, config_map("a", namespace, k="yours"), field_manager="two")
    assert any(cause.field == ".data.k" for cause in caught.value.causes)
    await kube.apply(CONFIG_MAPS, config_map("a", namespace, k="yours"), field_manager="two", force=True)
    assert (await kube.get(CONFIG_MAPS, "a", namespace=namespace))["data"] == {"k": "yours"}


async def test_what_a_manager_no_longer_names_goes_away(kube, namespace):
    await kube.apply(CONFIG_MAPS, config_map("a", namespace, x="1", y="2"), field_manager="one")
    body = config_map("a", namespace, y="2")
    await kube.patch(CONFIG_MAPS, "a", Apply(body), namespace=namespace, field_manager="one")
    assert (await kube.get(CONFIG_MAPS, "a", namespace=namespace))["data"] == {"y": "2"}


async def test_a_dry_run_leaves_no_trace(kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("dry", namespace), dry_run=True)
    assert await names(kube, namespace, label_selector=OURS) == set()
    kept = await kube.create(CONFIG_MAPS, config_map("a", namespace, k="v"))
    await kube.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "w"}}), namespace=namespace, dry_run=True)
    await kube.replace(CONFIG_MAPS, kept | {"data": {}}, dry_run=True)
    await kube.delete(CONFIG_MAPS, "a", namespace=namespace, dry_run=True)
    await kube.apply(CONFIG_MAPS, config_map("b", namespace), field_manager="m", dry_run=True)
    assert await kube.get(CONFIG_MAPS, "a", namespace=namespace) == kept
    assert await names(kube, namespace, label_selector=OURS) == {"a"}


async def test_a_delete_hits_only_the_object_that_was_meant(kube, namespace):
    made = await kube.create(CONFIG_MAPS, config_map("a", namespace))
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    await kube.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "v"}}), namespace=namespace)
    with pytest.raises(Conflict):
        await kube.delete(CONFIG_MAPS, "a", namespace=namespace, uid="another")
    with pytest.raises(Conflict):
        await kube.delete(CONFIG_MAPS, "a", namespace=namespace, uid=uid, resource_version=version)
    assert await names(kube, namespace, label_selector=OURS) == {"a"}
    await kube.delete(CONFIG_MAPS, "a", namespace=namespace, uid=uid, propagation="Background", grace_period=0)
    assert await names(kube, namespace, label_selector=OURS) == set()


async def test_the_status_is_written_by_its_own_door(kube, namespace):
    condition = {"type": "Tested", "status": "True", "reason": "Here", "message": ""}
    body = {"status": {"conditions": [condition]}}
    await kube.patch(NAMESPACES, namespace, MergePatch(body), subresource="status")
    seen = await kube.get(NAMESPACES, namespace)
    assert seen["status"]["conditions"][0]["reason"] == "Here"
    await kube.patch(NAMESPACES, namespace, MergePatch({"status": None}))
    assert (await kube.get(NAMESPACES, namespace))["status"] == seen["status"]


async def test_scale_is_read_and_written(kube, namespace):
    deployments = await kube.resource("apps/v1", "Deployment")
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    await kube.create(deployments, {"metadata": {"name": "d", "namespace": namespace}, "spec": spec})
    patch = MergePatch({"spec": {"replicas": 3}})
    await kube.patch(deployments, "d", patch, namespace=namespace, subresource="scale")
    scale = await kube.get(deployments, "d", namespace=namespace, subresource="scale")
    assert scale["kind"] == "Scale"
    assert (await kube.get(deployments, "d", namespace=namespace))["spec"]["replicas"] == 3


async def restricted(kube, connection, namespace):
    """A connection as a service account without any rights."""
    await kube.create(SERVICE_ACCOUNTS, {"metadata": {"name": "nobody", "namespace": namespace}})
    asked = {"spec": {"expirationSeconds": 600}}
    token = await kube.create(SERVICE_ACCOUNTS, asked, namespace=namespace, name="nobody", subresource="token")
    assert token["kind"] == "TokenRequest"
    return replace(connection, credentials=bearer(token["status"]["token"]))


async def test_a_minted_token_is_known_and_may_do_nothing(kube, connection, namespace):
    async with Client(await restricted(kube, connection, namespace)) as nobody:
        with pytest.raises(Forbidden) as caught:
            await nobody.get(CONFIG_MAPS, "a", namespace=namespace)
    assert f"system:serviceaccount:{namespace}:nobody" in str(caught.value)
    assert not caught.value.terminal


async def test_a_wrong_token_is_unauthorized_and_not_repeated_to_us(connection):
    stranger = replace(connection, credentials=bearer("no-such-token"))
    async with Client(stranger) as client:
        with pytest.raises(Unauthorized) as caught:
            await client.get(NAMESPACES, "default")
    assert "no-such-token" not in str(caught.value) + repr(caught.value) + repr(stranger)


async def test_acting_as_somebody_else_carries_all_that_they_are(connection):
    jane = Impersonation(user="jane", uid="7", groups=("g1", "g2"), extra={"a.example/b c": ("x", "y")})
    reviews = untyped(
        group="authentication.k8s.io",
        plural="selfsubjectreviews",
        kind="SelfSubjectReview",
        namespaced=False,
    )
    async with Client(replace(connection, impersonation=jane)) as kube:
        review = await kube.create(reviews, {"apiVersion": reviews.api_version, "kind": reviews.kind})
    info = review["status"]["userInfo"]
    assert (info["username"], info["uid"]) == ("jane", "7")
    assert {"g1", "g2"} <= set(info["groups"])
    assert info["extra"] == {"a.example/b c": ["x", "y"]}


async def test_the_server_must_be_who_it_is_expected_to_be(connection):
    if connection.ca is None:
        pytest.skip("this server's certificate is not checked")
    async with Client(replace(connection, tls_server_name="another.example")) as kube:
        with pytest.raises(Unreachable, match="not trusted"):
            await kube.version()


async def test_a_proxy_is_gone_through(connection):
    async with tunnelling() as proxy:
        through = Proxy(proxy.url, "me", "pass")
        async with Client(replace(connection, proxy=through)) as kube:
            assert (await kube.version()).startswith("v1.")
    assert proxy.heads[0].startswith(f"CONNECT {connection.server.removeprefix('https://')} ")
    assert "Proxy-Authorization: Basic " in proxy.heads[0]


async def test_an_object_of_another_shape_is_an_error_and_not_left_out(kube, namespace):
    class Wrong(msgspec.Struct):
        data: list[int]

    await kube.create(CONFIG_MAPS, config_map("a", namespace, k="v"))
    wrong = replace(CONFIG_MAPS, decode_as=Wrong)
    with pytest.raises(BadAnswer, match=f"{namespace}/a"):
        await kube.list(wrong, namespace=namespace, label_selector=OURS)
    partial = await kube.list(wrong, namespace=namespace, label_selector=OURS, whole=False)
    assert ([], [(namespace, "a")]) == (partial.items, [lost.key for lost in partial.undecodable])


async def test_invalid_names_every_field(kube, namespace):
    body = config_map("Not A Name", namespace) | {"data": {"not a key": "v"}}
    with pytest.raises(Invalid) as caught:
        await kube.create(CONFIG_MAPS, body)
    fields = {cause.field for cause in caught.value.causes}
    assert fields == {"metadata.name", "data[not a key]"}
    assert all(field in str(caught.value) for field in fields)
    assert caught.value.terminal


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../nodes", "a%2fb", "\ud800"])
async def test_a_name_never_leads_elsewhere(kube, namespace, name):
    with pytest.raises(InvalidName):
        await kube.get(CONFIG_MAPS, name, namespace=namespace)
    with pytest.raises(InvalidName):
        await kube.delete(CONFIG_MAPS, "a", namespace=name)


@pytest.mark.parametrize("name", ["a?b=c", "a#b", "a b", "ä", "a\nb", "a;b", "a&watch=1"])
async def test_a_strange_name_is_asked_for_as_it_is(kube, namespace, name):
    with pytest.raises(NotFound) as caught:
        await kube.get(CONFIG_MAPS, name, namespace=namespace)
    assert caught.value.details["name"] == name


async def test_names_with_colons_are_found(kube):
    assert (await kube.get(ROLES, "system:basic-user"))["metadata"]["name"] == "system:basic-user"


async def test_a_namespaced_object_needs_a_namespace(kube):
    with pytest.raises(InvalidName):
        await kube.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    with pytest.raises(InvalidName):
        await kube.get(CONFIG_MAPS, "a")


async def test_a_list_comes_in_pages_and_whole(kube, namespace):
    for index in range(7):
        await kube.create(CONFIG_MAPS, config_map(f"n{index}", namespace, parity=str(index % 2)))
    paged = await kube.list(CONFIG_MAPS, namespace=namespace, label_selector=OURS, page=3)
    whole = await kube.list(CONFIG_MAPS, namespace=namespace, label_selector=OURS)
    assert [item["metadata"]["name"] for item in paged.items] == [f"n{index}" for index in range(7)]
    assert paged.items == whole.items
    one = await kube.get(CONFIG_MAPS, "n3", namespace=namespace)
    assert one in whole.items  # with kind and apiVersion, as a get has them


async def test_a_list_gives_back_what_its_reader_has_where_that_is_equal(kube, namespace):
    for index in range(5):
        await kube.create(CONFIG_MAPS, config_map(f"n{index}", namespace))
    had = {key_of(one): one for one in (await kube.list(CONFIG_MAPS, namespace=namespace, label_selector=OURS)).items}
    await kube.patch(CONFIG_MAPS, "n1", MergePatch({"data": {"k": "v"}}), namespace=namespace)
    await kube.delete(CONFIG_MAPS, "n2", namespace=namespace)
    await kube.create(CONFIG_MAPS, config_map("new", namespace))
    again = await kube.list(CONFIG_MAPS, namespace=namespace, label_selector=OURS, page=2, known=had.get)
    assert [one["metadata"]["name"] for one in again.items] == ["n0", "n1", "n3", "n4", "new"]
    assert [one is had.get(key_of(one)) for one in again.items] == [True, False, True, True, False]
    assert again.items[1]["data"] == {"k": "v"}


async def test_selectors_are_sent_as_they_are(kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("a", namespace))
    assert await names(kube, namespace, label_selector="for in (test, other),!missing") == {"a"}
    assert await names(kube, namespace, field_selector="metadata.name=a") == {"a"}
    assert await names(kube, namespace, label_selector="for!=test,x=y") == set()


async def test_kinds_are_found_also_when_they_come_later(kube, namespace):
    name = f"things.{namespace}.test.mooring.dev"
    group = f"{namespace}.test.mooring.dev"
    with pytest.raises(UnknownKind):
        await kube.resource(f"{group}/v1", "Thing")
    definitions = await kube.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": group,
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Cluster",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    await kube.create(definitions, {"metadata": {"name": name}, "spec": spec})
    try:
        things = await until_known(kube, f"{group}/v1", "Thing")
        assert (things.plural, things.namespaced) == ("things", False)
    finally:
        await kube.delete(definitions, name)


async def until_known(kube, api_version, kind):
    for _ in range(200):
        try:
            return await kube.resource(api_version, kind)
        except UnknownKind:
            continue  # each miss asks the server, so this does not spin
    raise AssertionError("never served")


async def test_paths_outside_the_objects_are_reached(kube):
    assert await kube.raw("GET", "/readyz") == b"ok"
    assert b"apiserver_request_total" in await kube.raw("GET", "/metrics")
    assert (await kube.version()).startswith("v1.")


async def test_whoever_is_called_off_while_leaving_leaves_nothing_open(kube):
    """What stays open is told when it is collected, and that is an error here."""
    client = await Client(kube.connection).__aenter__()
    await client.version()
    leaving = asyncio.create_task(client.__aexit__(None, None, None))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    assert leaving.cancelled(), "it was still closing"
    del client, leaving
    gc.collect()

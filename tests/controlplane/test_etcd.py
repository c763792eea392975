"""etcd alone: what happens when it is restarted, runs full, or its password is not the right one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from gateway_kit import as_root

from mooring.controlplane.binaries import find_binaries
from mooring.controlplane.errors import EtcdError, StateError
from mooring.controlplane.etcd import Etcd
from mooring.controlplane.keeping import Keeper
from mooring.controlplane.plane import new_identity
from mooring.controlplane.toolsets import KUBERNETES


@pytest.fixture
async def etcd(tmp_path: Path) -> AsyncIterator[Etcd]:
    made = Etcd(tmp_path / "etcd", find_binaries(KUBERNETES).path("etcd"))
    keeper = Keeper("etcd", made.directory, made.prepare)
    await made.ready(await keeper.ensure())
    await made.protect()
    yield made
    made.close()
    await keeper.stop()


async def test_a_restart_costs_neither_tenants_nor_calls(etcd: Etcd) -> None:
    tenant = new_identity()
    await etcd.add_tenant(tenant)
    keeper = Keeper("etcd", etcd.directory, etcd.prepare)
    await keeper.stop()
    with pytest.raises(EtcdError, match="etcd does not answer"):
        await etcd.tenants()
    await etcd.ready(await keeper.ensure())
    keeper.release()
    # The token was forgotten and the connection closed; neither shows.
    assert await etcd.tenants() == {tenant}
    await etcd.protect()  # again is fine
    await etcd.remove_tenant(tenant)
    await etcd.remove_tenant(tenant)  # and so is this
    assert await etcd.tenants() == frozenset()
    assert (await as_root(etcd, "auth/role/list"))["roles"] == ["root"]


async def test_a_used_up_quota_is_told_and_is_no_reason_not_to_start(etcd: Etcd) -> None:
    assert await etcd.alarms() == []
    member = (await as_root(etcd, "maintenance/status"))["header"]["member_id"]
    await as_root(etcd, "maintenance/alarm", action="ACTIVATE", memberID=member, alarm="NOSPACE")
    assert await etcd.alarms() == ["NOSPACE"]
    keeper = Keeper("etcd", etcd.directory, etcd.prepare)
    await etcd.ready(await keeper.ensure())
    keeper.release()
    await etcd.remove_tenant("whoever")


async def test_a_password_that_is_not_the_right_one_is_named(etcd: Etcd) -> None:
    path = etcd.directory / "root.password"
    right = path.read_bytes()
    path.write_bytes(b"0" * 64)
    with pytest.raises(StateError, match=r"does not take the password in .*root\.password"):
        await etcd.tenants()
    path.write_bytes(b"short")
    with pytest.raises(StateError, match=r"root\.password is damaged"):
        etcd.prepare()
    path.unlink()
    with pytest.raises(StateError, match=r"root\.password is missing"):
        etcd.prepare()
    path.write_bytes(right)


async def test_damaged_certificates_are_named_or_issued_again(etcd: Etcd) -> None:
    etcd.close()
    (etcd.directory / "pki" / "nameless.crt").write_bytes(b"nonsense")
    with pytest.raises(StateError, match=r"A certificate in .*pki is damaged"):
        await etcd.alarms()
    etcd.prepare()
    assert await etcd.alarms() == []

"""Doors are made on a control plane that this worker's tests have for themselves."""

import pytest
from entry_kit import unique

from mooring.kube.errors import NotFound
from mooring.testing.builders import NAMESPACES


@pytest.fixture
async def accounts(own_kube):
    """The name of a namespace for accounts, which is not there yet."""
    name = unique("accounts")
    yield name
    try:
        await own_kube.delete(NAMESPACES, name)
    except NotFound:
        return

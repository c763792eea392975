"""Whatever a test of the runtime starts must have ended with it."""

import asyncio

import pytest
from runtime_kit import define_things


@pytest.fixture(autouse=True)
async def no_task_is_left():
    yield
    ours = asyncio.current_task()
    left = [task for task in asyncio.all_tasks() if task is not ours and not task.done()]
    assert not left, f"tasks that nobody ended: {left}"


@pytest.fixture
async def things(kube):
    """The platform knows the kind of ``runtime_kit``."""
    await define_things(kube)

import asyncio

import pytest

from magnetar.broker.admin.health_check import HealthCheck
from magnetar.errors import StorageError


class Metadata:
    async def clusters(self):
        return []


async def test_one_check_answers_all_who_ask_meanwhile():
    checks, gate = [], asyncio.Event()

    async def check():
        checks.append(1)
        await gate.wait()

    health = HealthCheck(Metadata(), check)
    asked = [asyncio.create_task(health.check()) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*asked)
    assert (len(checks), health.last) == (1, True)
    await health.check()
    assert len(checks) == 2


async def test_a_store_that_fails_or_hangs_is_not_well(monkeypatch):
    async def fails():
        raise StorageError("no disk")

    health = HealthCheck(Metadata(), fails)
    with pytest.raises(StorageError, match="no disk"):
        await health.check()
    assert health.last is False
    monkeypatch.setattr("magnetar.broker.admin.health_check.TIMEOUT_S", 0.01)
    with pytest.raises(StorageError, match=r"within 0\.01 s"):
        await HealthCheck(Metadata(), asyncio.Event().wait).check()

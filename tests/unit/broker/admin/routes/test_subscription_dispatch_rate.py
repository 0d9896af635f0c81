"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import asyncio

import pytest
from unit.broker.admin.world import open_world

TOPIC = "/admin/v2/persistent/public/default/t"


@pytest.fixture
async def world():
    async with open_world() as opened:
        await opened.topic("persistent://public/default/t")
        yield opened


async def test_rates_set_at_the_same_time_are_all_kept(world):
    names = [f"s{number}" for number in range(5)]
    await asyncio.gather(
        *(
            world.ask(
                "POST",
                f"{TOPIC}/{name}/dispatchRate",
                {"dispatchThrottlingRateInMsg": number, "ratePeriodInSecond": 1},
            )
            for number, name in enumerate(names)
        )
    )
    for number, name in enumerate(names):
        shown = (await world.ask("GET", f"{TOPIC}/{name}/dispatchRate")).json
        assert shown["dispatchThrottlingRateInMsg"] == number


async def test_what_is_no_rate_is_refused(world):
    assert (await world.ask("POST", f"{TOPIC}/s/dispatchRate", "fast")).status == 400

import pytest

from magnetar.broker.cluster.brokers import Brokers


@pytest.fixture
async def running(brokers):
    made = [Brokers(each.member) for each in brokers]
    yield made
    for each in made:
        each.close()


async def test_brokers_that_run_are_listed_by_their_names(running):
    here, there = running
    await there.register()
    await here.register()
    assert await here.all() == await there.all() == [here.own, there.own]
    assert await here.get(there.own.name) == there.own
    assert await here.get("nobody:1") is None
    await there.unregister()
    assert await here.all() == [here.own]


async def test_the_first_that_is_asked_leads_until_it_ends(running):
    here, there = running
    assert await there.leader() == there.own
    assert await here.leader() == there.own
    await there.unregister()
    assert await here.leader() == here.own

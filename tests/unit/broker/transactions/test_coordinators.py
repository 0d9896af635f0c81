"""Which broker serves a coordinator: two brokers in one loop, and one after the other."""

import pytest
from cluster.conftest import two_brokers
from support.loop import until

from magnetar.broker.transactions import coordinators as coordinators_module
from magnetar.errors import CoordinatorNotFound, NotOwner
from magnetar.model.system_topics import COORDINATORS
from magnetar.testing.local_broker import LocalBroker

ON = {"transactionCoordinatorEnabled": True, "webServicePort": -1}


def served_by(local):
    return local.broker.registry.served_along


async def begin(coordinators, number=0):
    """Begin a transaction, and return its id once it is durable."""
    answers = []
    txn_id = coordinators.get(number).begin(60_000, None, answers.append)
    await until(lambda: answers)
    assert answers == [None]
    return txn_id


async def connect(coordinators, number=0):
    assert await coordinators.owner(number)
    return await coordinators.connect(number)


async def test_coordinators_are_partitions_that_a_broker_makes_when_it_starts():
    async with LocalBroker(settings={**ON, "transactionCoordinators": 3}) as local:
        coordinators = served_by(local)
        assert await coordinators.count() == 3
        for number in range(3):
            await connect(coordinators, number)
        with pytest.raises(CoordinatorNotFound, match="id 3 not found!"):
            await connect(coordinators, 3)


async def test_a_setting_for_fewer_leaves_those_that_there_are(tmp_path):
    for count, expected in ((2, 2), (1, 2), (4, 4)):
        settings = {**ON, "transactionCoordinators": count}
        async with LocalBroker(tmp_path, settings=settings) as local:
            assert await served_by(local).count() == expected


async def test_a_broker_that_starts_again_goes_on_with_what_is_open(tmp_path):
    async with LocalBroker(tmp_path, settings=ON) as local:
        coordinators = served_by(local)
        assert coordinators.loaded == {}  # Nobody has asked for one yet.
        await connect(coordinators)
        txn_id = await begin(coordinators)
    async with LocalBroker(tmp_path, settings=ON) as local:
        # Nobody asks for it, and the time of its transaction goes on.
        assert served_by(local).get(0).find(txn_id).timeout_ms == 60_000


async def test_one_is_served_where_its_bundle_is_and_moves_with_it():
    async with two_brokers(**ON) as pair:
        here, there = map(served_by, pair.brokers)
        await connect(here)
        txn_id = await begin(here)
        with pytest.raises(NotOwner):
            await there.connect(0)
        registry = pair.brokers[0].broker.registry
        (bundle,) = registry.ownership.bundles
        assert bundle.holds(COORDINATORS.partition(0))
        await registry.unload_bundle(bundle)
        with pytest.raises(CoordinatorNotFound):
            here.get(0)
        coordinator = await connect(there)
        assert coordinator.find(txn_id)
        assert await begin(there) > txn_id


async def test_one_whose_broker_lost_its_lease_grants_nothing_more():
    async with two_brokers(**ON) as pair:
        here, there = map(served_by, pair.brokers)
        await connect(here)
        txn_id = await begin(here)
        lost = here.get(0)
        pair.sessions[0].expire()
        await until(lambda: not here.loaded)
        with pytest.raises(CoordinatorNotFound):
            lost.begin(60_000, None, lambda _: None)
        assert (await connect(there)).find(txn_id)


async def test_transactions_of_a_broker_that_is_gone_are_taken_over(monkeypatch):
    monkeypatch.setattr(coordinators_module, "ADOPT_S", 0.01)
    async with two_brokers(**ON) as pair:
        here, there = map(served_by, pair.brokers)
        await connect(here)
        txn_id = await begin(here)
        (bundle,) = pair.brokers[0].broker.registry.ownership.bundles
        here.loaded.clear()  # It is gone, and so is its session.
        await here.close()
        await pair.brokers[0].broker.registry.unload_bundle(bundle)
        await until(lambda: there.loaded)
        assert there.get(0).find(txn_id)

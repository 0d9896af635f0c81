"""A broker as a member: its leases name it, and records name brokers."""

from magnetar.storage.metadata import paths


async def test_a_lease_names_the_member_that_took_it(brokers):
    here, there = (each.member for each in brokers)
    leases = here.leases(paths.LOAD_BALANCE, lambda _: None)
    assert await there.broker_at(paths.LEADER) is None
    await leases.take(paths.LEADER)
    assert await there.broker_at(paths.LEADER) == here.own
    leases.close()

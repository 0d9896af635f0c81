import pytest

from magnetar.broker.cluster.lookup import Lookup
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName

TOPIC = TopicName.parse("x")


async def test_a_lookup_takes_the_bundle_and_others_are_sent_there(resources, brokers):
    here, there = brokers
    for kept in (True, False):
        found = await Lookup(resources, here.ownership, kept=kept).find(TOPIC)
        assert (found.address, found.kept) == (here.address, kept)
    assert here.ownership.owns(await resources.bundle(TOPIC))
    found = await Lookup(resources, there.ownership, kept=True).find(TOPIC)
    assert (found.address, found.kept) == (here.address, False)


async def test_a_topic_of_no_namespace_is_not_found(resources, brokers):
    topic = TopicName.parse("persistent://public/nosuch/x")
    lookup = Lookup(resources, brokers[0].ownership, kept=True)
    with pytest.raises(TopicNotFound, match=r"^Namespace not found$"):
        await lookup.find(topic)
    assert brokers[0].ownership.bundles == []


async def test_a_lookup_that_did_not_know_of_a_split_looks_again(resources, brokers):
    here, there = brokers
    whole = await resources.bundle(TOPIC)
    boundary = (whole.low + whole.high) // 2
    told = []

    async def exists(bundle):
        if not told:  # The watch tells of it while the lease is taken.
            told.append(bundle)
            await resources.split_bundles(TOPIC.namespace, [boundary])
        return await resources.has_bundle(bundle)

    here.ownership.exist_by(exists)
    found = await Lookup(resources, here.ownership, kept=True).find(TOPIC)
    part = await resources.bundle(TOPIC)
    assert told == [whole]
    assert part != whole
    assert part.is_within(whole)
    assert found.address == here.address
    assert here.ownership.bundles == [part]
    assert await there.ownership.owner(whole) is None

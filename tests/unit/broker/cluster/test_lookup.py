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

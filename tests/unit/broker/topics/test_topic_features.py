"""What few topics have is made when it is asked for."""

import pytest

from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import TopicClosed
from magnetar.model.policies import Policies
from magnetar.model.policy_values import PublishRate


async def test_a_topic_has_none_of_them_until_it_is_asked_for(bench):
    features = bench.topic._features
    assert (features.rates, features.compaction, features.offload) == (None, None, None)
    assert features.publish == bench.topic.writer.publish
    assert not features.running
    bench.topic.apply(Policies(publish_rate=PublishRate(5)))
    assert features.publish == features.rates.publish
    bench.topic.apply(Policies(deduplication=True))
    assert topic_stats(bench.topic).deduplicates


async def test_a_topic_that_closes_begins_nothing(bench):
    await bench.topic.close()
    with pytest.raises(TopicClosed):
        bench.topic.compact()
    with pytest.raises(TopicClosed):
        bench.topic.offloading()
    await bench.topic.compact_if_due()
    assert bench.topic.compaction is None

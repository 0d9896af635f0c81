import asyncio

from magnetar.broker.topics.features.compaction import TopicCompaction
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.topic_context import TopicContext
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.clock import SystemClock
from magnetar.loop_iteration import LoopIteration


async def test_topics_share_the_places_for_what_is_much_work(open_bench):
    iteration = LoopIteration(asyncio.get_running_loop())
    settings = TopicSettings(compactions_at_once_max=3)
    context = TopicContext(settings, SystemClock(), iteration, producer_name=lambda: "p")
    topic = (await open_bench()).topic
    state = StoredTopicState(topic.name, context, topic.policies, ledger=topic.ledger)
    made = [TopicCompaction(state) for _ in range(2)]
    assert made[0]._places is made[1]._places is context.compactions
    assert context.compactions._value == 3
    assert context.new_uid() != context.new_uid()

"""A topic that closes takes nobody, whichever part of it is asked."""

import pytest

from magnetar.broker.topics.topic_state import TopicState
from magnetar.errors import TopicClosed
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies


def test_a_topic_that_lets_go_says_so_by_name():
    state = TopicState(TopicName.parse("persistent://public/default/t"), None, Policies())
    state.check_open()
    state.closed = True
    with pytest.raises(TopicClosed, match="public/default/t is being closed here"):
        state.check_open()


async def test_all_parts_of_a_topic_know_that_it_closes(bench):
    await bench.topic.close()
    for take_in in (
        bench.topic.create_subscription("s", bench.topic.last_position),
        bench.topic.attach_producer(None, 1, "p"),
        bench.topic.terminate(),
    ):
        with pytest.raises(TopicClosed):
            await take_in
    with pytest.raises(TopicClosed):
        bench.topic.compact()

"""The official client's consumers of several topics, and of a pattern."""

import re

import pulsar
import pytest
from compatibility.conftest import nothing_more, receive_all

pytestmark = pytest.mark.compatibility

FIRST = pulsar.InitialPosition.Earliest


def received(consumer, expected):
    return {(m.topic_name(), m.data()) for m in receive_all(consumer, expected)}


def test_a_consumer_takes_several_topics(official, topic):
    topics = [f"{topic}-{number}" for number in range(3)]
    consumer = official.subscribe(topics, "s", initial_position=FIRST)
    for each in topics:
        official.create_producer(each).send(each.encode())
    assert received(consumer, 3) == {(each, each.encode()) for each in topics}


def test_a_consumer_of_a_pattern_takes_the_topics_that_match(official, topic):
    """It asks for new ones once a minute, whatever it is told, which is too long for a test."""
    namespace, _, local = topic.rpartition("/")
    topics = [f"{topic}-{number}" for number in range(2)]
    for each in (*topics, f"{namespace}/other-{local}"):
        official.create_producer(each).send(each.encode())
    pattern = re.compile(f"{namespace}/{local}-.*")
    consumer = official.subscribe(pattern, "s", initial_position=FIRST)
    assert received(consumer, 2) == {(each, each.encode()) for each in topics}
    nothing_more(consumer)

"""Non-persistent topics exist as long as they are open."""

from magnetar.broker.open_topics import OpenTopics
from magnetar.model.names import NamespaceName, TopicName

A = TopicName.parse("non-persistent://public/default/a")
B = TopicName.parse("non-persistent://public/default/b")
OTHER = TopicName.parse("non-persistent://public/other/a")


def test_they_are_listed_by_namespace_while_they_are_open():
    topics = OpenTopics()
    for name in (B, OTHER, A):
        topics.add(name)
    assert topics.of(NamespaceName("public", "default")) == [A, B]
    topics.discard(A)
    topics.discard(A)
    assert topics.of(NamespaceName("public", "default")) == [B]
    assert A not in topics
    assert B in topics


def test_nothing_is_left_of_a_namespace_without_any():
    topics = OpenTopics()
    topics.add(A)
    topics.discard(A)
    assert topics.of(A.namespace) == []
    assert not topics._by_namespace

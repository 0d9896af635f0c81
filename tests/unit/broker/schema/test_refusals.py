from magnetar.broker.schema import refusals
from magnetar.broker.schema.refusals import SchemaRefusals
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaRefusal

FIRST, SECOND, THIRD = (TopicName.parse(f"t{number}") for number in range(3))


def test_the_last_refusal_of_a_topic_is_known_and_how_many_there_were():
    known = SchemaRefusals()
    assert known.last(FIRST) is None
    known.note(FIRST, "producer", "no", 1)
    known.note(FIRST, "consumer", "nor this", 2)
    assert known.last(FIRST) == SchemaRefusal("consumer", "nor this", 2, 2)


def test_of_so_many_topics_the_one_refused_longest_ago_is_forgotten(monkeypatch):
    monkeypatch.setattr(refusals, "TOPICS_MAX", 2)
    known = SchemaRefusals()
    for topic in (FIRST, SECOND, FIRST, THIRD):
        known.note(topic, "producer", "no", 1)
    assert [known.last(topic) is None for topic in (FIRST, SECOND, THIRD)] == [False, True, False]

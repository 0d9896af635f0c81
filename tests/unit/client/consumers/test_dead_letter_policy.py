"""Which messages become letters, where these go, and what they tell."""

import pytest

from magnetar.client.consumers.dead_letter_policy import (
    RETRIES_MAX,
    DeadLetterPolicy,
    PassedOn,
    dead_letter,
    dead_letter_rules,
    retry_letter,
)
from magnetar.client.message import Delivery, Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import InvalidName, InvalidValue
from magnetar.message.entry import join
from magnetar.message.metadata import build, parse
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.schemas.primitives import StringSchema

ORDERS, OTHERS = TopicName.parse("orders"), TopicName.parse("t/n/others")


def message(topic="persistent://public/default/orders", partition=-1, **details):
    metadata = parse(join(build("p", 0, 0, **details), b""))
    delivery = Delivery(topic, Position(1, 2), partition, 0, metadata, 0, redelivered=False)
    return Message(delivery, -1, b"", b"x")


def rules(policy=None, names=(ORDERS, OTHERS), *, enable_retry=False):
    return dead_letter_rules(policy, names, "s", enable_retry=enable_retry)


def test_without_a_policy_and_without_retries_there_are_no_letters():
    assert rules() is None


def test_dead_letters_go_beside_their_topic():
    made = rules(DeadLetterPolicy(3))
    assert (made.count_max, made.retry) == (3, None)
    assert str(made.dead_letter_topic(OTHERS)) == "persistent://t/n/others-s-DLQ"
    parent = made.dead_letter_topic(OTHERS.partition(4))
    assert parent == made.dead_letter_topic(OTHERS)


def test_with_retries_both_topics_are_beside_the_first():
    made = rules(enable_retry=True)
    assert made.count_max == RETRIES_MAX
    assert str(made.retry) == "persistent://public/default/orders-s-RETRY"
    dead = made.dead_letter_topic(OTHERS)
    assert str(dead) == "persistent://public/default/orders-s-DLQ"


def test_topics_may_be_named():
    policy = DeadLetterPolicy(1, "dead", "a/b/again", "keep")
    made = rules(policy, enable_retry=True)
    assert str(made.dead_letter_topic(ORDERS)) == "persistent://public/default/dead"
    assert str(made.retry) == "persistent://a/b/again"
    assert made.initial_subscription == "keep"


def test_a_pattern_does_not_bring_dead_letters_back():
    made = rules(DeadLetterPolicy(1, "dead"))
    assert made.is_dead_letter_topic(TopicName.parse("dead"))
    assert made.is_dead_letter_topic(TopicName.parse("orders-s-DLQ"))
    assert not made.is_dead_letter_topic(TopicName.parse("orders-other-DLQ"))


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: DeadLetterPolicy(0), InvalidValue, "max_redeliver_count is 0"),
        (lambda: DeadLetterPolicy("3"), InvalidValue, "max_redeliver_count must be int"),
        (lambda: DeadLetterPolicy(1, b"x"), InvalidValue, "dead_letter_topic must be str"),
        (lambda: rules(DeadLetterPolicy(1, "a/b")), InvalidName, "a/b"),
        (lambda: rules(names=(), enable_retry=True), InvalidValue, "pattern"),
        (
            lambda: rules(DeadLetterPolicy(1), [TopicName.parse("non-persistent://t/n/x")]),
            InvalidValue,
            "keeps no messages",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_a_dead_letter_is_the_message_and_tells_where_it_is_from():
    letter = dead_letter(message(f"{ORDERS}-partition-3", 3, properties={"a": "b"}))
    assert letter == OutgoingMessage(
        b"x",
        properties={"a": "b", "REAL_TOPIC": str(ORDERS), "ORIGIN_MESSAGE_ID": "1:2:3"},
    )


def test_a_message_that_tells_where_it_is_from_goes_on_telling_it():
    told = {"REAL_TOPIC": "there", "ORIGIN_MESSAGE_ID": "1:0:-1:0", "RECONSUMETIMES": "3"}
    assert dead_letter(message(properties=told)).properties == told
    letter, times = retry_letter(message(properties=told), 1.5, {"more": "m"})
    assert times == 4
    changed = {"RECONSUMETIMES": "4", "DELAY_TIME": "1500", "more": "m"}
    assert letter.properties == told | changed


@pytest.mark.parametrize("before", [None, "", "x", "-1", "٣"])
def test_the_first_retry_is_number_one(before):
    properties = {} if before is None else {"RECONSUMETIMES": before}
    letter, times = retry_letter(message(properties=properties), 0, None)
    assert (times, letter.properties["RECONSUMETIMES"]) == (1, "1")


def test_properties_that_are_no_text_are_refused():
    with pytest.raises(InvalidValue, match="properties"):
        retry_letter(message(), 0, {"a": 1})


def test_what_is_passed_on_is_not_encoded_again():
    passed_on = PassedOn(StringSchema().info)
    assert passed_on.info == StringSchema().info
    assert passed_on.decode(passed_on.encode(b"\xff")) == b"\xff"

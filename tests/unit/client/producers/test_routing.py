import pytest

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.routing import (
    HashingScheme,
    MessageRouter,
    RoundRobinRouter,
    SingleRouter,
    key_hash,
)
from magnetar.errors import InvalidValue


def round_robin(**limits):
    limits = {"messages_max": 3, "bytes_max": 100, "delay_s": 1.0} | limits
    return RoundRobinRouter(0, HashingScheme.JAVA_STRING, **limits)


def test_a_key_goes_where_java_and_go_clients_send_it():
    assert key_hash("key", HashingScheme.JAVA_STRING) == 106079
    assert key_hash("key", HashingScheme.MURMUR3) == 1654417988
    for router in (round_robin(), SingleRouter(4, HashingScheme.JAVA_STRING)):
        assert router.choose("key", 1, 5, now=0.0) == 106079 % 5
    assert SingleRouter(4, HashingScheme.MURMUR3).choose("key", 1, 5, 0.0) == 1654417988 % 5


def test_an_empty_key_is_no_key():
    assert SingleRouter(4, HashingScheme.JAVA_STRING).choose("", 1, 5, now=0.0) == 4


def test_round_robin_moves_on_when_a_batch_is_full_of_messages():
    router = round_robin()
    assert [router.choose(None, 1, 4, now=0.0) for _ in range(13)] == [
        *(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0)
    ]


def test_round_robin_moves_on_when_a_batch_is_full_of_bytes():
    router = round_robin(messages_max=100)
    assert [router.choose(None, 40, 4, now=0.0) for _ in range(5)] == [0, 0, 1, 1, 2]
    assert router.choose(None, 500, 4, now=0.0) == 3
    assert router.choose(None, 1, 4, now=0.0) == 0


def test_round_robin_moves_on_when_a_batch_is_due():
    router = round_robin(messages_max=100)
    assert router.choose(None, 1, 4, now=5.0) == 0
    assert router.choose(None, 1, 4, now=5.9) == 0
    assert router.choose(None, 1, 4, now=6.0) == 1
    assert router.choose(None, 1, 4, now=6.9) == 1


def test_without_batching_round_robin_moves_on_with_every_message():
    router = round_robin(messages_max=1)
    assert [router.choose(None, 1, 3, now=0.0) for _ in range(4)] == [0, 1, 2, 0]


def test_keys_do_not_disturb_the_turn():
    router = round_robin()
    router.choose(None, 1, 4, now=0.0)
    router.choose("key", 1, 4, now=0.0)
    assert [router.choose(None, 1, 4, now=0.0) for _ in range(3)] == [0, 0, 1]


def test_a_run_may_take_what_is_left_of_the_batch():
    router = round_robin(messages_max=10)
    router.choose(None, 30, 4, now=0.0)
    assert router.room(4, now=0.0) == (0, 9, 70)
    router.took(9, 50)
    assert router.room(4, now=0.0) == (1, 10, 100)


def test_a_function_of_the_application_sees_the_whole_message():
    def choose(message, partitions):
        return len(message.value + message.key) % partitions if message.key else partitions - 1

    router = MessageRouter(choose)
    assert router.choose(OutgoingMessage(b"12345", key=b"678"), 7) == 1
    assert router.choose(OutgoingMessage(b"x"), 7) == 6


@pytest.mark.parametrize("chosen", [7, -1, None, "1", 1.0])
def test_what_is_no_partition_is_refused(chosen):
    with pytest.raises(InvalidValue, match=r"none of the partitions 0 to 6"):
        MessageRouter(lambda *_: chosen).choose(OutgoingMessage(b"x"), 7)


def test_a_function_that_fails_says_so():
    with pytest.raises(InvalidValue, match="the routing function failed: ZeroDivisionError"):
        MessageRouter(lambda message, _: 1 // len(message.value)).choose(OutgoingMessage(b""), 7)

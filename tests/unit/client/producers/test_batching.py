from hypothesis import given
from hypothesis import strategies as st

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import (
    Batch,
    BatchPerKey,
    OneBatch,
    PackedBatch,
    fitting,
    renumber,
)


def test_one_batch_takes_every_key():
    batches = OneBatch()
    assert batches.batch_for("a") is None
    batch = Batch(1, 0.0)
    batches.open("a", batch)
    assert batches.batch_for("b") is batch
    batches.messages, batches.size_bytes = 2, 20
    assert batches.take() == [batch]
    assert batches.take() == []
    assert (batches.messages, batches.size_bytes) == (0, 0)


def test_batches_by_key_never_mix_and_leave_by_their_first_number():
    batches = BatchPerKey()
    late, early, none = Batch(5, 0.0), Batch(2, 0.0), Batch(3, 0.0)
    batches.open("a", late)
    batches.open(b"b", early)
    batches.open(None, none)
    assert batches.batch_for("a") is late
    assert batches.batch_for(b"b") is early
    assert batches.batch_for(None) is none
    assert batches.take() == [early, none, late]
    assert batches.batch_for("a") is None


def test_a_batch_knows_its_last_sequence_id():
    batch = Batch(7, 0.0, payloads=[b"a", b"b"])
    assert batch.last_sequence_id == 8
    batch.details[1] = OutgoingMessage(b"b", sequence_id=40)
    assert batch.last_sequence_id == 40


def entwined():
    """Messages 7 to 10, of two keys in turn."""
    one, other = (Batch(first, 0.0, payloads=[b"x", b"y"]) for first in (7, 8))
    one.details[1] = OutgoingMessage(b"y", sequence_id=9)
    other.details[1] = OutgoingMessage(b"y", sequence_id=10)
    return [one, other]


def test_ids_rise_from_batch_to_batch():
    batches = entwined()
    renumber(batches)
    assert [(each.first_sequence_id, each.last_sequence_id) for each in batches] == [
        (7, 8),
        (9, 10),
    ]


def test_ids_that_the_application_chose_are_kept_and_batches_told_by_their_last():
    first, second = batches = entwined()
    third = Batch(3, 0.0, [b"x"] * 2)
    third.details[1] = OutgoingMessage(b"x", sequence_id=11)
    second.ids_given = True
    assert renumber([third, *batches]) == [first, second, third]
    assert [(each.first_sequence_id, each.last_sequence_id) for each in batches] == [
        (7, 9),
        (8, 10),
    ]
    assert [each.sequence_id for each in (first, second, third)] == [9, 10, 11]


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=30),
    st.integers(0, 10),
    st.integers(0, 60),
    st.data(),
)
def test_a_run_is_as_long_as_the_limits_allow(sizes, messages_max, bytes_max, data):
    at = data.draw(st.integers(0, len(sizes) - 1))
    ends = [sum(sizes[:n]) for n in range(len(sizes) + 1)]
    stop = fitting(ends, at, messages_max, bytes_max)
    longest = at
    while (
        longest < len(sizes)
        and longest + 1 - at <= messages_max
        and sum(sizes[at : longest + 1]) <= bytes_max
    ):
        longest += 1
    assert stop == longest


def test_a_packed_batch_has_its_own_count_and_numbers():
    batch = Batch.of(PackedBatch(b"...", 3, 7, 30, "k"), 99.0)
    assert (len(batch), batch.first_sequence_id, batch.last_sequence_id) == (3, 7, 9)
    assert (batch.size_bytes, batch.deadline) == (30, 99.0)

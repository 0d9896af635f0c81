from magnetar.client.producers.pending import PendingSend, PendingSends


def queue(messages_max=10, bytes_max=1000):
    return PendingSends(messages_max=messages_max, bytes_max=bytes_max)


def add(pending, sequence_id, *, messages=1, size=10, deadline=100.0):
    send = PendingSend(sequence_id, sequence_id, [b""], messages, 0, size, deadline)
    pending.admit(messages, size)
    pending.append(send)
    return send


def test_receipts_are_matched_in_order():
    pending = queue()
    first, second = add(pending, 1), add(pending, 2)
    assert pending.answered(1) is first
    assert pending.answered(2) is second
    assert len(pending) == 0
    assert (pending.messages, pending.size_bytes) == (0, 0)


def test_a_receipt_for_something_given_up_is_nobodys():
    pending = queue()
    add(pending, 5)
    assert pending.answered(4) is None
    assert not pending.out_of_order(4)
    assert len(pending) == 1


def test_a_receipt_ahead_of_the_oldest_breaks_the_order():
    pending = queue()
    add(pending, 5)
    add(pending, 6)
    assert pending.answered(6) is None
    assert pending.out_of_order(6)


def test_it_is_full_by_messages_or_by_bytes_and_takes_one_of_any_size_when_empty():
    by_messages, by_bytes = queue(messages_max=2), queue(bytes_max=20)
    add(by_messages, 1)
    assert not by_messages.full
    add(by_messages, 2)
    assert by_messages.full
    add(by_bytes, 1, size=19)
    assert not by_bytes.full
    add(by_bytes, 2, size=5000)
    assert by_bytes.full
    by_bytes.answered(1)
    assert by_bytes.full
    by_bytes.answered(2)
    assert not by_bytes.full


def test_what_is_admitted_counts_before_it_is_sent():
    pending = queue(messages_max=2)
    pending.admit(2, 10)
    assert pending.full
    pending.release(1, 5)
    assert (pending.room, pending.size_bytes) == (1, 5)


def test_only_what_is_overdue_expires_oldest_first():
    pending = queue()
    sends = [add(pending, n, deadline=float(n)) for n in range(1, 5)]
    assert pending.first_deadline == 1.0
    assert pending.expired(2.0) == sends[:2]
    assert pending.first_deadline == 3.0
    assert pending.expired(float("inf")) == sends[2:]
    assert pending.first_deadline == float("inf")


def test_a_refusal_takes_out_every_chunk_of_the_message_wherever_it_stands():
    pending = queue()
    first = add(pending, 1)
    chunks = [add(pending, 2, messages=0), add(pending, 2)]
    assert pending.refused(2) == chunks
    assert list(pending) == [first]
    assert pending.messages == 1


def test_settled_counts_from_the_oldest():
    pending = queue()
    assert (pending.appended, pending.settled) == (0, 0)
    add(pending, 1)
    add(pending, 2)
    add(pending, 3)
    assert (pending.appended, pending.settled) == (3, 0)
    pending.refused(2)
    assert pending.settled == 0
    pending.answered(1)
    assert pending.settled == 2
    pending.answered(3)
    assert pending.settled == 3

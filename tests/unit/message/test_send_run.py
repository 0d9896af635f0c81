"""message/send_run.py: what a run counts, and how it is cut."""

from magnetar.message.entry import checksum, join
from magnetar.message.metadata import transaction_of
from magnetar.message.send_run import SendRun
from magnetar.proto import PulsarApi_pb2 as pb


def test_a_run_counts_its_sends_and_their_bytes():
    run = SendRun.of(1, [0, 1], [b"four", b"sixsix"], [0, 0], [1, 1], [0, 0])
    assert (len(run), run.size_bytes) == (2, 10)


def test_a_run_is_cut_at_what_is_answered_apart():
    run = SendRun.of(
        7, [0, 1, 2, 3], [b"a", b"b", b"c", b"d"], [5, 6, 7, 8], [1, 2, 3, 4], [0, 9, 9, 0]
    )
    parts = list(run.split_by({1: "apart", 2: "apart"}))
    assert [(apart, part.data) for apart, part in parts] == [
        (None, [b"a"]),
        ("apart", [b"b", b"c"]),
        (None, [b"d"]),
    ]
    assert parts[1][1] == SendRun.of(7, [1, 2], [b"b", b"c"], [6, 7], [2, 3], [9, 9])


def test_a_part_keeps_its_highest_sequence_ids():
    run = SendRun.of(7, [0, 1], [b"a", b"b"], [5, 6], [1, 2], [0, 9])
    assert [part.highest for _, part in run.split_by({1: "apart"})] == [[0], [9]]


def test_a_run_grows_by_what_follows():
    run = SendRun(7, [0], [b"a"], [5], [1], [0], 1, 1, usual=True)
    run.extend(SendRun(7, [1], [b"bb"], [6], [2], [9], 2, 2, usual=True))
    assert run == SendRun.of(7, [0, 1], [b"a", b"bb"], [5, 6], [1, 2], [0, 9])
    assert run.usual
    run.extend(SendRun.of(7, [2], [b"c"], [7], [1], [0]))
    assert not run.usual


def test_entries_known_to_be_usual_are_not_looked_into():
    run = SendRun(7, [0, 1], [b"anything"] * 2, [5, 6], [1, 2], [0, 0], 16, 3, usual=True)
    part = run.part(1, 2)
    assert run.traits.message_counts == [1, 2]
    assert part.traits.message_counts == [2]
    assert not run.traits.unusual
    assert SendRun.of(7, [0], [b"anything"], [5], [1], [0]).traits.unusual


def test_what_is_stored_of_a_transaction_names_it():
    said = {"producer_name": "p", "sequence_id": 0, "publish_time": 0}
    unnamed = join(pb.MessageMetadata(**said).SerializeToString(), b"payload")
    named = pb.MessageMetadata(**said, txnid_most_bits=0, txnid_least_bits=5).SerializeToString()
    other = pb.MessageMetadata(**said, txnid_most_bits=0, txnid_least_bits=6).SerializeToString()
    sent = [unnamed, join(named, b"payload"), join(other, b"payload"), b"\0\0\0\x02\xff\xff"]
    sums = [checksum(entry) for entry in sent]
    run = SendRun.of(1, [0, 1, 2, 3], sent, sums, [1] * 4, [0] * 4, (0, 5))
    stored = run.naming_its_transaction()
    assert stored.data == [sent[1], *sent[1:]]
    assert stored.checksums == [checksum(entry) for entry in stored.data]
    assert (stored.size_bytes, stored.transaction) == (sum(map(len, stored.data)), (0, 5))
    assert transaction_of(stored.data[2]) == (0, 6), "it is refused later"
    assert stored.naming_its_transaction() is stored

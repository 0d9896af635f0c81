"""Which sends are duplicates, and whose sequence ids are kept."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.topics.publishing.sequence_ids import SequenceIds
from magnetar.message.entry import join
from magnetar.message.send_run import SendRun
from magnetar.proto import PulsarApi_pb2 as pb

NOBODY: set[str] = set()
HIGHEST = 2**64 - 1


def run_of(*sends):
    """Sends, each of (first id, highest id, chunk index, chunks); 0 chunks: it is no chunk."""
    whole = [(*send, 0, 0, 0)[:4] for send in sends]
    data = [_entry(sequence_id, *chunk) for sequence_id, _, *chunk in whole]
    ids, tops = [send[0] for send in whole], [send[1] for send in whole]
    return SendRun.of(1, ids, data, [0] * len(data), [1] * len(data), tops)


def _entry(sequence_id, index, count):
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=sequence_id, publish_time=1)
    if count:
        metadata.uuid, metadata.num_chunks_from_msg = f"p-{sequence_id}", count
        metadata.chunk_id, metadata.total_chunk_msg_size = index, 1
    return join(metadata.SerializeToString(), b"")


def singles(*ids):
    return run_of(*((each,) for each in ids))


def taken(*runs):
    """Sequence ids, after these runs were taken and stored."""
    ids = SequenceIds()
    for run in runs:
        for repeats, part in run.split_by(ids.duplicates("p", run)):
            if not repeats:
                ids.stored("p", part)
    return ids


def duplicates(ids, *sends):
    return list(ids.duplicates("p", run_of(*sends)))


def test_what_is_not_above_the_highest_id_is_a_duplicate():
    ids = taken(singles(0, 1, 5))
    assert ids.last("p") == 5
    assert duplicates(ids, (1,), (5,), (6,), (3,)) == [0, 1, 3]


def test_a_batch_counts_to_its_highest_id():
    ids = taken(run_of((6, 8)))
    assert ids.last("p") == 8
    assert duplicates(ids, (6, 8), (7, 9), (9, 11)) == [0, 1]
    assert duplicates(ids, (20, 18), (20,), (21,)) == [1]  # A highest id below the first is none.


def test_what_waits_to_be_stored_is_known_and_not_told():
    ids = SequenceIds()
    assert duplicates(ids, (0,), (1,)) == []
    assert ids.last("p") == -1
    assert duplicates(ids, (1,)) == [0]
    ids.stored("p", singles(0, 1))
    assert ids.last("p") == 1


def test_only_the_last_chunk_raises_the_id():
    ids = taken(run_of((0, 0, 0, 3), (0, 0, 1, 3)))
    assert ids.last("p") == -1
    assert duplicates(ids, (0, 0, 0, 3), (0, 0, 1, 3), (0, 0, 2, 3), (1,)) == []
    assert duplicates(ids, (0, 0, 0, 3), (0, 0, 2, 3)) == [0, 1]


def test_producers_do_not_concern_each_other():
    ids = taken(singles(5))
    assert not ids.duplicates("q", singles(0))


def test_an_id_beyond_the_signed_ones_is_negative_as_it_is_in_pulsar():
    ids = taken(run_of((HIGHEST, HIGHEST)))
    assert ids.last("p") == -1
    assert not duplicates(ids, (0,), (1,))


send = st.tuples(st.integers(0, 12), st.integers(0, 14), st.integers(0, 2), st.sampled_from([0, 3]))


@given(st.lists(st.lists(send, min_size=1, max_size=6), max_size=6))
def test_it_judges_runs_as_one_would_judge_each_send(runs):
    ids, highest, found, expected = SequenceIds(), -1, [], []
    for sends in runs:
        found.append(list(ids.duplicates("p", run_of(*sends))))
        expected.append([])
        for index, (sequence_id, top, chunk, chunks) in enumerate(sends):
            if sequence_id <= highest:
                expected[-1].append(index)
            elif not chunks or chunk == chunks - 1:
                highest = max(sequence_id, top)
    assert found == expected


def test_a_snapshot_is_what_is_stored():
    ids = taken(singles(3))
    ids.duplicates("p", singles(4))
    ids.duplicates("q", singles(0))
    snapshot = ids.snapshot(NOBODY, 10)
    assert snapshot == {"p": "3"}
    again = SequenceIds()
    again.restore(snapshot)
    assert again.last("p") == 3
    assert duplicates(again, (3,), (4,)) == [0]


def test_of_too_many_producers_those_that_are_gone_and_came_first_are_forgotten():
    ids = SequenceIds()
    for name in "abcd":
        ids.found(name, 7)
    assert ids.snapshot({"a"}, 2) == {"a": "7", "d": "7"}
    assert len(ids) == 2
    ids.found("e", 1)
    assert ids.snapshot({"a", "d", "e"}, 2) == {"a": "7", "d": "7"}
    assert ids.last("e") == 1


def test_a_producer_that_is_gone_for_long_is_forgotten():
    ids = taken(singles(3))
    assert not ids.expire({"p"}, 0, 60)
    assert not ids.expire(NOBODY, 100, 60)  # Only now it is known to be gone.
    assert not ids.expire(NOBODY, 159, 60)
    assert ids.expire(NOBODY, 160, 60)
    assert ids.last("p") == -1
    assert not duplicates(ids, (3,))


def test_a_producer_that_came_back_meanwhile_is_not_forgotten():
    ids = taken(singles(3))
    ids.expire(NOBODY, 0, 60)
    ids.expire({"p"}, 30, 60)
    assert not ids.expire(NOBODY, 60, 60)
    ids.duplicates("p", singles(4))
    ids.stored("p", singles(4))  # It came, and was gone before anybody looked.
    assert not ids.expire(NOBODY, 120, 60)
    assert ids.expire(NOBODY, 180, 60)


def test_a_producer_whose_sends_are_being_stored_is_not_forgotten():
    ids = taken(singles(3))
    ids.duplicates("p", singles(4))
    assert not ids.expire(NOBODY, 0, 0)
    assert ids.snapshot(NOBODY, 1) == {"p": "3"}

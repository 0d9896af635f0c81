import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.inner.plain.batches import unpack
from magnetar.spark import rows as rows_module
from magnetar.spark.numbered_rows import (
    SAME_PARTITION_MESSAGES,
    SURELY,
    NumberedRows,
    PartitionRows,
)
from magnetar.spark.rows import Rows

KEYS = st.sampled_from([None, b"", b"a", b"b", b"\xff", b"c"])
NOTHING = -1


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(rows_module, "BATCH_MESSAGES_MAX", 3)


def batches_of(keys, *, partitions=3, version=5, stored=None, at_once=7):
    """Batches by partition, of values that say which row they are, of lists of ``at_once``."""
    numbered = NumberedRows(version, 1, partitions)
    found = []
    for at in range(0, len(keys), at_once):
        part = keys[at : at + at_once]
        rows = Rows(
            pa.RecordBatch.from_pydict(
                {
                    "value": [b"%d" % row for row in range(at, at + len(part))],
                    "key": pa.array(part, pa.binary()),
                }
            )
        )
        placed = numbered.place(rows, len(part), lambda at: (stored or {}).get(at, NOTHING))
        found += [(partition, batch) for partition, some in placed for batch in some.batches()]
    return found


def values_of(batch):
    return unpack(batch.payload, 0, batch.message_count)[2]


def values_by_id(batches):
    return {
        (partition, batch.first_sequence_id + index): value
        for partition, batch in batches
        for index, value in enumerate(values_of(batch))
    }


@given(st.lists(KEYS, max_size=40), st.data())
def test_another_try_sends_just_what_is_not_stored_and_under_the_same_numbers(keys, data):
    first = batches_of(keys)
    everything = values_by_id(first)
    assert sorted(everything.values()) == sorted(b"%d" % row for row in range(len(keys)))
    stored = {
        partition: data.draw(
            st.sampled_from([NOTHING, *(each for at, each in everything if at == partition)])
        )
        for partition in range(3)
    }
    again = batches_of(keys, stored=stored)
    assert values_by_id(again) == {
        (partition, number): value
        for (partition, number), value in everything.items()
        if number > stored[partition]
    }
    ends = {values_of(batch)[-1] for _, batch in first}
    assert {values_of(batch)[-1] for _, batch in again} <= ends


def test_the_numbers_of_a_version_are_above_all_of_those_before_it():
    numbers = [
        [number for _, number in values_by_id(batches_of([None] * 50, version=v, partitions=1))]
        for v in (0, 1, 2)
    ]
    assert numbers[0] == list(range(50))
    assert max(numbers[0]) < min(numbers[1]) < max(numbers[1]) < min(numbers[2])
    later = {0: (9 << 32) + 4}  # A checkpoint of yesterday was put back.
    assert batches_of([None] * 50, version=1, partitions=1, stored=later) == []


def test_a_key_always_goes_to_the_partition_of_its_hash_and_the_others_get_the_rest():
    keyed = {at for at, _ in batches_of([b"a"] * 20, partitions=4)}
    assert keyed == {ord("a") % 4}
    keyless = batches_of([None] * 4 * SAME_PARTITION_MESSAGES, partitions=4, at_once=700)
    counts = [
        sum(batch.message_count for at, batch in keyless if at == partition)
        for partition in range(4)
    ]
    assert counts == [SAME_PARTITION_MESSAGES] * 4
    assert keyless[0][0] == 1  # Of the second task.


def placed(version, surely, highest):
    """What another try of three rows finds where this id is the highest that is stored."""
    rows = Rows(pa.RecordBatch.from_pydict({"value": [b"0", b"1", b"2"]}))
    numbered = NumberedRows(version, 1, 1, surely=surely)
    return [
        (share.first_id - (version << 32), share.done, share.surely, share.done_unsure)
        for _, share in numbered.place(rows, 3, lambda _partition: highest)
    ]


@pytest.mark.parametrize(
    ("surely", "highest", "found"),
    [
        (False, NOTHING, [(0, 0, False, False)]),
        (True, NOTHING, [(SURELY, 0, True, False)]),
        (True, (4 << 32) + 9, [(SURELY, 0, True, False)]),
        (False, (5 << 32) + 1, [(0, 2, False, False)]),
        (True, (5 << 32) + 1, [(SURELY, 2, True, True)]),
        (True, (5 << 32) + 2, [(SURELY, 3, True, True)]),
        (True, (5 << 32) + SURELY + 1, [(SURELY, 2, True, False)]),
        (False, (5 << 32) + SURELY + 1, [(SURELY, 2, True, False)]),
        (False, (5 << 32) + SURELY + 2, []),
        (True, (6 << 32) + 1, []),
    ],
)
def test_the_numbers_say_whether_all_before_them_is_stored(surely, highest, found):
    assert placed(5, surely, highest) == found


def test_the_batches_that_are_done_are_those_that_were_sent():
    rows = Rows(pa.RecordBatch.from_pydict({"value": [b"%d" % row for row in range(8)]}))
    for done, count in ((0, 0), (1, 1), (3, 1), (4, 2), (8, 3)):
        share = PartitionRows(rows, 8, 0, done, surely=True, done_unsure=True)
        assert len(list(share.batches_done())) == count

from hypothesis import given
from hypothesis import strategies as st

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.spark import numbered_rows
from magnetar.spark.numbered_rows import RUN_MESSAGES_MAX, NumberedRows

KEYS = st.sampled_from([None, "", "a", "b", b"\xff", "c"])
NOTHING = -1


def runs_of(keys, *, partitions=3, version=5, stored=None, at_once=7):
    """Runs of messages that say which row they are, in lists of ``at_once``."""
    rows = NumberedRows(version, 1, partitions)
    messages = [OutgoingMessage(b"%d" % row, key=key) for row, key in enumerate(keys)]
    found = []
    for at in range(0, len(messages), at_once):
        part = messages[at : at + at_once]
        found += rows.place(part, lambda partition: (stored or {}).get(partition, NOTHING))
    return found


def numbered(runs):
    return {
        (partition, run[0].sequence_id + index): message.value
        for partition, run in runs
        for index, message in enumerate(run)
    }


@given(st.lists(KEYS, max_size=40), st.data())
def test_another_try_sends_just_what_is_not_stored_and_under_the_same_numbers(keys, data):
    first = runs_of(keys)
    everything = numbered(first)
    # Batches are stored in the order of their ids, and each ends within a run or with it.
    stored = {
        partition: data.draw(
            st.sampled_from([NOTHING, *(each for at, each in everything if at == partition)])
        )
        for partition in range(3)
    }
    again = runs_of(keys, stored=stored)
    assert numbered(again) == {
        (partition, number): value
        for (partition, number), value in everything.items()
        if number > stored[partition]
    }
    ends = {run[-1].value for _, run in first}
    assert {run[-1].value for _, run in again} <= ends


def test_the_numbers_of_a_version_are_above_all_of_those_before_it():
    numbers = [
        [number for _, number in numbered(runs_of([None] * 50, version=version, partitions=1))]
        for version in (0, 1, 2)
    ]
    assert numbers[0] == list(range(50))
    assert max(numbers[0]) < min(numbers[1]) < max(numbers[1]) < min(numbers[2])
    later = {0: (9 << 32) + 4}  # A checkpoint of yesterday was put back.
    assert runs_of([None] * 50, version=1, partitions=1, stored=later) == []


def test_a_key_always_goes_to_the_partition_of_its_hash_and_the_others_get_the_rest():
    keyed = {at for at, _ in runs_of(["a"] * 20, partitions=4)}
    assert keyed == {ord("a") % 4}
    keyless = runs_of([None] * 4000, partitions=4, at_once=4000)
    assert sorted(at for at, _ in keyless) == [0, 1, 2, 3]


def test_runs_are_bounded(monkeypatch):
    monkeypatch.setattr(numbered_rows, "RUN_BYTES_MAX", 10)
    assert [len(run) for _, run in runs_of(["abcd"] * 7, partitions=1)] == [2, 2, 2, 1]
    monkeypatch.undo()
    many = runs_of([None] * (RUN_MESSAGES_MAX + 1), partitions=1, at_once=100_000)
    assert [len(run) for _, run in many] == [RUN_MESSAGES_MAX, 1]

"""Pieces of topics of several ledgers, as a broker tells of them: each message is in one."""

from itertools import chain

import pytest
from support.chunks import publish

from magnetar.client import blocking
from magnetar.spark import range_splitter
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.pieces import LedgerRange
from magnetar.spark.planning import Range
from magnetar.spark.range_read import RangeReader
from magnetar.spark.range_splitter import RangeSplitter
from magnetar.testing.local_broker import BrokerThread

SETTINGS = {
    "managedLedgerMaxEntriesPerLedger": 10,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "defaultRetentionSizeInMB": -1,
    "defaultRetentionTimeInMinutes": -1,
}


@pytest.fixture(scope="module")
def broker():
    with BrokerThread(settings=SETTINGS) as running:
        yield running


@pytest.fixture
def client(broker):
    with blocking.Client(broker.service_url) as connected:
        yield connected


def offset(message_id):
    return Offset(message_id.ledger_id, message_id.entry_id, message_id.batch_index)


@pytest.fixture
def ids(client, topic):
    """Of 37 messages alone in their entries: in ledgers of 10, 10, 10 and 7."""
    with client.create_producer(topic, batching=False) as producer:
        return [producer.send(b"%d" % number) for number in range(37)]


def values(client, ranges):
    reader = RangeReader(client, rows_max=7, timeout_s=10.0, fail_on_data_loss=True)
    return [
        message.data
        for wanted in ranges
        for entries in reader.read(wanted)
        for entry in entries
        for message in entry.messages()
    ]


def test_the_broker_tells_the_ledgers_of_a_range_and_their_lengths(client, topic, ids):
    ledgers = list(dict.fromkeys(each.ledger_id for each in ids))
    asked = RangeSplitter(client, 10.0)
    whole = asked.of(Range(topic, NOTHING_READ, offset(ids[-1])))
    assert whole == [
        LedgerRange(ledger, 0, stop) for ledger, stop in zip(ledgers, (10, 10, 10, 7), strict=True)
    ]
    some = asked.of(Range(topic, offset(ids[13]), offset(ids[24])))
    assert some == [LedgerRange(ledgers[1], 4, 10), LedgerRange(ledgers[2], 0, 5)]
    assert asked.of(Range(topic, offset(ids[9]), offset(ids[11]))) == [
        LedgerRange(ledgers[0], 10, 10),
        LedgerRange(ledgers[1], 0, 2),
    ]


@pytest.mark.parametrize("count", [2, 3, 5, 37, 60])
def test_a_range_of_several_ledgers_is_read_in_even_pieces(client, topic, ids, count):
    for after, upto in ((-1, 36), (4, 36), (9, 29), (12, 14)):
        start = NOTHING_READ if after < 0 else offset(ids[after])
        wanted = Range(topic, start, offset(ids[upto]))
        pieces = RangeSplitter(client, 10.0).divide([wanted], count, 1)
        found = [values(client, [piece]) for piece in pieces]
        assert list(chain.from_iterable(found)) == [
            b"%d" % number for number in range(after + 1, upto + 1)
        ]
        assert len(found) == min(count, upto - after)
        assert max(map(len, found)) - min(map(len, found)) <= 1


@pytest.mark.parametrize("count", [2, 3, 7])
def test_batches_and_messages_in_chunks_are_in_one_piece_each(broker, client, topic, count):
    with client.create_producer(topic, batch_messages_max=4) as producer:
        producer.send_many([b"%d" % number for number in range(26)])
    # Two messages in chunks, mixed, with others between, over the end of two ledgers.
    words = ["a0/3", "b0/9", "x", "a1/3", *(f"b{n}/9" for n in range(1, 8)), "y", "a2/3", "b8/9"]
    publish(broker.service_url, topic, words)
    with client.create_reader(topic) as reader:
        last = reader.last_message_id()
    wanted = Range(topic, NOTHING_READ, offset(last))
    pieces = RangeSplitter(client, 10.0).divide([wanted], count, 1)
    assert len(pieces) == count
    expected = values(client, [wanted])
    assert len(expected) == 30
    assert values(client, pieces) == expected


def test_a_range_of_more_ledgers_is_divided_by_time(client, topic, ids, monkeypatch):
    monkeypatch.setattr(range_splitter, "LEDGERS_MAX", 2)
    wanted = Range(topic, NOTHING_READ, offset(ids[-1]))
    asked = RangeSplitter(client, 10.0)
    assert asked.of(wanted) == []
    assert values(client, asked.divide([wanted], 3, 1)) == [b"%d" % n for n in range(37)]


def test_what_was_trimmed_before_a_range_is_left_out_of_it(client, topic, ids):
    """The range begins in a ledger that is not there: others are divided all the same."""
    ledgers = list(dict.fromkeys(each.ledger_id for each in ids))
    before_all = Offset(ledgers[0] - 1, 3)
    parts = RangeSplitter(client, 10.0).of(Range(topic, before_all, offset(ids[11])))
    assert parts == [LedgerRange(ledgers[0], 0, 10), LedgerRange(ledgers[1], 0, 2)]


def test_enough_ranges_are_left_as_they_are(client, topic, ids):
    ranges = [Range(topic, NOTHING_READ, offset(ids[20]))] * 2
    assert RangeSplitter(client, 10.0).divide(ranges, 2, 1) == ranges
    assert RangeSplitter(client, 10.0).divide([], 2, 1) == []

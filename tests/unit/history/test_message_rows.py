from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from support.history import SENT_MS, TOPIC, all_kinds, batched, chunked, encrypted, marker, single

from magnetar import inner
from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Delivery
from magnetar.history import message_rows
from magnetar.history.message_rows import SCHEMA, MessageRows
from magnetar.inner.plain.batches import Single
from magnetar.message import metadata
from magnetar.message.compression import CompressionType
from magnetar.model.position import Position
from magnetar.spark.columns import to_rows
from magnetar.spark.schema import READ_SCHEMA


def groups(entries):
    rows = MessageRows(TOPIC, 3, 7)
    found = [*rows.add(entries, list(map(inner.checksum, entries))), *rows.rest()]
    return rows, found


def table(entries):
    return pa.Table.from_batches([group.rows for group in groups(entries)[1]], SCHEMA).to_pylist()


def test_a_message_alone_is_a_row():
    about = {"key": "customer-1", "properties": {"shop": "2"}, "event_time_ms": 5}
    assert table([single(b"a pen", sequence_id=4, ordering_key=b"o", **about)]) == [
        {
            "key": b"customer-1",
            "value": b"a pen",
            "topic": TOPIC,
            "partition": 3,
            "properties": [("shop", "2")],
            "publish_time": datetime.fromtimestamp((SENT_MS + 4) / 1000, UTC),
            "event_time": datetime(1970, 1, 1, 0, 0, 0, 5_000, UTC),
            "message_id": {"ledger_id": 7, "entry_id": 0, "batch_index": -1, "partition": 3},
            "ordering_key": b"o",
            "producer_name": "shop",
            "sequence_id": 4,
        }
    ]


def test_each_message_of_a_batch_is_a_row_with_what_is_its_own():
    details = {1: Single("a2V5", key_b64=True, event_time_ms=9, sequence_id=70)}
    rows = table([single(b""), batched([b"one", b"two"], sequence_id=40, details=details)])
    assert [row["value"] for row in rows] == [b"", b"one", b"two"]
    assert [row["key"] for row in rows] == [None, None, b"key"]
    assert [row["sequence_id"] for row in rows] == [0, 40, 70]
    ids = [(row["message_id"]["entry_id"], row["message_id"]["batch_index"]) for row in rows]
    assert ids == [(0, -1), (1, 0), (1, 1)]


def test_a_message_in_chunks_is_a_row_where_its_last_chunk_is():
    picture = b"a picture" * 40
    rows = table(chunked(picture, 100, compression=CompressionType.NONE))
    assert [(row["value"], row["message_id"]["entry_id"]) for row in rows] == [(picture, 3)]


def test_what_only_the_broker_can_give_is_counted_and_a_marker_is_not_missed():
    assert groups([encrypted(), marker(), b"unreadable", single(b"one")])[0].missing == 2
    begun = chunked(b"a picture" * 40, 100)
    assert groups(begun[:-1])[0].missing == 3
    assert groups([*begun, begun[0]])[0].missing == 1


def test_of_a_batch_that_is_longer_than_its_messages_nothing_is_a_row():
    longer = batched([b"one"]) + b"more"
    rows, (group,) = groups([longer])
    assert (rows.missing, group.rows.num_rows, group.envelopes.parts) == (1, 0, [longer])


def test_a_key_that_is_not_the_base64_it_claims_to_be_is_kept():
    assert [row["key"] for row in table([single(b"", key="abc", key_b64=True)])] == [b"abc"]


def test_times_that_no_calendar_has_are_null():
    row = table([single(b"", event_time_ms=2**63)])[0]
    assert row["event_time"] is None


def test_times_and_versions_of_schemas_are_noted():
    rows, _ = groups([single(b"", sequence_id=9, schema_version=b"\2"), single(b"", sequence_id=4)])
    assert (rows.first_publish_ms, rows.last_publish_ms) == (SENT_MS + 4, SENT_MS + 9)
    assert rows.schema_versions == {2}


def test_a_row_group_ends_at_its_bounds(monkeypatch):
    entries = [batched([b"one", b"two"]) for _ in range(5)]
    monkeypatch.setattr(message_rows, "GROUP_ROWS_MAX", 4)
    _, found = groups(entries)
    assert [(len(group.envelopes), group.rows.num_rows) for group in found] == [(2, 4)] * 2 + [
        (1, 2)
    ]
    entry_ids = [each["entry_id"].as_py() for each in found[1].rows["message_id"]]
    assert entry_ids == [2, 2, 3, 3]
    monkeypatch.setattr(message_rows, "GROUP_BYTES_MAX", 1)
    assert len(groups(entries)[1]) == 5


def test_a_large_compressed_entry_is_kept_as_it_came(monkeypatch):
    entry = single(b"ink " * 50, compression=CompressionType.LZ4)
    monkeypatch.setattr(message_rows, "RECOMPRESSED_SIZE_MAX", 10)
    _, (group,) = groups([entry])
    assert group.envelopes.parts == [entry]
    assert group.rows["value"].to_pylist() == [b"ink " * 50]


def test_a_payload_that_is_too_large_is_kept_as_it_came_and_is_no_row(monkeypatch):
    entries = [single(b"x" * 50, compression=CompressionType.ZSTD), *chunked(b"y" * 50, 20)]
    monkeypatch.setattr(message_rows, "PAYLOAD_SIZE_MAX", 40)
    rows, (group,) = groups(entries)
    assert (rows.missing, group.rows.num_rows, group.envelopes.parts) == (4, 0, entries)


def test_of_many_messages_in_chunks_at_the_same_time_the_oldest_is_no_row():
    five = [chunked(b"%d" % n * 4, 2, uuid=str(n)) for n in range(5)]
    mixed = [chunk for chunks in zip(*five, strict=True) for chunk in chunks]
    assert [row["value"] for row in table(mixed)] == [b"1111", b"2222", b"3333", b"4444"]
    assert groups(mixed)[0].missing == 2


def test_the_rows_of_all_kinds_of_entries_are_as_they_are_in_spark():
    schema = to_arrow_schema(READ_SCHEMA, timezone="UTC")
    assert SCHEMA.equals(schema)
    entries = [single(b"a", key="k", properties={"a": "é"}), batched([b"b", b"c"], sequence_id=3)]
    received = []
    for index, data in enumerate(entries):
        said = metadata.parse(data)
        size = said.message_count if said.is_batch else 0
        place = Position(7, index)
        delivery = Delivery(TOPIC, place, 3, size, said, 0, redelivered=False)
        received.append(Entry(delivery, data, None, said.payload_start))
    assert table(entries) == to_rows(received, schema).to_pylist()


def test_all_kinds_of_entries_are_taken():
    rows, (group,) = groups(all_kinds())
    assert len(group.envelopes) == len(all_kinds())
    assert rows.missing == 3

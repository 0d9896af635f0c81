"""Entries made by the encoder, opened by the unpacker."""

import pytest

from magnetar.client.consumers.acknowledgements import Acknowledgements, words
from magnetar.client.consumers.config import ConsumerConfig, ConsumerCryptoFailureAction
from magnetar.client.consumers.read_position import Start
from magnetar.client.consumers.unpacking import Flaw, Unpacker
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import Batch
from magnetar.client.producers.encoding import Encoder
from magnetar.inner.plain.batches import Single
from magnetar.message.batch import pack
from magnetar.message.compression import CompressionType
from magnetar.message.entry import checksum, join
from magnetar.message.metadata import EncryptedKey, build, build_encryption
from magnetar.model.position import LATEST_MESSAGE, ChunkedMessageId, MessageId, Position
from magnetar.wire import replies
from magnetar.wire.frames import FrameDecoder

TOPIC = "persistent://public/default/t"
AT = Position(7, 3)


def entries(
    *payloads,
    batched=True,
    compression=CompressionType.NONE,
    now_ms=1_000,
    size_max=9999,
    producer="p",
):
    """The entries a producer makes of these, each as one batch or as one message."""
    encoder = Encoder(1, compression, chunking=True)
    encoder.producer_name = producer
    batch = Batch(0, 0.0, payloads=list(payloads))
    batch.size_bytes = sum(map(len, payloads))
    sends = (
        [encoder.batch(batch, size_max, now_ms)]
        if batched
        else encoder.single(batch, size_max, now_ms)
    )
    return [send.pieces[-1] for send in sends]


def frame(entry, position=AT, **fields):
    """The entry as a MESSAGE that came over the wire."""
    pieces = replies.message(
        1, position, partition=-1, entry=entry, checksum=checksum(entry), **fields
    )
    [found] = FrameDecoder().feed(b"".join(pieces))
    return found


class Desk:
    def __init__(self, **options):
        self.now = 0.0
        self.rejected = []
        self.withheld = []
        self.expirations = []
        self.due = []  # How much waited when it was said that something does.
        self.acks = Acknowledgements(group_max=1000, batch_index=False)
        self.unpacker = Unpacker(
            TOPIC,
            -1,
            self.acks,
            ConsumerConfig(**options),
            now=lambda: self.now,
        )

    def open(self, entry, position=AT, **fields):
        opened = self.unpacker.open(frame(entry, position, **fields))
        self.note_events()
        return opened

    def expire(self):
        again = self.unpacker.expire()
        self.note_events()
        return again

    def note_events(self):
        events = self.unpacker.take_events()
        assert not self.unpacker.has_events
        self.rejected += events.rejected
        self.withheld += events.withheld
        if events.chunks_due is not None:
            self.expirations.append(events.chunks_due)
        if events.acknowledged:
            self.due.append(self.acks.count)

    def payloads(self, entry, position=AT, **fields):
        return [message.data for message in self.open(entry, position, **fields).messages]

    @property
    def acknowledged(self):
        return [place for batch in self.acks.drain(0.0) for place in batch.positions]

    @property
    def marks(self):
        return [batch.positions[0] for batch in self.acks.drain(0.0) if batch.cumulative]


@pytest.fixture
def desk():
    return Desk()


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize("batched", [True, False])
def test_what_was_sent_is_received(desk, compression, batched):
    payloads = [b"a" * 100, b"", b"c"] if batched else [b"a" * 100]
    [entry] = entries(*payloads, batched=batched, compression=compression)
    opened = desk.open(entry)
    assert [message.data for message in opened.messages] == payloads
    assert opened.permits == len(payloads)
    expected = [(n, 3) for n in range(3)] if batched else [(-1, 0)]
    ids = [message.message_id for message in opened.messages]
    assert [(i.batch_index, i.batch_size) for i in ids] == expected
    assert {i.position for i in ids} == {AT}


def test_redelivery_is_told(desk):
    [entry] = entries(b"a")
    assert not desk.open(entry).messages[0].redelivered
    again = desk.open(entry, redelivery_count=2).messages[0]
    assert (again.redelivery_count, again.redelivered) == (2, True)


def test_what_may_have_been_seen_on_an_earlier_connection_is_told(desk):
    desk.unpacker.seen_before = AT
    [entry] = entries(b"a")
    assert desk.open(entry).messages[0].redelivered
    assert not desk.open(entry, Position(7, 4)).messages[0].redelivered


def test_what_the_broker_knows_as_acknowledged_is_left_out_and_cost_nothing(desk):
    [entry] = entries(b"0", b"1", b"2")
    opened = desk.open(entry, ack_set=words(0b101))
    assert [message.data for message in opened.messages] == [b"0", b"2"]
    assert opened.permits == 2
    desk.acks.indexes(AT, [0], 3)
    assert desk.acknowledged == []
    desk.acks.indexes(AT, [2], 3)
    [told] = desk.acks.drain(0.0)
    assert (told.positions, told.sets) == ([AT], [words(0b010)])


def test_what_did_not_come_at_first_may_come_later(desk):
    [entry] = entries(b"0", b"1", b"2")
    desk.open(entry, ack_set=words(0b101))
    desk.acks.indexes(AT, [0], 3)
    opened = desk.open(entry)
    assert [message.data for message in opened.messages] == [b"1", b"2"]
    desk.acks.indexes(AT, [1, 2], 3)
    assert desk.acknowledged == [AT]


def test_of_a_batch_that_comes_without_what_is_left_the_broker_is_told_again(desk):
    [entry] = entries(b"0", b"1")
    desk.acks.indexes(AT, [0], 2)
    assert desk.open(entry, ack_set=words(0b01)).messages == []
    [told] = desk.acks.drain(0.0)
    assert (told.positions, told.sets) == ([AT], [words(0b10)])


def test_what_was_acknowledged_here_is_left_out(desk):
    [entry] = entries(b"0", b"1", b"2")
    desk.acks.indexes(AT, [1], 3)
    opened = desk.open(entry)
    assert [message.batch_index for message in opened.messages] == [0, 2]
    assert opened.permits == 3


def test_an_entry_acknowledged_before_is_acknowledged_again(desk):
    [entry] = entries(b"0", b"1")
    desk.acks.entry(AT)
    assert desk.acknowledged == [AT]
    opened = desk.open(entry)
    assert (opened.messages, opened.permits) == ([], 2)
    assert desk.due == [1]
    assert desk.acknowledged == [AT]


@pytest.mark.parametrize(
    ("index", "inclusive", "expected"),
    [
        (-1, True, [b"0", b"1", b"2"]),
        (-1, False, []),
        (0, True, [b"0", b"1", b"2"]),
        (1, True, [b"1", b"2"]),
        (1, False, [b"2"]),
        (2, False, []),
    ],
)
def test_a_start_inside_a_batch_leaves_out_what_is_before_it(desk, index, inclusive, expected):
    [entry] = entries(b"0", b"1", b"2")
    desk.unpacker.start = Start(MessageId(*AT, -1, index, 3), inclusive=inclusive)
    opened = desk.open(entry)
    assert [message.data for message in opened.messages] == expected
    assert opened.permits == 3
    for message in opened.messages:
        desk.acks.indexes(AT, [message.batch_index], 3)
    assert desk.acknowledged == [AT], "what is left out must not hold the entry back"
    assert len(desk.payloads(entry, Position(7, 4))) == 3


def test_a_start_behind_a_single_message_leaves_it_out(desk):
    [entry] = entries(b"0", batched=False)
    desk.unpacker.start = Start(MessageId(*AT), inclusive=False)
    assert desk.payloads(entry) == []
    assert desk.acknowledged == [AT]
    desk.unpacker.start = Start(MessageId(*AT), inclusive=True)
    assert desk.payloads(entry, Position(7, 9)) == [b"0"]


def test_the_ends_of_a_topic_leave_nothing_out(desk):
    [entry] = entries(b"0")
    desk.unpacker.start = Start(LATEST_MESSAGE, inclusive=False)
    assert desk.payloads(entry) == [b"0"]


def test_a_start_by_time_leaves_out_what_was_published_before(desk):
    desk.unpacker.time_start_ms = 500
    [early] = entries(b"early", now_ms=499)
    [late] = entries(b"late", now_ms=500)
    assert desk.payloads(early, Position(7, 1)) == []
    assert desk.payloads(late, Position(7, 2)) == [b"late"]
    assert desk.payloads(early, Position(7, 3)) == [b"early"], "times may go back later on"


def test_chunks_are_put_together(desk):
    body = bytes(range(256)) * 20
    chunks = entries(body, batched=False, size_max=1000)
    for number, chunk in enumerate(chunks[:-1]):
        opened = desk.open(chunk, Position(7, number))
        assert (opened.messages, opened.permits) == ([], 1)
    [message] = desk.open(chunks[-1], Position(7, len(chunks))).messages
    assert message.data == body
    assert message.message_id == ChunkedMessageId.of(7, len(chunks), -1, first_chunk=Position(7, 0))
    assert len(message.delivery.chunks) == len(chunks)


def test_who_begins_with_the_last_chunk_alone_is_told(desk, caplog):
    chunks = entries(bytes(5000), batched=False, size_max=1000)
    last = MessageId(7, len(chunks) - 1)
    desk.unpacker.start = Start(last, inclusive=True)
    assert desk.payloads(chunks[-1], last.position) == []
    assert "consumer.start_skipped" in caplog.text
    assert f"message_id={last}" in caplog.text


def test_chunks_whose_rest_does_not_come_are_given_up_and_named(desk, caplog):
    chunks = entries(bytes(5000), batched=False, size_max=1000)
    desk.open(chunks[0], Position(7, 0))
    desk.now = 61.0
    assert desk.payloads(chunks[1], Position(7, 1)) == []
    assert desk.acknowledged == [Position(7, 0), Position(7, 1)]
    assert "positions=7:0,7:1" in caplog.text


def test_chunks_are_given_up_in_time_though_nothing_comes(desk):
    chunks = entries(bytes(5000), batched=False, size_max=1000)
    desk.open(chunks[0], Position(7, 0))
    assert desk.expirations == [60.0]
    desk.now = 59.0
    assert desk.expire() == []
    assert desk.acknowledged == []
    desk.now = 60.0
    assert desk.expire() == []
    assert desk.acknowledged == [Position(7, 0)]
    assert desk.expirations == [60.0, 60.0]


def test_no_mark_passes_over_chunks_that_wait(desk):
    chunks = entries(bytes(1500), batched=False, size_max=1000)
    desk.open(chunks[0], Position(7, 1))
    desk.acks.cumulative(Position(7, 2), -1, 0)
    assert desk.marks == [Position(7, 0)]
    for number, chunk in enumerate(chunks[1:]):
        desk.open(chunk, Position(7, 3 + number))
    desk.acks.cumulative(Position(7, 2), -1, 0)
    assert desk.marks == []
    desk.acks.cumulative(Position(7, 9), -1, 0)
    assert desk.marks == [Position(7, 9)]
    desk.open(chunks[0], Position(7, 10))
    desk.acks.cumulative(Position(7, 11), -1, 0)
    desk.now = 60.0
    desk.expire()
    assert desk.marks == [Position(7, 11)], "given up, it holds up nothing"


@pytest.mark.parametrize("acknowledged", [False, True])
def test_the_oldest_incomplete_message_makes_room_by_coming_again_or_by_being_acknowledged(
    acknowledged,
):
    desk = Desk(chunked_messages_max=1, ack_oldest_incomplete=acknowledged)
    sizes = {"batched": False, "size_max": 1000}
    old, new = (entries(bytes(1001), producer=name, **sizes) for name in "ab")
    assert len(old) == len(new) == 2
    desk.open(old[0], Position(7, 1))
    desk.open(new[0], Position(7, 2))
    desk.open(old[1], Position(7, 3))
    [whole] = desk.open(new[1], Position(7, 4)).messages
    for position in whole.delivery.chunks:
        desk.acks.entry(position)
    desk.acks.chunked_done(whole.delivery.chunks[0])
    desk.acks.cumulative(Position(7, 5), -1, 0)
    desk.now = 60.0
    if acknowledged:
        assert desk.marks == [Position(7, 5)]
        assert desk.expire() == []
    else:
        assert desk.marks == [Position(7, 0)], "what it left behind is before the rest"
        assert desk.expire() == [Position(7, 1), Position(7, 3)]


def test_a_wrong_checksum_is_rejected_with_the_reason(desk):
    bad = frame(entries(b"0")[0])
    bad.checksum_ok = False
    opened = desk.unpacker.open(bad)
    assert (opened.messages, opened.permits) == ([], 1)
    desk.note_events()
    assert desk.rejected == [(AT, Flaw.CHECKSUM)]


def test_what_cannot_be_decompressed_is_rejected_with_the_reason(desk):
    head = build("p", 1, 0, compression=CompressionType.ZSTD, uncompressed_size=5)
    assert desk.payloads(join(head, b"rubbish")) == []
    assert desk.rejected == [(AT, Flaw.DECOMPRESSION)]


def test_what_would_grow_too_large_is_rejected_with_the_reason():
    desk = Desk(message_size_max=1000)
    [entry] = entries(bytes(2000), batched=False, compression=CompressionType.ZLIB)
    assert desk.payloads(entry) == []
    assert desk.rejected == [(AT, Flaw.UNCOMPRESSED_SIZE)]


@pytest.mark.parametrize(
    "entry",
    [
        b"\0\0\0\x09rubbish",
        join(build("p", 1, 0, message_count=2), b"\0\0\0\x02\x18\x01"),
        join(build("p", 1, 0, message_count=0), b""),
    ],
)
def test_what_cannot_be_taken_apart_is_rejected_with_the_reason(desk, entry):
    assert desk.payloads(entry) == []
    assert desk.rejected == [(AT, Flaw.BATCH)]


def test_each_flaw_is_logged_once(desk, caplog):
    entry = join(build("p", 1, 0, compression=CompressionType.ZSTD, uncompressed_size=5), b"x")
    for number in range(3):
        desk.open(entry, Position(7, number))
    assert len(desk.rejected) == 3
    assert [record.message.split()[0] for record in caplog.records] == ["consumer.unreadable"]
    desk.open(b"\0\0\0\x09rubbish")
    assert len(caplog.records) == 2


def test_clearing_forgets_half_a_message(desk):
    chunks = entries(bytes(1400), batched=False, size_max=1000)
    desk.open(chunks[0], Position(7, 0))
    desk.unpacker.clear()
    assert desk.payloads(chunks[1], Position(7, 1)) == [], "its beginning will come again"
    again = entries(bytes(1400), batched=False, size_max=1000)
    desk.open(again[0], Position(8, 0))
    assert len(desk.payloads(again[1], Position(8, 1))) == 1


def test_outgoing_keys_come_back(desk):
    encoder = Encoder(1, CompressionType.NONE, chunking=False)
    batch = Batch(0, 0.0, [b"x"], {0: OutgoingMessage(b"x", key=b"\xff", properties={"a": "b"})})
    [message] = desk.open(encoder.batch(batch, 9999, 0).pieces[-1]).messages
    assert (message.key_bytes, message.properties) == (b"\xff", {"a": "b"})


def test_what_compaction_removed_from_a_batch_is_left_out():
    heads = [Single(key="a"), Single(compacted_out=True), Single(key=" \x01")]
    payload = pack([b"0", b"", b"2"], first_sequence_id=0, details=dict(enumerate(heads)))
    entry = join(build("p", 0, 1_000, message_count=3), payload)
    desk = Desk(read_compacted=True)
    opened = desk.open(entry)
    assert [(message.key, message.data) for message in opened.messages] == [
        ("a", b"0"),
        (" \x01", b"2"),
    ]
    assert opened.permits == 3
    desk.acks.indexes(AT, [0, 2], 3)
    assert desk.acknowledged == [AT]


SEALED = build("p", 1, 0, message_count=3) + build_encryption([EncryptedKey("k", b"v", {})])


def test_what_cannot_be_decrypted_is_held_back_with_its_permits(desk):
    opened = desk.open(join(SEALED, b"secret"))
    assert (opened.messages, opened.permits) == ([], 0)
    assert desk.withheld == [AT]
    assert desk.unpacker.withheld == {AT: 3}
    assert desk.rejected == []
    desk.acks.cumulative(Position(7, 9), -1, 0)
    assert desk.marks == [Position(7, 2)]
    desk.unpacker.clear()
    assert desk.unpacker.withheld == {}


def test_a_reader_that_was_told_to_take_it_as_it_is_gets_the_entry_whole():
    desk = Desk(crypto_failure_action=ConsumerCryptoFailureAction.CONSUME)
    opened = desk.open(join(SEALED, b"secret"))
    [message] = opened.messages
    assert (message.data, message.message_id, opened.permits) == (b"secret", MessageId(*AT), 3)
    assert message.encryption_context.batch_size == 3

import pytest
from unit.broker.admin.messages.entries import batch_of, single
from unit.storage.managed_ledger.logs import append

from magnetar.broker.admin.messages import chunked
from magnetar.broker.admin.messages.chunked import ChunkedMessages
from magnetar.broker.admin.messages.entries import TurnTaker, entries_from
from magnetar.broker.admin.messages.message_filter import MessageFilter
from magnetar.broker.admin.messages.page import PageCursor, find_page
from magnetar.broker.admin.messages.stored import messages_in
from magnetar.clock import SystemClock
from magnetar.message import compression
from magnetar.message.compression import CompressionType
from magnetar.message.entry import join
from magnetar.message.entry_traits import EntryTraits
from magnetar.message.metadata import ChunkInfo, build
from magnetar.model.position import EARLIEST

WHOLE = MessageFilter()


@pytest.fixture
async def topic(world):
    return await world.topic("persistent://public/default/x")


async def store(topic, *words):
    """``m1/3`` is the second of three chunks of message m; any other word is a message."""
    for word in words:
        name, _, count = word.partition("/")
        chunk = ChunkInfo(name[:-1], int(name[-1]), int(count), 6) if count else None
        said = build("p", 5, 1000, uncompressed_size=2, chunk=chunk)
        await append(topic.ledger, [join(said, name.encode())], EntryTraits([1]))


async def shown(topic, *, backwards=False, count=20, wanted=WHOLE, start=None):
    start = start or (PageCursor(*topic.log.end) if backwards else PageCursor(*EARLIEST))
    found = await find_page(
        topic.log, SystemClock(), start, count=count, backwards=backwards, wanted=wanted.takes
    )
    return [each.data.decode() for each in found.messages], found


async def test_a_message_is_shown_once_whole_where_it_ends(topic):
    await store(topic, "m0/3", "a", "n0/2", "m1/3", "n1/2", "m2/3", "b")
    found, page = await shown(topic)
    assert found == ["a", "n0n1", "m0m1m2", "b"]
    whole = page.messages[2]
    assert [each.entry_id for each in whole.chunks] == [0, 3, 5]
    assert (whole.position.entry_id, whole.size, whole.unreadable) == (5, 6, "")
    assert (await shown(topic, backwards=True))[0] == ["b", "m0m1m2", "n0n1", "a"]


async def test_pages_follow_each_other_through_chunks(topic):
    await store(topic, "m0/2", "a", "m1/2", "b")
    found, page = await shown(topic, count=1)
    assert found == ["a"]
    found, page = await shown(topic, count=1, start=page.next)
    assert found == ["m0m1"]
    assert (await shown(topic, count=1, start=page.next))[0] == ["b"]


async def test_what_is_looked_for_may_lie_across_chunks(topic):
    await store(topic, "m0/2", "m1/2", "a")
    assert (await shown(topic, wanted=MessageFilter(contains="0m1")))[0] == ["m0m1"]


async def test_a_chunk_that_was_sent_twice_counts_once(topic):
    await store(topic, "m0/2", "m0/2", "m1/2")
    assert (await shown(topic))[0] == ["m0m1"]


async def test_without_one_of_its_chunks_each_is_shown_and_says_so(topic):
    await store(topic, "m0/3", "m2/3", "n1/2", "o0/2")
    found, page = await shown(topic)
    assert found == ["m0", "m2", "n1", "o0"]
    assert all("not all chunks are here" in each.unreadable for each in page.messages)


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("CHUNKED_BYTES_MAX", 5, "more than 5 bytes are not put together here"),
        ("CHUNK_ENTRIES_MAX", 1, "not all chunks are here"),
        ("GATHERED_BYTES_MAX", 1, "not all chunks are here"),
    ],
)
async def test_what_is_too_large_or_too_far_apart_is_not_put_together(
    topic, monkeypatch, limit, value, said
):
    monkeypatch.setattr(chunked, limit, value)
    await store(topic, "m0/3", "a", "m1/3", "m2/3")
    found, page = await shown(topic)
    assert found == ["m0", "a", "m1", "m2"]
    assert said in page.messages[0].unreadable


async def test_what_was_compressed_as_a_whole_is_read_as_a_whole(topic):
    packed = compression.compress(CompressionType.ZLIB, b"x" * 500)
    for index in range(2):
        part = packed[:5] if index == 0 else packed[5:]
        place = ChunkInfo("m", index, 2, len(packed))
        said = build(
            "p", 5, 1000, uncompressed_size=500, chunk=place, compression=CompressionType.ZLIB
        )
        await append(topic.ledger, [join(said, part)], EntryTraits([1]))
    assert (await shown(topic))[0] == ["x" * 500]


async def test_what_does_not_unpack_says_why(topic):
    said = build("p", 5, 1, uncompressed_size=9, chunk=ChunkInfo("m", 0, 2, 2), compression=1)
    more = build("p", 5, 1, uncompressed_size=9, chunk=ChunkInfo("m", 1, 2, 2), compression=1)
    for each in (said, more):
        await append(topic.ledger, [join(each, b"?")], EntryTraits([1]))
    _, page = await shown(topic)
    [message] = page.messages
    assert message.unreadable
    assert len(message.chunks) == 2


@pytest.mark.parametrize(
    "places",
    [
        [(5, 2, 6), (1, 2, 6)],
        [(-1, 2, 6), (1, 2, 6)],
        [(0, 3, 6), (1, 2, 6)],
        [(0, 2, 7), (1, 2, 6)],
        [(1, 2**31 - 1, 6), (2**31 - 2, 2**31 - 1, 6)],
    ],
)
async def test_chunks_that_are_numbered_wrong_are_shown_by_themselves(topic, places):
    for place in places:
        said = build("p", 5, 1000, uncompressed_size=2, chunk=ChunkInfo("m", *place))
        await append(topic.ledger, [join(said, b"x")], EntryTraits([1]))
    for backwards in (False, True):
        found, page = await shown(topic, backwards=backwards)
        assert found == ["x", "x"]
        assert all("not all chunks are here" in each.unreadable for each in page.messages)


async def test_entries_that_only_mention_a_chunk_are_not_unpacked(topic):
    """One may say that all its messages were compacted out, or that it unpacks to much."""
    await store(topic, "m0/2")
    entry = batch_of(b"a", details={0: single(compacted_out=True, key="m")})
    await append(topic.ledger, [entry], EntryTraits([1]))
    await store(topic, "m1/2")
    assert (await shown(topic))[0] == ["m0m1"]


async def test_two_producers_that_give_the_same_uuid_have_a_message_each(topic):
    for index, producer in [(0, "p"), (0, "q"), (1, "q"), (1, "p")]:
        place = ChunkInfo("m", index, 2, 4)
        said = build(producer, 5, 1000, uncompressed_size=2, chunk=place)
        await append(topic.ledger, [join(said, f"{producer}{index}".encode())], EntryTraits([1]))
    assert (await shown(topic))[0] == ["q0q1", "p0p1"]
    assert (await shown(topic, backwards=True))[0] == ["p0p1", "q0q1"]


async def test_who_follows_waits_for_the_last_chunk(topic):
    await store(topic, "m0/2", "m1/2")
    messages = ChunkedMessages(topic.log, TurnTaker(SystemClock()), waits=True)
    seen = [
        await messages.shown(message)
        async for position, entry in entries_from(topic.log)
        for message in messages_in(position, entry)
    ]
    assert [each and each.data for each in seen] == [None, b"m0m1"]

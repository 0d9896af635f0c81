"""What is sent is answered, and closing waits for that."""

import asyncio

import pytest
from unit.broker.topics.conftest import payload

from magnetar.broker.topics.publishing.producer import (
    CHECKSUM_SIZE,
    NOT_STORABLE,
    TOO_LARGE,
    UNENCRYPTED,
    Producer,
)
from magnetar.errors import NotAllowed, WriteFailed
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DelayedDeliveryPolicies
from magnetar.proto import PulsarApi_pb2 as pb

SHORT_DELAYS = Policies(delayed_delivery=DelayedDeliveryPolicies(1000, True, 60_000))


def producer(end, published, detached, **options):
    return Producer(
        **options,
        producer_id=1,
        name="p",
        epoch=0,
        metadata={},
        connection=end,
        publish=lambda _, run: published.append(run),
        detach=detached.append,
        connected_at_ms=0,
    )


async def test_a_run_is_answered_through_the_outlet(client_end, make_entry, make_run):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.publish(make_run(make_entry("a"), make_entry("b")))
    p.stored(published[0], 5, 7)
    assert end.sent == [("receipts", 1, 2, 5, 7)]
    assert (p.entries_pending, p.message_count) == (0, 2)


async def test_a_run_may_be_answered_part_by_part(client_end, make_entry, make_run):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.publish(make_run(*map(make_entry, "abc")))
    [run] = published
    p.stored(run.part(0, 1), 5, 7)
    p.refused(run.part(1, 3), error := WriteFailed("disk"))
    assert end.sent == [("receipts", 1, 1, 5, 7), ("errors", 1, 2, error)]
    assert (p.entries_pending, p.message_count) == (0, 1)


async def test_closing_waits_for_answers_and_then_takes_no_more(client_end, make_entry, make_run):
    end, published, detached = client_end(), [], []
    p = producer(end, published, detached)
    p.publish(make_run(make_entry("a")))
    closing = asyncio.ensure_future(p.close())
    await asyncio.sleep(0)
    assert not closing.done()
    p.refused(published[0], WriteFailed("disk"))
    await closing
    assert detached == [p]
    p.publish(late := make_run(make_entry("b")))
    assert len(published) == 1
    assert end.sent[-1] == ("dropped", late)


async def test_dropped_runs_are_settled_without_an_answer(client_end, make_entry, make_run):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.publish(make_run(make_entry("a")))
    p.dropped(published[0])
    assert end.sent == [("dropped", published[0])]
    await p.close()


def answers(end):
    """What the client was told, as kind and number of sends."""
    return [(kind, rest[0].data if kind == "dropped" else rest[1]) for kind, *rest in end.sent]


@pytest.fixture
def make_sends(make_run, make_entry):
    """A run of sends by their texts; those in capitals are to be delivered much later."""

    def make(texts):
        late = {"deliver_at_time": 1_900_000_000_000}
        return make_run(*(make_entry(t, **(late if t.isupper() else {})) for t in texts))

    return make


async def test_delays_are_stored_where_they_are_not_too_long(client_end, make_sends):
    published = []
    p = producer(client_end(), published, [])
    for delays in (DelayedDeliveryPolicies(1000, True), DelayedDeliveryPolicies(1000, False, 1)):
        p.apply(Policies(delayed_delivery=delays))
        p.publish(run := make_sends("aBc"))
        assert published.pop() is run


async def test_a_delay_that_is_too_long_is_refused_in_its_turn_and_the_rest_is_stored(
    client_end, make_sends
):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.apply(SHORT_DELAYS)
    p.publish(make_sends("aBCdEf"))
    assert [[payload(e) for e in run.data] for run in published] == [["a"], ["d"], ["f"]]
    assert end.sent == []
    p.stored(published[0], 5, 7)
    assert answers(end) == [("receipts", 1), ("errors", 2)]
    p.refused(published[1], WriteFailed("disk"))
    p.stored(published[2], 5, 8)
    assert answers(end)[2:] == [("errors", 1), ("errors", 1), ("receipts", 1)]
    assert (p.entries_pending, p.message_count) == (0, 2)


async def test_a_delay_that_is_too_long_is_refused_at_once_when_nothing_is_before_it(
    client_end, make_sends
):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.apply(SHORT_DELAYS)
    p.publish(make_sends("AB"))
    assert published == []
    ((kind, _, count, error),) = end.sent
    assert (kind, count, type(error)) == ("errors", 2, NotAllowed)
    assert str(error) == "Exceeds max allowed delivery delay of 60000 milliseconds"
    await p.close()


async def test_closing_waits_for_refusals_too(client_end, make_sends):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.apply(SHORT_DELAYS)
    p.publish(make_sends("aB"))
    closing = asyncio.ensure_future(p.close())
    await asyncio.sleep(0)
    assert not closing.done()
    p.stored(published[0], 5, 7)
    assert answers(end) == [("receipts", 1), ("errors", 1)]
    await closing


async def test_refusals_behind_what_is_dropped_are_dropped(client_end, make_sends):
    end, published = client_end(), []
    p = producer(end, published, [])
    p.apply(SHORT_DELAYS)
    p.publish(run := make_sends("aB"))
    p.dropped(published[0])
    assert answers(end) == [("dropped", run.data[:1]), ("dropped", run.data[1:])]
    p.publish(make_sends("c"))
    p.stored(published[1], 5, 7)
    assert answers(end)[2:] == [("receipts", 1)]


async def test_what_is_not_encrypted_is_refused_in_its_turn_while_it_must_be(
    client_end, make_entry, make_run
):
    end, published = client_end(), []
    p = producer(end, published, [])
    key = pb.EncryptionKeys(key="k", value=b"v")
    run = make_run(
        make_entry("a", encryption_keys=[key]), make_entry("b"), make_entry("c"), b"no metadata"
    )
    p.apply(Policies(encryption_required=True))
    p.publish(run)
    [stored] = published
    assert [payload(entry) for entry in stored.data] == ["a"]
    assert end.sent == []
    p.stored(stored, 5, 0)
    assert end.sent == [("receipts", 1, 1, 5, 0), ("errors", 1, 3, UNENCRYPTED)]
    p.apply(Policies())
    p.publish(run)
    assert published[1] is run


async def test_what_the_ledger_store_cannot_take_is_refused(client_end, make_run, make_entry):
    end, published = client_end(), []
    small, large = make_entry("a"), make_entry("b" * 100)
    p = producer(end, published, [], entry_size_max=len(large) - 1)
    p.publish(make_run(small, small, large, small))
    assert [run.data for run in published] == [[small, small], [small]]
    p.stored(published[0], 5, 7)
    assert end.sent[-1] == ("errors", 1, 1, NOT_STORABLE)
    p.publish(make_run(*[small] * 20))  # Together they may be larger.
    assert len(published[-1].data) == 20


async def test_what_is_larger_than_the_topic_takes_is_refused_and_chunks_are_not(
    client_end, make_run, make_entry
):
    end, published = client_end(), []
    p = producer(end, published, [])
    small, large = make_entry("a"), make_entry("b" * 100)
    chunk = make_entry(
        "c" * 100, uuid="u", chunk_id=0, num_chunks_from_msg=2, total_chunk_msg_size=200
    )
    p.apply(Policies(message_size_max=len(small) + CHECKSUM_SIZE))
    p.publish(make_run(small, large, chunk))
    assert [run.data for run in published] == [[small], [chunk]]
    p.stored(published[0], 5, 7)
    assert end.sent[-1] == ("errors", 1, 1, TOO_LARGE)
    assert p.chunk_count == 1
    p.apply(Policies(message_size_max=len(small) + CHECKSUM_SIZE - 1))
    p.publish(make_run(small))
    assert len(published) == 2
    p.apply(Policies(message_size_max=0))
    p.publish(make_run(large))
    assert len(published) == 3

import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until
from support.offloading import MemoryOffloader

from magnetar.errors import AlreadyExists, NotAllowed, StorageError
from magnetar.model.offload_policies import OffloadPolicies
from magnetar.model.policy_values import RetentionPolicies
from magnetar.model.position import LATEST, Position
from magnetar.model.process_status import ProcessStatus
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings

FOLDER = OffloadPolicies(driver="filesystem", file_uri="/srv", deletion_lag_ms=1_000)


@pytest.fixture
def offloader():
    return MemoryOffloader()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def open_topic(open_bench, offloader, clock):
    """A topic of three sealed ledgers and an open one, each of one entry."""

    async def open_one(policies=FOLDER):
        bench = await open_bench(
            clock=clock,
            offloader=offloader,
            ledger_settings=ManagedLedgerSettings(entries_per_ledger_max=1, ledger_age_min_s=0),
            retention=RetentionPolicies(-1, -1),
            offload=policies,
        )
        for text in "abcd":
            await bench.publish(text)
        return bench

    return open_one


def ids(topic):
    return topic.log.info().ledgers


async def done(topic):
    await until(lambda: not topic.offload.running)


def copied(topic):
    return [each.offload is not None and each.offload.complete for each in ids(topic)]


async def test_by_hand_what_is_before_a_message_is_offloaded(open_topic, offloader):
    topic = (await open_topic()).topic
    third = ids(topic)[2].ledger_id
    topic.offloading().start(Position(third, 0))
    with pytest.raises(AlreadyExists, match="Offload already in progress"):
        topic.offloading().start(LATEST)
    await done(topic)
    assert topic.offload.status is ProcessStatus.SUCCESS
    assert topic.offload.first_left == (third, 0)
    assert copied(topic) == [True, True, False, False]
    assert topic.offload.last_ledger_id == ids(topic)[1].ledger_id
    assert topic.offload.succeeded_ms == ids(topic)[1].offload.timestamp_ms
    assert topic.offload.size_bytes == sum(each.size_bytes for each in ids(topic)[:2])
    name = f"public/default/persistent/t/{ids(topic)[0].ledger_id}-0.parquet"
    assert next(iter(offloader.copies)) == name
    assert ids(topic)[0].offload.properties["topic"] == "persistent://public/default/t"


async def test_the_newest_ledger_is_never_offloaded(open_topic):
    topic = (await open_topic()).topic
    topic.offloading().start(LATEST)
    await done(topic)
    assert copied(topic) == [True, True, True, False]
    assert topic.offload.first_left == (ids(topic)[3].ledger_id, 0)


async def test_policies_say_what_is_due_and_when_it_goes_from_here(open_topic, clock):
    bench = await open_topic(OffloadPolicies(threshold_bytes=0).over(FOLDER))
    topic = bench.topic
    assert not await topic.prepare_for_rest(), "something will be due"
    await topic.maintain()
    await done(topic)
    assert copied(topic) == [True] * 4, "the last one has ended too"
    assert not any(each.offload.local_deleted for each in ids(topic))
    assert topic.offload.status is ProcessStatus.NOT_RUN, "nobody asked by hand"
    await topic.maintain()
    assert not topic.offload.running
    clock.move(1)
    await topic.maintain()
    await done(topic)
    assert all(each.offload.local_deleted for each in ids(topic))


async def test_what_fails_is_said_and_tried_again(open_topic, offloader):
    topic = (await open_topic()).topic
    offloader.written.failing = StorageError("no such bucket")
    topic.offloading().start(LATEST)
    await done(topic)
    assert (topic.offload.status, topic.offload.last_error) == (
        ProcessStatus.ERROR,
        "no such bucket",
    )
    assert topic.offload.failed_ms > 0
    assert topic.offload.first_left == (ids(topic)[0].ledger_id, 0)
    offloader.written.failing = None
    topic.offloading().start(LATEST)
    await done(topic)
    assert topic.offload.status is ProcessStatus.SUCCESS
    assert len(offloader.copies) == 3, "what the failed attempt left is deleted"


async def test_a_defect_is_said_too(open_topic, offloader):
    topic = (await open_topic()).topic
    offloader.written.failing = ZeroDivisionError("x")
    topic.offloading().start(LATEST)
    await done(topic)
    assert topic.offload.last_error == "ZeroDivisionError: x"


async def test_without_a_place_nothing_is_offloaded_by_hand(open_topic):
    topic = (await open_topic(None)).topic
    with pytest.raises(NotAllowed, match="managedLedgerOffloadDriver"):
        topic.offloading().start(LATEST)
    topic.offload.apply(OffloadPolicies(driver="S3"))
    with pytest.raises(NotAllowed):
        topic.offloading().start(LATEST)


async def test_a_topic_at_rest_has_none_to_offload(open_bench, offloader):
    bench = await open_bench(offloader=offloader, offload=FOLDER)
    assert bench.topic.offload.may_rest()
    plain = await open_bench(offloader=offloader)
    assert plain.topic.offload is None


async def test_secrets_are_handed_over_and_not_recorded(open_topic, offloader):
    secret = OffloadPolicies(driver="S3", bucket="b", s3_key_id="id", s3_secret="hidden")
    topic = (await open_topic(secret)).topic
    topic.offloading().start(LATEST)
    await done(topic)
    assert offloader.secrets == {"access_key_id": "id", "secret_access_key": "hidden"}
    assert "hidden" not in str(ids(topic))


async def test_closing_stops_it(open_topic, offloader):
    topic = (await open_topic()).topic
    offloader.written.close()
    topic.offloading().start(LATEST)
    await until(lambda: offloader.written.waiting)
    assert not topic.idle
    await asyncio.wait_for(topic.close(), 5)
    assert topic.offload.status is ProcessStatus.NOT_RUN

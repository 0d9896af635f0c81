"""A transaction against the scripted peer: what is sent in it, and every way that it can end."""

import asyncio

import pytest
from support.clock import ManualClock
from support.loop import pass_time, until, until_idle
from unit.client.coordinators import PeerCoordinators, answer, deny
from unit.client.peer import hang_up, silence

from magnetar import OutgoingMessage
from magnetar.client import blocking
from magnetar.client.client import Client
from magnetar.client.transaction import TransactionState
from magnetar.errors import (
    AlreadyClosed,
    CommitUnknown,
    CoordinatorNotFound,
    InvalidTxnStatus,
    InvalidValue,
    MessageTooLarge,
    NotAllowed,
    NotAuthorized,
    NotStored,
    TimedOut,
    TransactionAborted,
    TransactionNotFound,
)
from magnetar.message.metadata import peek
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.wire.commands import BaseCommand

TOPIC = "persistent://public/default/t"
COMMIT, ABORT = 0, 1


@pytest.fixture(autouse=True)
def coordinators(peer):
    return PeerCoordinators(peer)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def timed_client(peer, clock):
    """A client whose transactions grow old when the test says so."""
    async with Client(peer.url, clock=clock, operation_timeout_s=5) as client:
        yield client


def transactions(peer):
    """The transaction of each entry that was stored, as its metadata says it."""
    return [peek(data).transaction for data, _ in peer.entries]


async def test_the_end_of_the_block_commits(coordinators, peer, client):
    producer = await client.create_producer("t")
    async with client.transaction(timeout_s=7) as txn:
        assert (txn.id, txn.state) == (TxnId(0, 0), TransactionState.OPEN)
        await producer.send(b"one", txn=txn)
        assert not peer.of(BaseCommand.END_TXN)
    assert txn.state is TransactionState.COMMITTED
    assert coordinators.ends() == [(0, COMMIT)]
    assert peer.of(BaseCommand.NEW_TXN)[0].newTxn.txn_ttl_millis == 7000
    assert [run.transaction for run in peer.runs] == [(0, 0)]
    assert transactions(peer) == [(0, 0)]


async def test_an_exception_aborts(coordinators, client):
    with pytest.raises(ZeroDivisionError):
        async with client.transaction() as txn:
            1 / 0  # noqa: B018
    assert txn.state is TransactionState.ABORTED
    assert coordinators.ends() == [(0, ABORT)]


async def test_a_cancelled_block_is_aborted(coordinators, client):
    entered = asyncio.Event()

    async def work():
        async with client.transaction():
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert coordinators.ends() == [(0, ABORT)]


async def test_a_block_may_end_it_itself(coordinators, client):
    async with client.transaction() as committed:
        await committed.commit()
        await committed.commit()
    async with client.transaction() as aborted:
        await aborted.abort()
    assert coordinators.ends() == [(0, COMMIT), (1, ABORT)]
    with pytest.raises(AlreadyClosed, match=r"transaction \(0,1\) is aborted"):
        await aborted.commit()
    with pytest.raises(AlreadyClosed, match=r"transaction \(0,0\) is committed"):
        await committed.abort()


async def test_closing_the_client_aborts_what_is_open(coordinators, peer):
    client = Client(peer.url)
    txn = await client.transaction()
    await client.close()
    assert txn.state is TransactionState.ABORTED
    assert coordinators.ends() == [(0, ABORT)]


async def test_a_topic_is_told_of_once_and_before_the_first_message(coordinators, peer, client):
    producer = await client.create_producer("t", batching=False)
    told = asyncio.Event()

    def later(connection, frame):
        connection.write(answer(frame))
        assert not peer.entries
        told.set()

    peer.script(BaseCommand.ADD_PARTITION_TO_TXN, later)
    async with client.transaction() as txn:
        sent = [asyncio.ensure_future(producer.send(b"%d" % n, txn=txn)) for n in range(3)]
        await asyncio.gather(*sent)
        await producer.send_many([b"3", b"4"], txn=txn)
        await producer.enqueue([b"5"], txn=txn)
    assert told.is_set()
    assert coordinators.partitions() == [TOPIC]
    assert [data[-1:] for data, _ in peer.entries] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    async with client.transaction() as txn:
        await producer.send(b"6", txn=txn)
    assert coordinators.partitions() == [TOPIC, TOPIC]


async def test_who_sends_while_the_topic_is_told_of_comes_first(peer, client):
    """The answer is there, and those that waited for it have not gone on yet."""
    producer = await client.create_producer("t", batching=False)
    async with client.transaction() as txn:
        first = asyncio.ensure_future(producer.send(b"0", txn=txn))
        await asyncio.sleep(0)
        joining = txn._joined[TOPIC]
        set_told, later = joining.told.set, []

        def told():
            set_told()
            later.append(asyncio.ensure_future(producer.send(b"1", txn=txn)))

        joining.told.set = told
        await first
        await later[0]
    assert [data[-1:] for data, _ in peer.entries] == [b"0", b"1"]


async def test_every_partition_that_is_sent_to_is_told_of(coordinators, peer, client):
    peer.partitions = 3
    producer = await client.create_producer("t")
    async with client.transaction() as txn:
        await producer.send_many(
            [OutgoingMessage(b"%d" % n, key=f"k{n}") for n in range(20)], txn=txn
        )
        await producer.enqueue([b"a", b"b"], txn=txn, key="k1")
    assert sorted(coordinators.partitions()) == [f"{TOPIC}-partition-{n}" for n in range(3)]
    assert set(transactions(peer)) == {(0, 0)}


async def test_a_batch_is_in_one_transaction_or_in_none(peer, client):
    producer = await client.create_producer("t", batch_delay_s=5)
    async with client.transaction() as one, client.transaction() as other:
        plain = producer.submit(b"plain")
        await producer.enqueue([b"a", b"b"], txn=one)
        await producer.enqueue([b"c"], txn=one)
        await producer.enqueue([OutgoingMessage(b"d", key="k")], txn=other)
        producer.send_nowait(b"plain too")
        await producer.flush()
        await plain
    assert transactions(peer) == [None, (0, 0), (0, 1), None]
    assert [peek(data).message_count for data, _ in peer.entries] == [1, 3, 1, 1]


async def test_a_chunked_message_is_in_it_with_all_its_chunks(peer, client):
    peer.message_size_max = 1000
    producer = await client.create_producer("t", chunking=True, batching=False)
    async with client.transaction() as txn:
        await producer.send(b"x" * 2500, txn=txn)
    assert len(peer.entries) > 2
    assert set(transactions(peer)) == {(0, 0)}


async def test_the_end_waits_for_what_was_sent(coordinators, peer, client):
    held = []
    peer.on_run = lambda connection, run: held.append((connection, run))
    producer = await client.create_producer("t", batch_delay_s=100)
    txn = await client.transaction()
    await producer.enqueue([b"a"], txn=txn)
    commit = asyncio.ensure_future(txn.commit())
    await until(lambda: held)
    await until_idle()
    assert not peer.of(BaseCommand.END_TXN)
    with pytest.raises(AlreadyClosed, match="being committed"):
        await producer.send(b"b", txn=txn)
    for connection, run in held:
        connection.receipts(run)
    await commit
    assert coordinators.ends() == [(0, COMMIT)]


async def test_a_message_that_fails_keeps_it_from_being_committed(coordinators, peer, client):
    peer.message_size_max = 100
    producer = await client.create_producer("t")
    txn = await client.transaction()
    await producer.send(b"fits", txn=txn)
    with pytest.raises(MessageTooLarge) as refused:
        await producer.send_many([b"x" * 1000], txn=txn)
    with pytest.raises(TransactionAborted, match=r"transaction \(0,0\) was aborted: ") as aborted:
        await txn.commit()
    assert aborted.value.__cause__ is refused.value
    assert coordinators.ends() == [(0, ABORT)]


async def test_a_message_that_was_not_taken_changes_nothing(client):
    producer = await client.create_producer("t", batching=False)
    async with client.transaction() as txn:
        with pytest.raises(MessageTooLarge):
            await producer.send(b"x" * (6 << 20), txn=txn)
        with pytest.raises(InvalidValue):
            await producer.send(7, txn=txn)
    assert txn.state is TransactionState.COMMITTED


async def test_a_message_without_a_receipt_aborts_it(coordinators, peer, client):
    peer.on_run = lambda *_: None
    producer = await client.create_producer("t")
    txn = await client.transaction()
    await producer.enqueue([b"a"], txn=txn)
    commit = asyncio.ensure_future(txn.commit())
    await pass_time(5)
    with pytest.raises(TransactionAborted, match=r"1 messages or ack.* no answer within 5 s"):
        await commit
    with pytest.raises(NotStored):
        await producer.close(0.01)
    assert coordinators.ends() == [(0, ABORT)]


async def test_its_time_is_up(coordinators, clock, timed_client):
    producer = await timed_client.create_producer("t")
    txn = await timed_client.transaction(timeout_s=9)
    clock.move(9)
    with pytest.raises(TransactionAborted, match="not committed within 9 s"):
        await producer.send(b"late", txn=txn)
    with pytest.raises(TransactionAborted, match="not committed within 9 s"):
        await txn.commit()
    assert coordinators.ends() == [(0, ABORT)]


@pytest.mark.parametrize("error", [TransactionNotFound("gone"), InvalidTxnStatus("aborting")])
async def test_its_coordinator_has_aborted_it(peer, client, error):
    peer.script(BaseCommand.END_TXN, deny(error))
    txn = await client.transaction(timeout_s=9)
    with pytest.raises(TransactionAborted, match="which aborts it after 9 s") as aborted:
        await txn.commit()
    assert isinstance(aborted.value.__cause__, type(error))
    assert txn.state is TransactionState.ABORTED


async def test_who_sends_hears_that_its_coordinator_has_aborted_it(peer, client):
    peer.script(BaseCommand.ADD_PARTITION_TO_TXN, deny(TransactionNotFound("gone")))
    producer = await client.create_producer("t")
    txn = await client.transaction()
    with pytest.raises(TransactionAborted, match="has it no longer"):
        await producer.send(b"a", txn=txn)
    assert not peer.entries


async def test_aborting_what_is_aborted_is_no_error(peer, client):
    peer.script(BaseCommand.END_TXN, deny(TransactionNotFound("gone")))
    txn = await client.transaction()
    await txn.abort()
    assert txn.state is TransactionState.ABORTED


async def test_a_commit_whose_answer_is_lost_is_asked_for_again(coordinators, peer, client):
    peer.script(BaseCommand.END_TXN, hang_up)
    async with client.transaction() as txn:
        pass
    assert txn.state is TransactionState.COMMITTED
    assert coordinators.ends() == [(0, COMMIT), (0, COMMIT)]
    assert len(peer.of(BaseCommand.TC_CLIENT_CONNECT_REQUEST)) == 2


LOST = [TransactionNotFound("gone"), InvalidTxnStatus("ending")]


async def sent_in(client):
    """A transaction in which something was done."""
    producer = await client.create_producer("t")
    txn = await client.transaction()
    await producer.send(b"a", txn=txn)
    return txn


@pytest.mark.parametrize("error", LOST)
async def test_what_may_be_aborted_when_it_is_asked_for_again_is_aborted(
    coordinators, peer, client, error
):
    """A coordinator that remembers how it has ended grants an abort only to what is aborted."""
    peer.script(BaseCommand.END_TXN, hang_up, deny(error))
    txn = await sent_in(client)
    with pytest.raises(TransactionAborted, match="was aborted"):
        await txn.commit()
    assert txn.state is TransactionState.ABORTED
    assert coordinators.ends() == [(0, COMMIT), (0, COMMIT), (0, ABORT)]


@pytest.mark.parametrize("error", LOST)
async def test_what_was_forgotten_when_it_is_asked_for_again_is_unknown(peer, client, error):
    """Apache Pulsar's coordinator says so of what it has committed and of what it has aborted."""
    peer.script(BaseCommand.END_TXN, hang_up, deny(error), deny(error))
    txn = await sent_in(client)
    with pytest.raises(CommitUnknown, match="may have been committed or not: the answer was lost"):
        await txn.commit()
    assert txn.state is TransactionState.UNKNOWN


async def test_what_nobody_answers_for_after_it_was_forgotten_is_unknown(peer, client):
    gone = deny(TransactionNotFound("gone"))
    peer.script(BaseCommand.END_TXN, hang_up, gone, deny(NotAuthorized("no")))
    txn = await sent_in(client)
    with pytest.raises(CommitUnknown):
        await txn.commit()


async def test_of_an_empty_one_nothing_is_unknown(coordinators, peer, client):
    peer.script(BaseCommand.END_TXN, hang_up, deny(TransactionNotFound("gone")))
    async with client.transaction() as txn:
        pass
    assert txn.state is TransactionState.COMMITTED
    assert coordinators.ends() == [(0, COMMIT), (0, COMMIT)]


async def test_a_coordinator_that_does_not_answer_leaves_it_open(peer, client):
    txn = await client.transaction()
    peer.script(BaseCommand.END_TXN, silence)
    commit = asyncio.ensure_future(txn.commit())
    await peer.saw(BaseCommand.END_TXN)
    await pass_time(5)
    with pytest.raises(CommitUnknown) as unknown:
        await commit
    assert isinstance(unknown.value, TimedOut)
    assert not unknown.value.retriable


async def test_a_commit_that_is_refused_has_not_happened(peer, client):
    peer.script(BaseCommand.END_TXN, deny(NotAuthorized("not yours")))
    txn = await client.transaction()
    with pytest.raises(TransactionAborted, match="not yours"):
        await txn.commit()


async def test_a_commit_that_nobody_was_asked_for_has_not_happened(peer, client):
    txn = await client.transaction()
    await peer.stop()
    await until(lambda: txn._coordinator._attachment.connection is None)
    commit = asyncio.ensure_future(txn.commit())
    await pass_time(5)
    with pytest.raises(TransactionAborted, match="could not be committed"):
        await commit
    await peer.start()


async def test_a_cancelled_commit_goes_on(peer, client):
    asked = asyncio.Event()

    def later(connection, frame):
        asked.set()
        asyncio.get_running_loop().call_soon(connection.write, answer(frame))

    peer.script(BaseCommand.END_TXN, later)
    txn = await client.transaction()
    commit = asyncio.ensure_future(txn.commit())
    await until(lambda: txn.state is TransactionState.COMMITTING)
    commit.cancel()
    with pytest.raises(asyncio.CancelledError):
        await commit
    await until(lambda: txn.state is TransactionState.COMMITTED)
    assert asked.is_set()


async def test_it_goes_on_over_a_new_connection(coordinators, peer, client):
    producer = await client.create_producer("t", batching=False)
    async with client.transaction() as txn:
        await producer.send(b"before", txn=txn)
        peer.connections[0].drop()
        await until(lambda: not producer.connected)
        await producer.send(b"after", txn=txn)
    assert transactions(peer) == [(0, 0), (0, 0)]
    assert coordinators.partitions() == [TOPIC]
    assert coordinators.ends() == [(0, COMMIT)]


async def test_a_coordinator_that_moved_is_looked_up_again(peer, client):
    async with client.transaction() as txn:
        peer.script(BaseCommand.END_TXN, deny(CoordinatorNotFound("it moved")))
    assert txn.state is TransactionState.COMMITTED
    assert len(peer.of(BaseCommand.TC_CLIENT_CONNECT_REQUEST)) == 2


async def test_transactions_are_spread_over_the_coordinators(peer, client):
    coordinators = PeerCoordinators(peer, 3)
    for _ in range(6):
        async with client.transaction():
            pass
    asked = [command.newTxn.tc_id for command in peer.of(BaseCommand.NEW_TXN)]
    assert sorted(asked) == [0, 0, 1, 1, 2, 2]
    assert asked[:3] == asked[3:]
    assert len(peer.of(BaseCommand.TC_CLIENT_CONNECT_REQUEST)) == 3
    assert coordinators.begun == 6


async def test_who_begins_at_the_same_time_shares_what_is_asked(peer, client):
    begun = await asyncio.gather(*(client.transaction() for _ in range(5)))
    assert {txn.id.least_bits for txn in begun} == set(range(5))
    assert len(peer.of(BaseCommand.TC_CLIENT_CONNECT_REQUEST)) == 1


@pytest.mark.parametrize("timeout_s", [0, -1, float("inf"), float("nan"), "soon"])
async def test_its_time_is_a_number_of_seconds(client, timeout_s):
    with pytest.raises(InvalidValue, match="timeout_s"):
        await client.transaction(timeout_s)


async def test_a_broker_without_transactions_says_so(coordinators, client):
    coordinators.count = 0
    with pytest.raises(NotAllowed, match="transactionCoordinatorEnabled=true"):
        await client.transaction()


async def test_it_says_what_it_is(client):
    txn = await client.transaction()
    assert repr(txn) == "<Transaction (0,0), open>"
    await txn.abort()
    assert repr(txn) == "<Transaction (0,0), aborted>"


async def test_the_same_for_threads(coordinators, peer):
    def work():
        with blocking.Client(peer.url) as client:
            producer = client.create_producer("t")
            consumer = client.subscribe(
                "t", "s", type=SubscriptionType.SHARED, initial_position=InitialPosition.EARLIEST
            )
            with client.transaction(timeout_s=7) as txn:
                assert (txn.id, txn.state) == (TxnId(0, 0), TransactionState.OPEN)
                producer.send(b"one", txn=txn, key="k")
                producer.send_many([b"two"], txn=txn)
                producer.enqueue([b"three"], txn=txn)
                messages = consumer.receive_many(count_min=3)
                consumer.acknowledge(messages[0], txn=txn)
                consumer.acknowledge(iter(messages[1:]), txn=txn)
            assert txn.state is TransactionState.COMMITTED
            with pytest.raises(ZeroDivisionError), client.transaction() as txn:
                1 / 0  # noqa: B018
            assert repr(txn) == "<Transaction (0,1), aborted>"
            with client.transaction() as txn:
                txn.abort()

    await asyncio.to_thread(work)
    assert coordinators.ends() == [(0, COMMIT), (1, ABORT), (2, ABORT)]
    assert set(transactions(peer)) == {(0, 0)}
    acks = [command.ack for command in peer.of(BaseCommand.ACK)]
    assert {(ack.txnid_least_bits, ack.HasField("request_id")) for ack in acks} == {(0, True)}
    assert sum(len(ack.message_id) for ack in acks) == 3

"""Transactions: one that is open, and what becomes of it and of another."""

from golden.admin.groups.shared import NO_SYSTEM_TOPICS, NOT_OURS, listen

RECORDS = "records of ours are of other sizes, and their ledgers have no other metadata"
SNAPSHOTS = "a topic has a log of snapshots of its own, once one is worth while"
SIZE = "our client says an uncompressed size of what it compresses only"
WAITS = "a subscription that waits for the end of a transaction waits as for any message"
TOPIC = "persistent://golden/txn/t"
TIMEOUT_S = 300


async def messages(world):
    """A transaction that publishes and acknowledges in one topic."""
    await world.make(("PUT", "namespaces/golden/txn", None))
    await listen(world, TOPIC, "sub-txn", name="txn-consumer")
    producer = await world.send(TOPIC, b"0", b"1", b"2", name="txn-producer")
    first = await world.kept[TOPIC].receive()
    for _ in range(2):
        await world.kept[TOPIC].receive()
    world.kept["transaction"] = txn = await world.client.transaction(timeout_s=TIMEOUT_S)
    await producer.send(b"in-txn", txn=txn)
    await world.kept[TOPIC].acknowledge(first, txn=txn)


async def committed(world):
    await world.kept.pop("transaction").commit()


async def another(world):
    await world.client.transaction(timeout_s=TIMEOUT_S)


async def ledger_known(world):
    """Paths name the ledger of the topic, before any answer did."""
    topic = await world.topic(TOPIC)
    world.ledgers[141] = topic.log.first.ledger_id


BEFORE = {
    "coordinators": messages,
    "metadata_committed": committed,
    "position": ledger_known,
    "abort": another,
}
DIFFERENCES = {
    "inPendingAck_unknown_sub": NOT_OURS,
    "pendingAckStats_unknown_sub": NOT_OURS,
    "coordInternal": RECORDS,
    "bufferInternal": SNAPSHOTS,
    "topic_internalStats_open": WAITS,
    "peek_open": SIZE,
    "abort_again": NOT_OURS,
    "abort_unknown": NOT_OURS,
    "topics_txn": NO_SYSTEM_TOPICS,
    "topics_system": NO_SYSTEM_TOPICS,
}

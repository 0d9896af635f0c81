"""Transactions: the recorded broker had a coordinator."""

from golden.admin.groups.shared import NO_SYSTEM_TOPICS, NOT_OURS, listen

NO_TRANSACTIONS = "the recorded broker had a coordinator of transactions; ours has none"
TOPIC = "persistent://golden/txn/t"


async def messages(world):
    await world.make(("PUT", "namespaces/golden/txn", None))
    await listen(world, TOPIC, "sub-txn")
    await world.send(TOPIC, b"0", b"1", b"2", b"in-txn", name="txn-producer")


async def first_acknowledged(world):
    await world.make(("POST", "persistent/golden/txn/t/subscription/sub-txn/skip/1", None))


BEFORE = {"coordinators": messages, "analyze_txn": first_acknowledged}
DIFFERENCES = {
    "coordinators": NO_TRANSACTIONS,
    "coordinatorStats": NO_TRANSACTIONS,
    "coordinatorStats_0": NO_TRANSACTIONS,
    "metadata_open": NO_TRANSACTIONS,
    "metadata_unknown_coord": NO_TRANSACTIONS,
    "inBuffer": NO_TRANSACTIONS,
    "inPendingAck_unknown_sub": NOT_OURS,
    "bufferStats": NO_TRANSACTIONS,
    "bufferStats_lwm": NO_TRANSACTIONS,
    "pendingAckStats": NO_TRANSACTIONS,
    "pendingAckStats_lwm": NO_TRANSACTIONS,
    "pendingAckStats_unknown_sub": NOT_OURS,
    "slow": NO_TRANSACTIONS,
    "slow_coord": NO_TRANSACTIONS,
    "coordInternal": NO_TRANSACTIONS,
    "bufferInternal": NO_TRANSACTIONS,
    "pendingAckInternal": NO_TRANSACTIONS,
    "position": NO_TRANSACTIONS,
    "position_batch": NO_TRANSACTIONS,
    "topic_stats_open": NO_TRANSACTIONS,
    "topic_internalStats_open": NO_TRANSACTIONS,
    "peek_open": NO_TRANSACTIONS,
    "bufferStats_committed": NO_TRANSACTIONS,
    "topic_stats_committed": NO_TRANSACTIONS,
    "abort": NO_TRANSACTIONS,
    "abort_again": NOT_OURS,
    "abort_unknown": NOT_OURS,
    "scale": NO_TRANSACTIONS,
    "scale_less": NO_TRANSACTIONS,
    "topics_txn": NO_SYSTEM_TOPICS,
    "topics_system": NO_SYSTEM_TOPICS,
}

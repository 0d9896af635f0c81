"""Transactions: the recorded broker had a coordinator."""

from golden.admin.groups.shared import NO_SYSTEM_TOPICS, listen

NO_TRANSACTIONS = "503: the recorded broker had a coordinator of transactions, ours has none"
# What a Pulsar without one says is in tests/unit/broker/admin/routes/test_transactions.py.
TOPIC = "persistent://golden/txn/t"


async def messages(world):
    await world.make(("PUT", "namespaces/golden/txn", None))
    await listen(world, TOPIC, "sub-txn")
    await world.send(TOPIC, b"0", b"1", b"2", b"in-txn", name="txn-producer")


async def first_acknowledged(world):
    await world.make(("POST", "persistent/golden/txn/t/subscription/sub-txn/skip/1", None))


BEFORE = {"coordinators": messages, "analyze_txn": first_acknowledged}
DIFFERENCES = {
    **dict.fromkeys(
        (
            "coordinators",
            "coordinatorStats",
            "coordinatorStats_0",
            "coordinatorStats_unknown",
            "metadata_open",
            "metadata_unknown",
            "metadata_unknown_coord",
            "inBuffer",
            "inBuffer_unknown",
            "inPendingAck",
            "inPendingAck_unknown_sub",
            "bufferStats",
            "bufferStats_lwm",
            "bufferStats_unknown",
            "pendingAckStats",
            "pendingAckStats_lwm",
            "pendingAckStats_unknown_sub",
            "pendingAckStats_unknown_topic",
            "slow",
            "slow_big",
            "slow_coord",
            "coordInternal",
            "coordInternal_unknown",
            "bufferInternal",
            "pendingAckInternal",
            "pendingAckInternal_unknown",
            "position",
            "position_batch",
            "position_unknown",
            "metadata_committed",
            "bufferStats_committed",
            "abort",
            "metadata_aborted",
            "abort_again",
            "abort_unknown",
            "scale",
            "scale_less",
            "scale_negative",
        ),
        NO_TRANSACTIONS,
    ),
    **dict.fromkeys(
        ("topic_stats_open", "topic_internalStats_open", "peek_open", "topic_stats_committed"),
        "without a transaction there are other messages in the topic",
    ),
    "topics_txn": NO_SYSTEM_TOPICS,
    "topics_system": NO_SYSTEM_TOPICS,
}

"""Transactions: the recorded broker had a coordinator."""

from golden.admin.groups.shared import NOT_YET, listen

TOPIC = "persistent://golden/txn/t"


async def messages(world):
    await world.make(("PUT", "namespaces/golden/txn", None))
    await listen(world, TOPIC, "sub-txn")
    await world.send(TOPIC, b"0", b"1", b"2", b"in-txn", name="txn-producer")


BEFORE = {"coordinators": messages}
DIFFERENCES = {
    "coordinators": NOT_YET,
    "coordinatorStats": NOT_YET,
    "coordinatorStats_0": NOT_YET,
    "coordinatorStats_unknown": NOT_YET,
    "metadata_open": NOT_YET,
    "metadata_unknown": NOT_YET,
    "metadata_unknown_coord": NOT_YET,
    "inBuffer": NOT_YET,
    "inBuffer_unknown": NOT_YET,
    "inPendingAck": NOT_YET,
    "inPendingAck_unknown_sub": NOT_YET,
    "bufferStats": NOT_YET,
    "bufferStats_lwm": NOT_YET,
    "bufferStats_unknown": NOT_YET,
    "pendingAckStats": NOT_YET,
    "pendingAckStats_lwm": NOT_YET,
    "pendingAckStats_unknown_sub": NOT_YET,
    "pendingAckStats_unknown_topic": NOT_YET,
    "slow": NOT_YET,
    "slow_big": NOT_YET,
    "slow_coord": NOT_YET,
    "coordInternal": NOT_YET,
    "coordInternal_unknown": NOT_YET,
    "bufferInternal": NOT_YET,
    "pendingAckInternal": NOT_YET,
    "pendingAckInternal_unknown": NOT_YET,
    "position": NOT_YET,
    "position_batch": NOT_YET,
    "position_unknown": NOT_YET,
    "topic_stats_open": NOT_YET,
    "topic_internalStats_open": NOT_YET,
    "peek_open": NOT_YET,
    "metadata_committed": NOT_YET,
    "bufferStats_committed": NOT_YET,
    "topic_stats_committed": NOT_YET,
    "abort": NOT_YET,
    "metadata_aborted": NOT_YET,
    "abort_again": NOT_YET,
    "abort_unknown": NOT_YET,
    "scale": NOT_YET,
    "scale_less": NOT_YET,
    "scale_negative": NOT_YET,
    "topics_txn": NOT_YET,
    "topics_system": NOT_YET,
    "analyze_txn": NOT_YET,
}

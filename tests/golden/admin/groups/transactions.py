"""Transactions: one that is open, and what becomes of it and of another."""

from golden.admin.groups.shared import NO_SYSTEM_TOPICS, NOT_OURS, listen
from unit.broker.peer import Peer

from magnetar.proto import PulsarApi_pb2 as pb

NO_BUFFER = "no topic keeps anything of a transaction yet"
RECORDS = "the records of our coordinators are longer, and their ledgers have no other metadata"
TOPIC = "persistent://golden/txn/t"
COORDINATOR = "persistent://pulsar/system/transaction_coordinator_assign-partition-0"
TIMEOUT_MS = 300_000


async def begin(world):
    peer = world.kept["peer"]
    asked = {"request_id": 1, "tc_id": 0, "txn_ttl_millis": TIMEOUT_MS}
    number = (await peer.ask("newTxn", **asked)).newTxnResponse.txnid_least_bits
    return {"request_id": 1, "txnid_most_bits": 0, "txnid_least_bits": number}


async def messages(world):
    """A transaction that publishes and acknowledges in one topic."""
    await world.make(("PUT", "namespaces/golden/txn", None))
    await listen(world, TOPIC, "sub-txn")
    await world.send(TOPIC, b"0", b"1", b"2", b"in-txn", name="txn-producer")
    peer = world.kept["peer"] = await Peer.open(world.local.port)
    await peer.ask("lookupTopic", topic=COORDINATOR, request_id=1)
    await peer.ask("tcClientConnectRequest", request_id=1, tc_id=0)
    ids = world.kept["transaction"] = await begin(world)
    await peer.ask("addPartitionToTxn", partitions=[TOPIC], **ids)
    subscription = pb.Subscription(topic=TOPIC, subscription="sub-txn")
    await peer.ask("addSubscriptionToTxn", subscription=[subscription], **ids)


async def committed(world):
    peer = world.kept["peer"]
    await peer.ask("endTxn", txn_action=pb.COMMIT, **world.kept["transaction"])


async def another(world):
    await begin(world)


async def first_acknowledged(world):
    await world.make(("POST", "persistent/golden/txn/t/subscription/sub-txn/skip/1", None))


BEFORE = {
    "coordinators": messages,
    "metadata_committed": committed,
    "abort": another,
    "analyze_txn": first_acknowledged,
}
DIFFERENCES = {
    "metadata_open": NO_BUFFER,
    "inBuffer": NO_BUFFER,
    "inPendingAck_unknown_sub": NOT_OURS,
    "bufferStats": NO_BUFFER,
    "bufferStats_lwm": NO_BUFFER,
    "pendingAckStats": NO_BUFFER,
    "pendingAckStats_lwm": NO_BUFFER,
    "pendingAckStats_unknown_sub": NOT_OURS,
    "slow": NO_BUFFER,
    "slow_coord": NO_BUFFER,
    "coordInternal": RECORDS,
    "bufferInternal": NO_BUFFER,
    "pendingAckInternal": NO_BUFFER,
    "position": NO_BUFFER,
    "position_batch": NO_BUFFER,
    "topic_stats_open": NO_BUFFER,
    "topic_internalStats_open": NO_BUFFER,
    "peek_open": NO_BUFFER,
    "bufferStats_committed": NO_BUFFER,
    "topic_stats_committed": NO_BUFFER,
    "abort_again": NOT_OURS,
    "abort_unknown": NOT_OURS,
    "topics_txn": NO_SYSTEM_TOPICS,
    "topics_system": NO_SYSTEM_TOPICS,
}

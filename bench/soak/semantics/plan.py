"""What is in use: each line of the table that a run ends with, but for leadership."""

from dataclasses import dataclass

from bench.soak.flows import KIB, MIB, SMALL, Flow
from magnetar.model.subscriptions import SubscriptionType as Type

from . import contents, dispatch, policies, visits
from .feature_flow import FeatureFlow


@dataclass(frozen=True, slots=True)
class Use:
    """A flow, what it uses in words, and what drives it (by the official client)."""

    flow: Flow
    feature: str
    kind: type[FeatureFlow] = FeatureFlow


def _one(name: str, type_: Type, rate: float = 20, **more: object) -> Flow:
    options: dict[str, object] = {"topics": 1, "sizes": SMALL} | more
    return Flow(name, type_, rate=rate, **options)  # type: ignore[arg-type]


TEXT = (1,)  # No more than whose it is and its number.
OFFICIAL = [
    Use(
        _one("exclusive", Type.EXCLUSIVE),
        "Exclusive, acknowledged cumulatively",
        dispatch.Cumulative,
    ),
    Use(
        _one("failover", Type.FAILOVER, consumers=2, batching=True, renewed=True),
        "Failover, batches; consumers join and leave",
    ),
    Use(
        _one(
            "shared",
            Type.SHARED,
            topics=2,
            consumers=3,
            refused_share=0.02,
            renewed=True,
            slow=True,
            dying=True,
        ),
        "Shared, refusals; a slow consumer, one that is killed",
    ),
    Use(
        _one("keys", Type.KEY_SHARED, consumers=3, lanes=7, renewed=True),
        "Key_Shared auto split; consumers join and leave",
    ),
    Use(
        _one("sticky", Type.KEY_SHARED, consumers=3, lanes=7, renewed=True),
        "Key_Shared sticky; consumers join and leave",
        dispatch.StickyRanges,
    ),
    Use(
        _one("pattern", Type.EXCLUSIVE, topics=3),
        "one consumer for a pattern of topics",
        dispatch.Pattern,
    ),
    Use(_one("partitions", Type.SHARED, 40, consumers=2, partitions=4), "4 partitions, Shared"),
    Use(
        _one("indexes", Type.SHARED, 50, consumers=2, batching=True, refused_share=0.05),
        "batches, acknowledged and refused by index",
        dispatch.BatchIndexes,
    ),
    Use(
        _one("dead", Type.SHARED, 10, consumers=2),
        "a tenth refused: dead letters",
        dispatch.DeadLetters,
    ),
    Use(
        _one("delayed", Type.SHARED, consumers=2, renewed=True),
        "delays of up to 15 s, none early",
        dispatch.Delayed,
    ),
    Use(
        _one("deduplicated", Type.EXCLUSIVE, sizes=(100,), renewed=True),
        "deduplication, sent again: stored once",
        contents.Deduplicated,
    ),
    Use(
        _one("in-memory", Type.SHARED, lossy=True, domain="non-persistent"),
        "non-persistent: loss allowed",
    ),
    Use(
        _one("compacted", Type.EXCLUSIVE, sizes=(100, 300), lanes=20, meddled=True),
        "compaction, compacted readers",
        contents.Compacted,
    ),
    Use(
        _one("json", Type.EXCLUSIVE, sizes=TEXT, renewed=True),
        "JSON schemas, two versions",
        contents.WithSchema,
    ),
    Use(
        _one("avro", Type.KEY_SHARED, sizes=TEXT, renewed=True, consumers=2, lanes=5),
        "Avro schemas, two versions; Key_Shared",
        contents.WithAvro,
    ),
    Use(
        _one("policies", Type.SHARED, consumers=2, meddled=True),
        "policies of the topic set and removed",
        policies.Policies,
    ),
    Use(
        _one("rates", Type.SHARED, meddled=True),
        "publish and dispatch rates, below and above what is sent",
        policies.Rates,
    ),
    Use(
        _one("expiring", Type.EXCLUSIVE, 10, sizes=(100,)),
        f"TTL of {visits.TTL_S} s, a consumer now and then",
        visits.Expiring,
    ),
    Use(
        _one("evicted", Type.EXCLUSIVE, sizes=(KIB,)),
        f"quota of {visits.QUOTA_BYTES // 1000} kB, consumer_backlog_eviction",
        visits.Evicted,
    ),
    Use(
        _one("idle", Type.EXCLUSIVE, sizes=(100,)),
        "unloaded when idle",
        visits.Idle,
    ),
    Use(_one("seeking", Type.EXCLUSIVE, 10, seeks=True), "seeks by time"),
]
OURS = {
    "our-exclusive": "Exclusive, batches, lz4",
    "our-failover": "Failover; consumers join and leave",
    "our-shared": "Shared, refusals; consumers join and leave",
    "our-keys": "Key_Shared auto split; consumers join and leave",
    "our-chunks": "chunked messages on Shared",
    "our-seeking": "seeks by time",
}
OUR_FLOWS = [
    _one("our-exclusive", Type.EXCLUSIVE, 50, batching=True, compressed=True),
    _one("our-failover", Type.FAILOVER, consumers=2, renewed=True),
    _one("our-shared", Type.SHARED, consumers=2, refused_share=0.02, renewed=True),
    _one("our-keys", Type.KEY_SHARED, consumers=3, lanes=5, renewed=True),
    _one("our-chunks", Type.SHARED, 0.1, consumers=2, sizes=(6 * MIB, 12 * MIB), chunking=True),
    _one("our-seeking", Type.EXCLUSIVE, 10, seeks=True),
]

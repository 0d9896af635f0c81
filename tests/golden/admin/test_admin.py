"""What Pulsar 4.0.7 answered to an administrator is what we answer, save for ``DIFFERENCES``.

``exchanges.jsonl`` are requests to a live broker, in their order, with its answers; those of routes
this broker does not have are left out. What clients and others did in between is in ``BEFORE``.
"""

import json
from pathlib import Path

from support.loop import until
from unit.broker.admin.world import SilentEnd, open_world

from magnetar.broker.topics.consumer import SubscribeRequest
from magnetar.clock import SystemClock
from magnetar.model.names import TopicName
from magnetar.model.records import PartitionedTopicMetadata
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.storage.codec.json_object import encode
from magnetar.storage.metadata import paths

HERE = Path(__file__).parent
EXCHANGES = [json.loads(line) for line in (HERE / "exchanges.jsonl").read_text().splitlines()]

DATA_LEDGER, OTHER_LEDGER = 20, 186  # As recorded, of golden/topics/data and golden/ex/t.
NAMESPACE = "persistent://golden/topics"

NO_PLAIN_PROPERTIES = "topics without partitions have no properties yet, so they are refused"
LISTED = "Pulsar leaves the topic with a slash in its name out of its lists"
NO_LEDGER_YET = "an empty topic has no ledger before its first message"
NOT_OURS = "a mistake of the caller's is not a failure of ours"
SAYS_MORE = "the reason names the namespace and how many topics it has"
NOTHING_TO_GO_TO = "it keeps no messages to go to, which is not answered with yes"
FIRST_REFUSAL = "of several subscriptions that are refused, it is the first that is named"
JAVA_TLS = "settings of Java's key stores mean nothing here"

DIFFERENCES = {
    ("clusters", "get"): JAVA_TLS,
    ("namespaces", "bundles_split"): "bundles cannot be split yet",
    ("namespaces", "bundles_split2"): "bundles cannot be split yet",
    ("ns_policies", 'subscriptionTypesEnabled.set_bad_["Zzz"]'): NOT_OURS,
    ("topics", "create_with_properties"): NO_PLAIN_PROPERTIES,
    ("topics", "list"): LISTED,
    ("topics", "list_ns_topics"): LISTED,
    ("topics", "list_ns_topics_persistent"): LISTED,
    ("topics", "list_ns_topics_all"): LISTED + "; and there are no system topics",
    ("topics", "list_include_system"): LISTED + "; and there are no system topics",
    ("subscriptions", "reset_id_no_body"): NOT_OURS,
    ("subscriptions", "expire_negative"): "here the request before it left nothing to expire",
    ("subscriptions", "expire_id_excluded"): "ours has finished with the one before",
    ("subscriptions", "expire_all"): FIRST_REFUSAL,
    ("subscriptions", "expire_all_partitioned"): FIRST_REFUSAL,
    ("messages", "lastMessageId_empty"): NO_LEDGER_YET,
    ("root", "basic_auth_ignored"): "credentials that nobody checks are refused, not ignored",
    ("limits", "max_topics_partitions"): SAYS_MORE,
    ("limits", "max_topics_exceeded"): SAYS_MORE,
    ("schemas", "get_vtext"): NOT_OURS,
    ("schemas", "compat_no"): NOT_OURS,
    ("schemas", "compat_invalid"): NOT_OURS,
    ("schemas", "post_unknown_type"): NOT_OURS,
    ("schemas", "post_no_body"): NOT_OURS,
    ("schemas", "post_empty_object"): NOT_OURS,
    ("schemas", "post_null_schema"): NOT_OURS,
    ("lookup", "bad_domain"): "a path that names no topic is not a failure of ours",
    ("non_persistent", "list_bundle"): "the reason names the bundle and where to find others",
    ("non_persistent", "skip_all"): NOTHING_TO_GO_TO,
    ("non_persistent", "skip"): NOTHING_TO_GO_TO,
    ("non_persistent", "resetcursor"): NOTHING_TO_GO_TO,
    ("non_persistent", "compaction"): NOT_OURS,
    ("non_persistent", "internal_info"): NOT_OURS,
    ("brokers", "version"): "it is our version",
    ("brokers", "version_any"): "it is our version",
}

PLACES = {"firstMessageId", "lastMessageId"}
# Pulsar tells a backlog's age (and whose it is) only a minute later, when it checks the quotas.
VOLATILE = {"servlet", "timestamp", "oldestBacklogMessageAgeSeconds"}
NEWER_KEYS = {"topicCreationTimeStamp", "lastPublishTimeStamp"}  # Pulsar has them since 4.1.
OUR_KEYS = {"blockedReason", "oldestBacklogMessageSubscriptionName"}
TLS_KEYS = {"brokerUrlTls", "httpUrlTls"}  # The C++ client needs them to be there.


async def make(world, *requests):
    for method, path, body in requests:
        answer = await world.ask(method, f"/admin/v2/{path}", body)
        assert answer.status in (200, 204), (method, path, answer)


async def remote_cluster(world):
    await make(world, ("PUT", "clusters/remote", {"serviceUrl": "http://remote.example:8080"}))


async def namespace_of_gone(world):
    await make(world, ("PUT", "namespaces/gone/n1", None))


async def namespace_of_topics(world):
    await make(world, ("PUT", "namespaces/golden/topics", None))


async def third_topic(world):
    await make(world, ("PUT", "persistent/golden/topics/t3", None))


async def data(world):
    await world.publish(f"{NAMESPACE}/data", *range(1, 11), *range(101, 106), batches=[8])
    await connected(world, "data", "sub-shared", SubscriptionType.SHARED)


async def peeked(world):
    await make(world, ("PUT", "persistent/golden/topics/data/subscription/no-such-peek", None))


async def active_subscription(world):
    await connected(world, "data", "sub-act", SubscriptionType.EXCLUSIVE)


async def back_again(world):
    await make(world, ("PUT", "persistent/golden/topics/data/subscription/sub-act", None))


async def more_properties(world):
    topic = TopicName.parse(f"{NAMESPACE}/p3")
    changed = PartitionedTopicMetadata(2, {"a": "b", "z": "9"})
    await world.metadata.put(paths.partitioned_topic(topic), encode(changed.to_json()))


async def to_be_compacted(world):
    await world.publish(f"{NAMESPACE}/comp", *range(12))


async def compacted(world):
    compaction = (await world.topic(f"{NAMESPACE}/comp")).compaction
    await until(lambda: not compaction.running)


async def to_be_deleted(world):
    for name in ("del1", "del2", "del3"):
        await world.publish(f"{NAMESPACE}/{name}", 1)
    await make(world, ("PUT", "persistent/golden/topics/del3/subscription/backlog", "earliest"))
    topic = await world.topic(f"{NAMESPACE}/del1")
    await topic.attach_producer(SilentEnd(), 1, "p")
    await connected(world, "del2", "s", SubscriptionType.SHARED)
    await make(world, ("PUT", "persistent/golden/topics/p8/partitions", 2))
    partition = await world.topic(f"{NAMESPACE}/p8-partition-1")
    await partition.attach_producer(SilentEnd(), 1, "p")


async def disconnected(world):
    for name in ("del1", "del2"):
        topic = await world.topic(f"{NAMESPACE}/{name}")
        for producer in list(topic.producers.values()):
            producer.detach()
        for subscription in topic.subscriptions.values():
            subscription.disconnect_all()


async def tidied(world):
    await make(world, ("DELETE", "tenants/t7", None))


async def other_topic(world):
    await make(world, ("PUT", "namespaces/golden/ex", None))
    await world.publish("persistent://golden/ex/t", *range(10))
    await make(world, ("PUT", "persistent/golden/ex/t/subscription/s", "earliest"))


async def connected(world, local, subscription, kind):
    topic = await world.topic(f"{NAMESPACE}/{local}")
    request = SubscribeRequest(
        subscription=subscription,
        type=kind,
        consumer_id=1,
        consumer_name="c",
        initial_position=InitialPosition.EARLIEST,
    )
    await topic.subscribe(request, SilentEnd())


async def other_topic_from_its_start(world):
    await make(world, ("POST", "persistent/golden/ex/t/subscription/s/resetcursor/0", None))


async def other_topic_in_use(world):
    """Its consumer has one message to go, which is two seconds old."""
    topic = await world.topic("persistent://golden/ex/t")
    await world.publish("persistent://golden/ex/t", SystemClock().wall_ms() - 2000)
    await topic.create_subscription("conn", topic.last_position)
    await topic.subscribe(
        SubscribeRequest(
            subscription="conn", type=SubscriptionType.SHARED, consumer_id=1, consumer_name="c"
        ),
        SilentEnd(),
    )


async def limited_namespace(world):
    await make(
        world,
        ("PUT", "namespaces/golden/lim", None),
        ("PUT", "persistent/golden/lim/a", None),
        ("POST", "namespaces/golden/lim/maxTopicsPerNamespace", 2),
        ("POST", "namespaces/golden/lim/maxSubscriptionsPerTopic", 1),
    )


async def emptied_namespace(world):
    for name in ("a", "b"):
        await make(world, ("DELETE", f"persistent/golden/lim/{name}", None))


async def namespace_of_schemas(world):
    await make(world, ("PUT", "namespaces/golden/schema", None))


def strategy(word, *, auto_update=True):
    async def set_it(world):
        where = "namespaces/golden/schema"
        await make(
            world,
            ("PUT", f"{where}/schemaCompatibilityStrategy", word),
            ("POST", f"{where}/isAllowAutoUpdateSchema", auto_update),
        )

    return set_it


PASSING = TopicName.parse("non-persistent://golden/np/t1")


async def passing_topic(world):
    await make(world, ("PUT", "namespaces/golden/np", None))
    topic = await world.registry.create(PASSING)
    await topic.attach_producer(SilentEnd(), 9, "npp")
    request = SubscribeRequest(subscription="s1", type=SubscriptionType.SHARED, consumer_id=1)
    await topic.subscribe(request, SilentEnd())


async def passing_consumer_left(world):
    topic = world.registry.loaded[PASSING]
    subscription = topic.subscriptions["s1"]
    await topic.leave(subscription, subscription.consumers[0])


BEFORE = {
    ("tenants", "update"): remote_cluster,
    ("tenants", "delete_nonempty"): namespace_of_gone,
    ("topics", "create"): namespace_of_topics,
    ("topics", "create_unknown_ns"): third_topic,
    ("subscriptions", "create_s-latest"): data,
    ("subscriptions", "list_after_peek_unknown"): peeked,
    ("subscriptions", "delete_active"): active_subscription,
    ("subscriptions", "list_after"): back_again,
    ("stats", "partitioned_stats"): more_properties,
    ("lifecycle", "compaction_status_never"): to_be_compacted,
    ("lifecycle", "compaction_status_done"): compacted,
    ("lifecycle", "delete_with_backlog"): to_be_deleted,
    ("lifecycle", "delete_with_subscription"): disconnected,
    ("root", "accept_text"): tidied,
    ("subscriptions", "reset2_id3"): other_topic,
    ("subscriptions", "expire2_isExcluded"): other_topic_from_its_start,
    ("subscriptions", "expire_connected_small_backlog_3600"): other_topic_in_use,
    ("schemas", "get_none"): namespace_of_schemas,
    ("schemas", "always_incompatible"): strategy("ALWAYS_INCOMPATIBLE"),
    ("schemas", "always_compatible"): strategy("ALWAYS_COMPATIBLE"),
    ("schemas", "no_auto_update"): strategy("ALWAYS_COMPATIBLE", auto_update=False),
    ("limits", "max_topics_partitions"): limited_namespace,
    ("limits", "ns_delete_emptied"): emptied_namespace,
    ("non_persistent", "subscriptions"): passing_topic,
    ("non_persistent", "delete_sub_active"): passing_consumer_left,
}


def ledgers(world):
    """Recorded ledgers, and ours of the same topics."""
    found = {}
    for theirs, name in ((DATA_LEDGER, f"{NAMESPACE}/data"), (OTHER_LEDGER, "golden/ex/t")):
        topic = world.registry.loaded.get(TopicName.parse(name))
        if topic is not None and topic.ledger.entry_count:
            found[theirs] = topic.ledger.last_position.ledger_id
    return found


def translated(value, ours):
    return {k: our(k, v, ours) for k, v in value.items()} if isinstance(value, dict) else value


def our(key, value, ours):
    if key == "ledgerId":
        return ours.get(value, value)
    if key in PLACES:
        ledger, _, entry = value.partition(":")
        return f"{ours.get(int(ledger), ledger)}:{entry}"
    return translated(value, ours)


def steady(value):
    return (
        {k: v for k, v in value.items() if k not in VOLATILE} if isinstance(value, dict) else value
    )


def strays(theirs, ours, at=""):
    """Where our answer is not the recorded one. The order of lists is nobody's business."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys() - NEWER_KEYS - OUR_KEYS - TLS_KEYS):
            if key not in VOLATILE:
                yield from strays(theirs.get(key), ours.get(key), f"{at}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        if sorted(map(steady, theirs), key=repr) != sorted(map(steady, ours), key=repr):
            yield at, theirs, ours
    elif theirs != ours:
        yield at, theirs, ours


def said_without_a_reason(exchange):
    """An error that Pulsar leaves to its servlet container or its parser: a page, text, nothing.

    We say why in JSON, as for every other error; the status is Pulsar's.
    """
    body = exchange.get("body")
    return exchange["status"] >= 400 and not (isinstance(body, dict) and "reason" in body)


async def differences(world, exchange):
    known = ledgers(world)
    body = exchange.get("request_body")
    if body is not None and body.startswith("{") and body.endswith("}"):
        body = json.dumps(translated(json.loads(body), known)) if "ledgerId" in body else body
    answer = await world.ask(
        exchange["method"],
        exchange["path"],
        None if body is None else body.encode(),
        **exchange.get("request_headers", {}),
    )
    found = list(strays(exchange["status"], answer.status, "status"))
    if said_without_a_reason(exchange):
        return found if answer.reason else [*found, "no reason"]
    kind = answer.content_type.partition(";")[0] if answer.content_type else None
    found += strays(exchange.get("content_type"), kind, "type")
    theirs = translated(exchange.get("body"), known)
    ours = answer.text or None
    if isinstance(theirs, dict | list | int):
        ours = answer.json if ours else None
    return [*found, *strays(theirs, ours, "body")]


async def replay(world, exchanges, before, expected):
    """Ask what was asked; what is answered in another way must be expected, and the other way."""
    unexpected, gone = [], []
    for exchange in exchanges:
        key = exchange["group"], exchange["name"]
        if key in before:
            await before[key](world)
        found = await differences(world, exchange)
        if found and key not in expected:
            unexpected.append((*key, exchange["method"], exchange["path"], found))
        if not found and key in expected:
            gone.append(key)
    assert not unexpected, "\n" + "\n".join(map(str, unexpected))
    assert not gone, f"these are answered as recorded now: take them out of DIFFERENCES: {gone}"


async def test_an_administrator_is_answered_as_recorded():
    async with open_world() as world:
        await replay(world, EXCHANGES, BEFORE, DIFFERENCES)


def test_every_difference_and_every_preparation_is_for_an_exchange():
    names = {(exchange["group"], exchange["name"]) for exchange in EXCHANGES}
    assert DIFFERENCES.keys() | BEFORE.keys() <= names

"""Policies of topics when a cluster changes hands: as events in ``__change_events``.

A broker of Apache Pulsar sets them, ours goes on with them, theirs goes on with that.
"""

from functools import partial

import pulsar
import pytest
from support.admin import ask
from support.elsewhere import wait_until

from bench.pulsar_on_cluster import PulsarBroker
from magnetar.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NAMESPACE = "events/over"
RATE = {
    "dispatchThrottlingRateInMsg": 1000,
    "dispatchThrottlingRateInByte": 2_000_000,
    "ratePeriodInSecond": 2,
    "relativeToPublishRate": False,
}
POLICIES = {
    "retention": {"retentionTimeInMinutes": 60, "retentionSizeInMB": 100},
    "messageTTL": 77,
    "maxProducers": 1,
    "maxConsumers": 4,
    "maxSubscriptionsPerTopic": 9,
    "maxConsumersPerSubscription": 2,
    "maxMessageSize": 1000,
    "maxUnackedMessagesOnConsumer": 5,
    "maxUnackedMessagesOnSubscription": 6,
    "deduplicationEnabled": True,
    "deduplicationSnapshotInterval": 7,
    "compactionThreshold": 12345,
    "delayedDelivery": {"active": True, "tickTime": 2000, "maxDeliveryDelayInMillis": 100_000},
    "schemaCompatibilityStrategy": "BACKWARD",
    "schemaValidationEnforced": True,
    "dispatchRate": RATE,
    "subscriptionDispatchRate": RATE,
    "replicatorDispatchRate": RATE,
    "s/dispatchRate": {**RATE, "relativeToPublishRate": True},
    "publishRate": {"publishThrottlingRateInMsg": 1000, "publishThrottlingRateInByte": 2_000_000},
    "subscribeRate": {"subscribeThrottlingRatePerConsumer": 10, "ratePeriodInSecond": 30},
    "persistence": {
        "bookkeeperEnsemble": 2,
        "bookkeeperWriteQuorum": 2,
        "bookkeeperAckQuorum": 1,
        "managedLedgerMaxMarkDeleteRate": 0.5,
    },
    "inactiveTopicPolicies": {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 5555,
        "deleteWhileInactive": True,
    },
    "subscriptionTypesEnabled": ["Exclusive", "Shared"],
    "autoSubscriptionCreation": {"allowAutoSubscriptionCreation": True},
    "dispatcherPauseOnAckStatePersistent": True,
    "backlogQuota": {
        "destination_storage": {
            "limitSize": 10**6,
            "limitTime": -1,
            "policy": "producer_exception",
        },
        "message_age": {"limitSize": -1, "limitTime": 500, "policy": "consumer_backlog_eviction"},
    },
}
"""Policies that a topic may set itself, by their paths."""


def path_of(topic, name="", **query):
    asked = "&".join(f"{key}={value}" for key, value in query.items())
    return f"persistent/{NAMESPACE}/{topic}{name and '/'}{name}{asked and '?'}{asked}"


def change(broker, topic, policies, **query):
    """Set policies of a topic, remove those that are None, and wait until they are shown.

    Brokers of Pulsar answer before they show them.
    """
    for name, value in policies.items():
        if value is None:
            ask(broker, "DELETE", path_of(topic, name, **query))
        elif name == "messageTTL":
            ask(broker, "POST", path_of(topic, name, messageTTL=value, **query))
        elif name == "backlogQuota":
            for kind, quota in value.items():
                ask(broker, "POST", path_of(topic, name, backlogQuotaType=kind, **query), quota)
        else:
            method = "PUT" if name == "schemaCompatibilityStrategy" else "POST"
            ask(broker, method, path_of(topic, name, **query), value)
        shows(broker, topic, {name: value}, **query)


def shows(broker, topic, policies, **query):
    """A broker shows these policies of a topic, at once or a while later."""
    for name, value in policies.items():
        path = path_of(topic, "backlogQuotaMap" if name == "backlogQuota" else name, **query)
        met = partial(_same, value)
        wait_until(partial(ask, broker, "GET", path), f"{topic} {name} {value}", met=met)


def _same(value, shown):
    if isinstance(value, list):
        return sorted(shown or []) == sorted(value)
    if isinstance(value, dict):
        return shown is not None and all(_same(each, shown.get(key)) for key, each in value.items())
    return shown == value or (value is None and not shown)


def compact(broker):
    """Leave the newest event of each topic, and go on."""
    path = path_of("__change_events", "compaction")
    ask(broker, "PUT", path)
    wait_until(lambda: ask(broker, "GET", path)["status"] == "SUCCESS", "not compacted")


def refuses_a_second_producer(client, topic):
    """The policy maxProducers, of 1, is in force from the beginning."""
    producer = client.create_producer(f"persistent://{NAMESPACE}/{topic}", "first")
    with pytest.raises(pulsar.PulsarException, match=r"ProducerBusy|max producers"):
        client.create_producer(f"persistent://{NAMESPACE}/{topic}", "second")
    producer.close()


def test_policies_of_topics_are_carried_over_and_back(pulsar_cluster, tmp_path):
    with PulsarBroker(tmp_path / "theirs", pulsar_cluster) as theirs:
        cluster = ask(theirs, "GET", "clusters")[0]
        ask(theirs, "PUT", "tenants/events", {"adminRoles": [], "allowedClusters": [cluster]})
        ask(theirs, "PUT", f"namespaces/{NAMESPACE}", {"bundles": {"numBundles": 8}})
        for topic in ("set", "some", "gone"):
            ask(theirs, "PUT", path_of(topic))
        ask(theirs, "PUT", path_of("parted", "partitions"), 2)
        change(theirs, "set", POLICIES)
        change(theirs, "set", {"maxConsumers": 8}, isGlobal="true")
        change(theirs, "some", {"messageTTL": 99}, isGlobal="true")
        change(theirs, "some", {"maxProducers": 7, "maxConsumers": 8, "shadowTopics": None})
        compact(theirs)
        change(theirs, "parted", {"maxProducers": 1})
        change(theirs, "gone", {"maxProducers": 1})
        ask(theirs, "DELETE", path_of("gone"))
        ask(theirs, "PUT", path_of("gone"))
        wait_until(
            lambda: ask(theirs, "GET", path_of("gone", "maxProducers")),
            "gone",
            met=lambda it: not it,
        )
        theirs.stop()
    settings = {
        "metadataStoreUrl": f"zk:{pulsar_cluster.zookeeper.address}",
        "clusterName": cluster,
        "metadataStoreSessionTimeoutMillis": 4000,
    }
    with BrokerProcess(tmp_path / "ours", settings=settings) as ours:
        client = pulsar.Client(ours.service_url)
        refuses_a_second_producer(client, "set")
        refuses_a_second_producer(client, "parted-partition-1")
        shows(ours, "set", POLICIES)
        shows(ours, "set", POLICIES, applied="true")
        shows(ours, "set", {"maxConsumers": 8}, isGlobal="true")
        shows(ours, "some", {"messageTTL": 99}, applied="true")
        shows(ours, "some", {"messageTTL": 99}, isGlobal="true")
        shows(ours, "some", {"maxProducers": 7, "messageTTL": None})
        assert not ask(ours, "GET", path_of("gone", "maxProducers"))
        stats = ask(ours, "GET", path_of("set", "stats"))
        assert stats["deduplicationStatus"] == "Enabled"
        assert stats["backlogQuotaLimitSize"] == 10**6
        assert stats["backlogQuotaLimitTime"] == 500
        with pytest.raises(pulsar.PulsarException):
            client.subscribe(f"persistent://{NAMESPACE}/set", "s", pulsar.ConsumerType.KeyShared)
        client.close()
        ask(ours, "PUT", "namespaces/events/ours")
        ask(ours, "PUT", "persistent/events/ours/t")
        ask(ours, "POST", "persistent/events/ours/t/maxProducers", 1)
        compact(ours)
        change(ours, "gone", POLICIES)
        change(ours, "gone", {"maxConsumers": 9}, isGlobal="true")
        change(ours, "some", {"maxProducers": 1, "maxConsumers": None})
        ask(ours, "DELETE", path_of("parted", "partitions"))
        ask(ours, "PUT", path_of("parted", "partitions"), 2)
        assert ours.terminate() == 0
    with PulsarBroker(tmp_path / "again", pulsar_cluster) as theirs:
        client = pulsar.Client(theirs.service_url)
        refuses_a_second_producer(client, "gone")
        refuses_a_second_producer(client, "some")
        client.close()
        shows(theirs, "set", POLICIES)
        shows(theirs, "gone", POLICIES)
        shows(theirs, "gone", {"maxConsumers": 9}, isGlobal="true")
        shows(theirs, "some", {"messageTTL": 99}, isGlobal="true")
        shows(theirs, "some", {"maxProducers": 1, "maxConsumers": None, "messageTTL": None})
        assert not ask(theirs, "GET", path_of("parted", "maxProducers"))
        assert ask(theirs, "GET", "persistent/events/ours/t/maxProducers") == 1
        for namespace in (NAMESPACE, "events/ours"):
            versions = ask(theirs, "GET", f"schemas/{namespace}/__change_events/schemas")
            assert len(versions["getSchemaResponses"]) == 1  # Ours is the same.
        change(theirs, "some", {"maxProducers": 3})
        theirs.stop()
    with BrokerProcess(tmp_path / "last", settings=settings) as ours:
        shows(ours, "some", {"maxProducers": 3, "maxConsumers": None})
        ask(ours, "DELETE", "persistent/events/ours/t")
        ask(ours, "DELETE", "namespaces/events/ours")
        assert ours.terminate() == 0

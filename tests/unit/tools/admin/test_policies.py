"""Each policy: set, shown, removed."""

import pytest

RATE = {"dispatchThrottlingRateInMsg": 5, "ratePeriodInSecond": 1}
# The policy, the options that set it, and what of it is shown then.
BOTH = {
    "retention": ("-t 3h -s 10M", {"retentionTimeInMinutes": 180, "retentionSizeInMB": 10}),
    "dispatch-rate": ("-md 5 -bd -1 -dt 1", RATE),
    "subscription-dispatch-rate": ("-md 5", RATE),
    "replicator-dispatch-rate": ("-md 5", RATE),
    "subscribe-rate": ("-sr 5", {"subscribeThrottlingRatePerConsumer": 5}),
    "publish-rate": ("-m 5 -b 6", {"publishThrottlingRateInByte": 6}),
    "persistence": ("-e 1 -w 1 -a 1", {"bookkeeperEnsemble": 1}),
    "deduplication": ("--enable", True),
    "deduplication-snapshot-interval": ("-i 9", 9),
    "auto-subscription-creation": ("--enable", {"allowAutoSubscriptionCreation": True}),
    "delayed-delivery": ("--enable -t 10s", {"active": True, "tickTime": 10_000}),
    "inactive-topic-policies": (
        "-e -t 3h -m delete_when_no_subscriptions",
        {"maxInactiveDurationSeconds": 10_800, "deleteWhileInactive": True},
    ),
    "max-consumers-per-subscription": ("-c 9", 9),
    "compaction-threshold": ("-t 10M", 10 << 20),
    "subscription-types-enabled": ("-t Shared,Exclusive", {"Exclusive", "Shared"}),
}
NAMESPACE = {
    "message-ttl": ("-ttl 3h", 10_800),
    "subscription-expiration-time": ("-t 5", 5),
    "auto-topic-creation": (
        "--enable -t partitioned -n 2",
        {"topicType": "partitioned", "defaultNumPartitions": 2},
    ),
    "max-producers-per-topic": ("-p 9", 9),
    "max-consumers-per-topic": ("-c 9", 9),
    "max-unacked-messages-per-subscription": ("-c 9", 9),
    "max-unacked-messages-per-consumer": ("-c 9", 9),
    "max-subscriptions-per-topic": ("-m 9", 9),
    "max-topics-per-namespace": ("-t 9", 9),
}
TOPIC = {
    "message-ttl": ("-t 3h", 10_800),
    "max-producers": ("-p 9", 9),
    "max-consumers": ("-c 9", 9),
    "max-unacked-messages-per-subscription": ("-m 9", 9),
    "max-unacked-messages-per-consumer": ("-m 9", 9),
    "max-subscriptions-per-topic": ("-s 9", 9),
    "max-message-size": ("-m 1000", 1000),
    "schema-compatibility-strategy": ("-s FULL", "FULL"),
}
SWITCHES = {
    "encryption-required": ("--enable", True),
    "subscription-auth-mode": ("-m Prefix", "Prefix"),
    "schema-compatibility-strategy": ("-c FULL", "FULL"),
    "is-allow-auto-update-schema": ("--disable", False),
    "schema-validation-enforce": ("--enable", True),
    "clusters": ("-c standalone", ["standalone"]),
}
T = "persistent://policies/all/t"


@pytest.fixture(scope="module", autouse=True)
def _topic(pulsar_admin):
    pulsar_admin("tenants create policies")
    pulsar_admin("namespaces create policies/all")
    pulsar_admin(f"topics create {T}")


def shown(found, wanted):
    if isinstance(wanted, dict):
        return {key: found.get(key) for key in wanted}
    return set(found) if isinstance(wanted, set) else found


@pytest.mark.parametrize(
    ("group", "name", "subject"),
    [
        *(("namespaces", name, "policies/all") for name in {**BOTH, **NAMESPACE}),
        *(("topicPolicies", name, T) for name in {**BOTH, **TOPIC}),
    ],
)
def test_a_policy_is_set_shown_and_removed(value, pulsar_admin, group, name, subject):
    table = {**BOTH, **(NAMESPACE if group == "namespaces" else TOPIC)}
    options, wanted = table[name]
    before = value(f"{group} get-{name} {subject}")
    pulsar_admin(f"{group} set-{name} {subject} {options}")
    assert shown(value(f"{group} get-{name} {subject}"), wanted) == wanted
    pulsar_admin(f"{group} remove-{name} {subject}")
    assert value(f"{group} get-{name} {subject}") == before


@pytest.mark.parametrize("name", SWITCHES)
def test_what_namespaces_only_set(value, pulsar_admin, name):
    options, wanted = SWITCHES[name]
    pulsar_admin(f"namespaces set-{name} policies/all {options}")
    assert value(f"namespaces get-{name} policies/all") == wanted


@pytest.mark.parametrize(("group", "subject"), [("namespaces", "policies/all"), ("topics", T)])
def test_a_backlog_quota(value, pulsar_admin, group, subject):
    pulsar_admin(f"{group} set-backlog-quota {subject} -l 10M -p producer_exception")
    pulsar_admin(f"{group} set-backlog-quota {subject} -lt 3h -p producer_exception -t message_age")
    quotas = value(f"{group} get-backlog-quotas {subject}")
    assert quotas["destination_storage"]["limitSize"] == 10 << 20
    assert quotas["message_age"]["limitTime"] == 10_800
    pulsar_admin(f"{group} remove-backlog-quota {subject}")
    pulsar_admin(f"{group} remove-backlog-quota {subject} -t message_age")
    assert value(f"{group} get-backlog-quotas {subject}") == {}


def test_offloading(value, pulsar_admin):
    for group, subject in (("namespaces", "policies/all"), ("topicPolicies", T)):
        pulsar_admin(f"{group} set-offload-policies {subject} -d aws-s3 -r eu -b bucket")
        found = value(f"{group} get-offload-policies {subject}")
        assert found["managedLedgerOffloadBucket"] == "bucket"
        pulsar_admin(f"{group} remove-offload-policies {subject}")
    pulsar_admin("namespaces set-offload-threshold policies/all -s 10M -t 3h")
    assert value("namespaces get-offload-threshold policies/all") == {
        "offloadThresholdInBytes": 10 << 20,
        "offloadThresholdInSeconds": 10_800,
    }
    pulsar_admin("namespaces set-offload-threshold policies/all -s 20M")  # Time is off then.
    assert value("namespaces get-offload-threshold policies/all") == {
        "offloadThresholdInBytes": 20 << 20,
        "offloadThresholdInSeconds": -1,
    }

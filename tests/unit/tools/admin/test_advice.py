"""What a refusal says besides: the verb, the option or the topic that was meant."""

import pytest

from magnetar.client.blocking import Client
from magnetar.errors import Conflict, NotFound, Refused


@pytest.fixture(scope="module", autouse=True)
def _partitioned(pulsar_admin):
    pulsar_admin("topics create-partitioned-topic advised -p 2")
    pulsar_admin("topics create-subscription advised -s s")
    pulsar_admin("topics create plain")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("topics stats advised", "magnetar admin topics partitioned-stats persistent://pub"),
        ("topics stats-internal advised", "magnetar admin topics partitioned-stats-internal per"),
        (
            "topics last-message-id advised",
            "of its partitions, persistent://.*/advised-partition-0",
        ),
        ("topics partitioned-stats plain", "; `magnetar admin topics stats` is for a"),
        ("topics stats absent", r"stats\)$"),
        ("topics stats advised-partition-9", r"stats\)$"),
        ("topics delete absent", r"^Topic persistent://public/default/absent not found.*absent\)$"),
        ("topics delete absent --force", r"^Topic persistent://public/default/absent not found"),
    ],
)
def test_a_partitioned_topic_is_told_from_one_that_is_not_there(pulsar_admin, line, says):
    with pytest.raises(NotFound, match=says):
        pulsar_admin(line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("topics skip advised -s s -n 1", "; name one of its partitions, persistent://"),
        ("topics terminate advised", "; magnetar admin topics partitioned-terminate persistent://"),
    ],
)
def test_what_is_for_single_topics_says_what_is_for_partitions(pulsar_admin, line, says):
    with pytest.raises(Refused, match=says):
        pulsar_admin(line)


def test_a_schema_that_is_not_there_is_not_taken_for_a_topic(pulsar_admin):
    with pytest.raises(NotFound, match=r"^Schema not found \([^)]*\)$"):
        pulsar_admin("schemas get advised --version 9")


def test_a_refused_deletion_names_force(broker, pulsar_admin):
    pulsar_admin("tenants create kept")
    pulsar_admin("namespaces create kept/full")
    topic = "persistent://kept/full/used"
    with Client(broker.service_url) as client, client.subscribe(topic, "s"):
        for line, kind in (
            (f"topics delete {topic}", Refused),
            (f"topics unsubscribe {topic} -s s", Refused),
            ("namespaces delete kept/full", Conflict),
            ("tenants delete kept", Conflict),
        ):
            with pytest.raises(kind, match="; --force deletes it all the same: "):
                pulsar_admin(line)
        pulsar_admin(f"topics unsubscribe {topic} -s s --force")
    pulsar_admin(f"topics delete {topic}")
    pulsar_admin("namespaces delete kept/full")


def test_other_refusals_do_not(pulsar_admin):
    with pytest.raises(Conflict, match=r"delete-partitioned-topic\. \(409[^)]*\)$"):
        pulsar_admin("topics delete advised")

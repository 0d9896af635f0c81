"""Spark reads from two brokers: each partition from its owner, also while bundles move."""

import pytest
from support.apache_pulsar import ours_alone
from support.broker_pair import BrokerPair

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.names import NamespaceName

pytestmark = ours_alone("two brokers share stores in memory")
NAMESPACE = NamespaceName("public", "default")
PARTITIONS = 8
EACH = 2_000
TOPIC = "persistent://public/default/divided"


@pytest.fixture(scope="module")
def pair():
    with BrokerPair({}, 5) as running:
        with running.for_a_test(unmoved=True):
            admin = AdminApi(running.web_url)
            path = "/admin/v2/persistent/public/default/divided/partitions"
            admin.send("PUT", path, PARTITIONS)
            with blocking.Client(running.service_url) as client:
                for index in range(PARTITIONS):
                    with client.create_producer(f"{TOPIC}-partition-{index}") as producer:
                        numbers = range(EACH)
                        producer.send_many(OutgoingMessage(b"%d" % one) for one in numbers)
        yield running


def counted(rows):
    """The numbers of each partition, in the order that they were read."""
    found = {}
    for row in rows:
        found.setdefault(row.partition, []).append(int(bytes(row.value)))
    return found


WHOLE = {index: list(range(EACH)) for index in range(PARTITIONS)}


def frame(spark, pair, **options):
    given = {"service.url": pair.service_url, "topic": TOPIC, "startingOffsets": "earliest"}
    return spark.read.format("pulsar").options(**given, **options).load()


def test_each_partition_is_read_from_its_owner(spark, pair):
    registries = [each.broker.registry for each in pair.brokers]
    with pair.for_a_test(unmoved=True):
        pair.divide(NAMESPACE)
        assert counted(frame(spark, pair).collect()) == WHOLE
        mine, others = (set(map(str, each.loaded)) for each in registries)
        assert mine
        assert others
        assert not mine & others
        assert mine | others >= {f"{TOPIC}-partition-{index}" for index in range(PARTITIONS)}


def test_a_topic_that_moves_while_it_is_read_is_followed(spark, pair):
    moves = pair._pair.moves
    with pair.for_a_test(unmoved=False):
        while pair._pair.moves < moves + 6:
            slow = frame(spark, pair, rowsPerBatch="100")
            assert counted(slow.collect()) == WHOLE


def test_a_stream_follows_them_too(spark, pair):
    with pair.for_a_test(unmoved=False):
        given = {"service.url": pair.service_url, "topic": TOPIC, "startingOffsets": "earliest"}
        read = (
            spark.readStream.format("pulsar").options(**given, maxMessagesPerTrigger="4000").load()
        )
        query = read.writeStream.format("memory").queryName("moved").start()
        try:
            query.processAllAvailable()
            rows = spark.table("moved").collect()
        finally:
            query.stop()
        assert {index: sorted(each) for index, each in counted(rows).items()} == WHOLE

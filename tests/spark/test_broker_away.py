"""A broker that is away for longer than ``timeoutSeconds``: a query fails, or waits for it."""

import pytest
from pyspark.errors import StreamingQueryException
from support.apache_pulsar import ours_alone

from magnetar.client import blocking
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port

TOPIC = "persistent://public/default/away"

pytestmark = ours_alone("it is stopped and started again")


@pytest.fixture
def broker(tmp_path):
    settings = {"brokerServicePort": free_port()}
    return lambda: BrokerThread(tmp_path / "data", settings=settings)


def send(service_url, *payloads):
    with blocking.Client(service_url) as client, client.create_producer(TOPIC) as producer:
        producer.send_many(payloads)


@pytest.mark.parametrize("limit", [{}, {"maxMessagesPerTrigger": "1"}])
def test_a_query_waits_for_a_broker_if_it_is_to(spark, broker, limit):
    def start(table, service_url, **options):
        given = {"service.url": service_url, "topic": TOPIC, "startingOffsets": "earliest"}
        reader = spark.readStream.format("pulsar").options(**given, timeoutSeconds="1")
        frame = reader.options(**options, **limit).load()
        query = frame.writeStream.format("memory").queryName(table).start()
        query.processAllAvailable()
        return query

    with broker() as running:
        send(running.service_url, b"1", b"2")
        waits = start("waits", running.service_url, retryForever="true")
        fails = start("fails", running.service_url)
    try:
        with pytest.raises(StreamingQueryException) as error:  # After a second, or two.
            fails.awaitTermination(60)
        first_line = str(error.value).splitlines()[0]
        assert running.service_url.partition("://")[2] in first_line
        assert "Traceback" not in str(error.value)
        assert waits.isActive
        with broker() as again:
            send(again.service_url, b"3", b"4")
            waits.processAllAvailable()
            values = sorted(bytes(row.value) for row in spark.table("waits").collect())
        assert values == [b"1", b"2", b"3", b"4"]
    finally:
        waits.stop()
        fails.stop()

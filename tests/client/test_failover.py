"""A client of several clusters, of which one is there."""

from magnetar import AutoClusterFailover, Client


async def test_the_cluster_that_answers_is_used(broker, topic, unused_tcp_port):
    clusters = AutoClusterFailover(
        f"pulsar://127.0.0.1:{unused_tcp_port}",
        [broker.service_url],
        failover_delay_s=0,
        check_interval_s=0.1,
    )
    async with Client(clusters, backoff_first_s=0.01) as client:
        consumer = await client.subscribe(topic, "s")
        await (await client.create_producer(topic)).send(b"over there")
        assert (await consumer.receive(20)).data == b"over there"

"""All metrics are in ``golden/metrics``."""

from contextlib import asynccontextmanager

import aiohttp
from support.clock import ManualClock

from magnetar import Client
from magnetar.broker.admin.exposition import ROWS_TOGETHER
from magnetar.testing.local_broker import LocalBroker


@asynccontextmanager
async def scraping(**settings):
    """Ask a broker with a topic and a producer for its metrics."""
    clock = ManualClock()
    async with (
        LocalBroker(clock=clock, settings=settings) as broker,
        Client(broker.service_url) as client,
        aiohttp.ClientSession() as http,
    ):

        async def scrape():
            async with http.get(f"{broker.web_url}/metrics/") as answer:
                assert answer.status == 200
                return await answer.text()

        yield client, scrape, clock


async def test_metrics_of_topics_may_be_sums_of_namespaces():
    async with scraping(exposeTopicLevelMetricsInPrometheus=False) as (client, scrape, _):
        for number in range(ROWS_TOGETHER + 2):
            await client.create_producer(f"topic-{number}")
        text = await scrape()
    shown = f'{{cluster="standalone",namespace="public/default"}} {ROWS_TOGETHER + 2}\n'
    assert f"pulsar_producers_count{shown}" in text
    assert "topic=" not in text.replace("system_topic=", "")


async def test_metrics_of_very_many_topics_are_sums_of_namespaces():
    async with scraping(topicLevelMetricsTopicsMax=2) as (client, scrape, _):
        for name in ("a", "b"):
            await client.create_producer(name)
        assert 'topic="persistent://public/default/b"' in await scrape()
        await client.create_producer("c")
        text = await scrape()
    assert 'pulsar_producers_count{cluster="standalone",namespace="public/default"} 3' in text
    assert "topic=" not in text.replace("system_topic=", "")


async def test_partitions_may_have_a_label():
    async with scraping(splitTopicAndPartitionLabelInPrometheus=True) as (client, scrape, _):
        await client.create_producer("a")
        text = await scrape()
    assert 'topic="persistent://public/default/a",partition="-1"}' in text


async def test_metrics_of_managed_ledgers_may_be_left_out():
    async with scraping(exposeManagedLedgerMetricsInPrometheus=False) as (_, scrape, _):
        assert "pulsar_ml_AddEntry" not in await scrape()


async def test_publishers_may_be_left_out_of_stats():
    for shown in (True, False):
        async with (
            LocalBroker(settings={"exposePublisherStats": shown}) as broker,
            Client(broker.service_url) as client,
            aiohttp.ClientSession() as http,
        ):
            await client.create_producer("a")
            url = f"{broker.web_url}/admin/v2/persistent/public/default/a/stats"
            async with http.get(url) as answer:
                assert bool((await answer.json())["publishers"]) is shown


async def test_an_answer_may_be_told_again():
    async with scraping(metricsBufferResponse=True) as (client, scrape, clock):
        before = await scrape()
        await client.create_producer("a")
        assert await scrape() == before
        clock.move(60)
        assert "pulsar_producers_count" in await scrape()


async def test_a_hostile_name_breaks_nothing():
    async with scraping() as (client, scrape, _):
        await client.create_producer('persistent://public/default/a"} 1')
        assert r'topic="persistent://public/default/a\"} 1"}' in await scrape()

"""The snippets for Spark in the documents: their queries read what is sent, and print it.

They run in the session of these tests, since another one takes ten seconds to start. A query that
is left running is given messages, and then stopped.
"""

import re

import pytest
from documents.snippets import pages, snippets
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from magnetar.client.outgoing_message import OutgoingMessage

SNIPPETS = [
    snippet
    for page in pages()
    for snippet in snippets(page)
    if snippet.needs_spark and not snippet.file
]
TOPIC = re.compile(r'\btopic"?\s*[,=]\s*"([^"]+)"')
CHECKPOINT = re.compile(r'(\bcheckpointLocation"?\s*[,=]\s*)"[^"]+"')
WAIT_S = 30
ORDERS = [OutgoingMessage(b"x" * 2000, key=f"customer-{number % 2}") for number in range(10)]


@pytest.fixture
def here(broker, tmp_path):
    """A snippet's text, with the broker and a folder of this test."""

    def here(snippet):
        text = snippet.text.replace("pulsar://localhost:6650", broker.service_url)
        text = text.replace("http://localhost:8080", broker.web_url)
        return CHECKPOINT.sub(rf'\1"{tmp_path}/checkpoint"', text)

    return here


@pytest.fixture
def queries(monkeypatch):
    """Those that a snippet starts. The session outlives it, and it waits for none without end."""
    started = []
    start, wait = DataStreamWriter.start, StreamingQuery.awaitTermination

    def note(self, *arguments, **options):
        started.append(start(self, *arguments, **options))
        return started[-1]

    monkeypatch.setattr(DataStreamWriter, "start", note)
    monkeypatch.setattr(StreamingQuery, "awaitTermination", lambda self, *_: wait(self, WAIT_S))
    monkeypatch.setattr(SparkSession, "stop", lambda _self: None)
    yield started
    for query in started:
        query.stop()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.place)
def test_a_snippet_reads_what_is_sent(here, queries, client, spark_log, snippet):
    text = here(snippet)
    topics = dict.fromkeys(TOPIC.findall(text))
    assert topics, "a snippet for Spark names a topic"
    before = spark_log.stat().st_size
    send_to(client, topics)
    exec(compile(text, snippet.place, "exec"), {"__name__": "__main__"})
    left_running = [query for query in queries if query.isActive]
    for query in left_running:
        query.processAllAvailable()  # From here on it reads what comes.
    send_to(client, topics)
    for query in left_running:
        query.processAllAvailable()
    for query in queries:
        assert query.exception() is None
        if (query.name or "").startswith("function "):
            continue  # What a function processes does not go through Spark.
        assert sum(one["numInputRows"] for one in query.recentProgress) >= len(ORDERS)
    if 'format("console")' in text:
        printed = spark_log.read_text()[before:]
        assert "Batch: 0" in printed
        assert "customer-1" in printed or "63 75 73 74 6F" in printed  # Bytes are shown as such.


def send_to(client, topics):
    for topic in topics:
        with client.create_producer(topic) as producer:
            producer.send_many(ORDERS)

"""Messages in chunks, of several producers: each is read once, whole, wherever it lies."""

from support.chunks import publish

MINUTE_MS = 60_000


def copied(client, stream):
    with client.create_reader(stream.copy) as reader:
        found = []
        while reader.has_message_available():
            found += [message.data.decode() for message in reader.receive_many(1000, 10.0)]
        return found


def test_a_micro_batch_may_end_between_the_chunks_of_a_message(broker, client, stream, topic):
    for words in ("x a0/3 b0/2", "a1/3 y c0/2", "b1/2 z c1/2", "a2/3"):
        publish(broker.service_url, topic, words.split())
        stream.run()
    assert copied(client, stream) == ["x", "y", "b0b1", "z", "c0c1", "a0a1a2"]


def test_a_limit_counts_messages_in_chunks_as_one_each(broker, client, stream, topic):
    publish(broker.service_url, topic, ["a0/3", "x", "b0/2", "a1/3", "b1/2", "y", "a2/3", "z"])
    progress = stream.run(maxMessagesPerTrigger="2")
    assert [one["numInputRows"] for one in progress] == [2, 2, 1]
    assert copied(client, stream) == ["x", "b0b1", "y", "a0a1a2", "z"]


def test_a_message_may_begin_in_one_piece_and_end_in_another(spark, broker, topic):
    words = ["a0/4", "b0/3", "x", "a1/4", "b1/3", "y", "a2/4", "c0/2", "z", "b2/3", "a3/4", "c1/2"]
    for index, word in enumerate(words):
        publish(broker.service_url, topic, [word], publish_time_ms=(index + 1) * MINUTE_MS)
    reader = spark.read.format("pulsar").option("service.url", broker.service_url)
    frame = reader.option("topic", topic).option("minPartitions", "6").load()
    assert frame.rdd.getNumPartitions() == 6
    found = sorted(bytes(row.value).decode() for row in frame.collect())
    assert found == ["a0a1a2a3", "b0b1b2", "c0c1", "x", "y", "z"]

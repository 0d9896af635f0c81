"""One folder is served by one process, then by more, then by fewer: all of it is there."""

from processes.conftest import admin_request, client_of, read_all

TOPICS = [f"persistent://public/default/t-{number}" for number in range(12)]


def publish(broker, what):
    client = client_of(broker.service_url)
    for topic in TOPICS:
        client.create_producer(topic).send(what)
    client.close()


def test_a_folder_is_served_by_any_number_of_processes(start):
    expected = []
    for count in (1, 3, 2, 1, 2):
        broker = start(count)
        expected.append(b"of %d, %d" % (count, len(expected)))
        publish(broker, expected[-1])
        for topic in TOPICS:
            assert read_all(broker.service_url, topic) == expected
        assert broker.terminate() == 0


def test_cursors_move_along(start):
    for count in (2, 1, 3):
        broker = start(count)
        client = client_of(broker.service_url)
        for topic in TOPICS[:4]:
            consumer = client.subscribe(topic, "s")
            client.create_producer(topic).send(b"%d" % count)
            message = consumer.receive(30_000)
            assert message.data() == b"%d" % count
            consumer.acknowledge(message)
        client.close()
        broker.terminate()


def test_logs_that_hold_nothing_any_more_are_removed(start, tmp_path):
    broker = start(3)
    publish(broker, b"x")
    broker.terminate()
    assert (tmp_path / "data" / "ledgers-2").is_dir()
    broker = start(1)
    for topic in TOPICS:
        admin_request(broker, "DELETE", f"admin/v2/{topic.replace('://', '/')}?force=true")
    broker.terminate()
    start(1)
    assert not list((tmp_path / "data").glob("ledgers-*"))

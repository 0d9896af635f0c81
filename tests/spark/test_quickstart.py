"""The main job on a small part of the year, as a user runs it; and with something wrong in it.

The second needs no program and no Spark of its own: it takes the one that all tests here share.
"""

import contextlib
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import quickstart.run
from click.testing import CliRunner
from quickstart import flights
from quickstart.command import quickstart as command
from quickstart.topics import QuickstartTopics, create_partitioned_topic
from support.flights import first_flights

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.spark.session import activate

EXAMPLE = str(Path(flights.__file__).parent)


@pytest.mark.timeout(300)  # It starts a broker and a Spark of its own.
@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")
def test_it_adds_up_on_a_terminal_of_80_by_24_where_nothing_is_cut_off(tmp_path):
    report = tmp_path / "report.json"
    code, output = on_a_terminal(24, 80, "--flights", "3000", "--report", str(report))
    assert code == 0, output
    found = json.loads(report.read_text())
    assert found["adds_up"] is True
    for name in ("published", "read_by_spark", "read_by_spark_for_cancelled", "accounted_for"):
        assert found[name] == 3000
    assert (found["lost"], found["duplicated"], found["windows_differing"]) == (0, 0, 0)
    assert found["stages"]["Consume results"]["seconds"] < found["seconds"] / 2
    assert "published                      3,000" in output
    assert "Departures from New York" in output
    assert "…" not in output
    assert "..." not in output
    assert max(map(len, output.splitlines())) <= 80


def on_a_terminal(rows, columns, *arguments):
    """Exit code and output of a run on a pseudo-terminal, without its colours and movements."""
    import termios  # noqa: PLC0415 - absent on Windows

    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))
    command = [sys.executable, EXAMPLE, *arguments]
    environment = {**os.environ, "TERM": "xterm-256color"}
    shown = b""
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        try:
            with contextlib.suppress(OSError):  # How a terminal says that nobody writes any more.
                while part := os.read(ours, 1 << 16):
                    shown += part
        except BaseException:  # Too long: it would wait for somebody to read, and we for its end.
            process.kill()
            raise
        finally:
            os.close(ours)
    return process.returncode, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


@pytest.fixture
def polluted(broker, client):
    """A broker where somebody else wrote to the topics before the quickstart did."""

    def polluted(prefix, *, flights=(), results=()):
        topics = QuickstartTopics.named(prefix)
        create_partitioned_topic(broker.web_url, topics.flights, 2)
        for topic, messages in ((topics.flights, flights), (topics.results, results)):
            if messages:
                with client.create_producer(str(topic)) as producer:
                    producer.send_many(messages)
        arguments = ("--prefix", prefix, "--service-url", broker.service_url)
        return *arguments, "--web-url", broker.web_url, "--partitions", "2"

    return polluted


@pytest.fixture
def in_our_spark(spark, monkeypatch):
    """The quickstart's Spark is ours, and outlives it."""

    def session(*_, **__):
        activate(spark)  # In the quickstart's thread.
        return spark

    monkeypatch.setattr(quickstart.run, "session", session)
    monkeypatch.setattr(quickstart.run, "shut_down", lambda _: None)
    level = logging.getLogger("py4j").level
    yield
    logging.getLogger("py4j").setLevel(level)


@pytest.mark.usefixtures("in_our_spark")
def test_a_flight_that_is_there_twice_and_a_result_that_is_wrong_do_not_add_up(tmp_path, polluted):
    some = first_flights()[:1]
    message = OutgoingMessage(
        flights.content(some[0]),
        key=some[0].carrier,
        event_time_ms=flights.event_times_ms(some)[0],
    )
    wrong = {"carrier": "UA", "day": "2012-12-31", "flights": 0, "flight_ids": []}
    results = [OutgoingMessage(json.dumps(wrong).encode())]
    arguments = polluted("polluted", flights=[message], results=results)
    written = tmp_path / "report.json"
    done = CliRunner().invoke(command, ["--flights", "1000", "--report", str(written), *arguments])
    assert done.exit_code == 1, done.output
    report = json.loads(written.read_text())
    assert report["adds_up"] is False
    assert (report["lost"], report["duplicated"]) == (0, 1)
    assert report["read_by_spark"] == 1001
    assert report["windows_differing"] == 2
    assert f"flight counted more than once: {some[0].flight_id}" in done.output
    assert "UA on 2012-12-31: a result for a day without flights" in done.output

"""The main job on a small part of the year, as a user runs it; and with something wrong in it."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from quickstart import flights
from quickstart.topics import QuickstartTopics, create_partitioned_topic
from support.flights import first_flights

from magnetar.client.outgoing_message import OutgoingMessage

EXAMPLE = str(Path(flights.__file__).parent)
TIMEOUT_S = 280

pytestmark = pytest.mark.timeout(300)  # Each starts a broker and a Spark of its own.


def quickstart(tmp_path, *arguments):
    """Exit code, output and report of a run on 3,000 flights."""
    report = tmp_path / "report.json"
    command = [sys.executable, EXAMPLE, "--flights", "3000"]
    done = subprocess.run(
        [*command, "--report", str(report), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    written = json.loads(report.read_text()) if report.is_file() else None
    return done.returncode, done.stdout + done.stderr, written


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
    code, output, report = quickstart(tmp_path, *arguments)
    assert code == 1, output
    assert report["adds_up"] is False
    assert (report["lost"], report["duplicated"]) == (0, 1)
    assert report["read_by_spark"] == 3001
    assert report["windows_differing"] == 2
    assert f"flight counted more than once: {some[0].flight_id}" in output
    assert "UA on 2012-12-31: a result for a day without flights" in output

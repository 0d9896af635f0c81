"""perf produce, consume and read, on a real broker."""

import re

import pytest
from click.testing import CliRunner
from support.admin import ask

from magnetar.errors import TopicNotFound
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.cli import magnetar
from magnetar.tools.perf.running import names_of


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running:
        yield running


@pytest.fixture
def run(broker):
    def called(*words):
        words = ("perf", *words, "--url", broker.service_url)
        return CliRunner().invoke(magnetar, words, catch_exceptions=False).output.splitlines()

    return called


def test_what_was_sent_comes_and_is_counted(run, broker, tmp_path):
    log = tmp_path / "latencies.hlog"
    lines = run(
        *("produce", "p", "-r", "0", "-t", "2", "-n", "2", "-c", "2", "-m", "500", "-s", "10"),
        *("-i", "0.02", "-w", "0", "-k", "autoIncrement", "--histogram-file", str(log)),
    )
    assert "500 records sent" in lines[-2]
    assert re.search(r"Aggregated latency stats --- Latency: mean: +\d", lines[-1])
    assert all(line.startswith("Throughput produced:") for line in lines[:-2])
    assert log.read_text().startswith("#[Histogram log format version")
    counts = [
        ask(broker, "GET", f"persistent/public/default/p-{index}/stats")["msgInCounter"]
        for index in range(2)
    ]
    assert sum(counts) == 500
    lines = run(
        *("consume", "p", "-t", "2", "-ns", "2", "-n", "2", "-st", "Shared", "-sp", "Earliest"),
        *("-m", "1000", "-i", "5"),
    )
    assert "1000 records received" in lines[-2]
    lines = run("read", "p", "-t", "2", "-m", "500")
    assert "500 records received" in lines[-2]


def test_time_ends_it_and_no_more_is_sent_than_is_due(run):
    *shown, sent, _ = run("produce", "rate", "-r", "200", "-time", "0.2", "-i", "0.05")
    [(count, rate)] = re.findall(r"--- (\d+) records sent --- +([\d.]+) msg/s", sent)
    elapsed_s = int(count) / float(rate)  # A busy machine may need longer, and send less.
    assert elapsed_s >= 0.199
    assert int(count) <= 200 * elapsed_s + 1.1
    assert shown


def test_payloads_come_from_a_file(run, broker, tmp_path):
    (tmp_path / "payloads").write_text("one\ntwo\n")
    run("produce", "f", "-r", "0", "-m", "4", "-f", str(tmp_path / "payloads"), "-db", "-z", "LZ4")
    answer = ask(broker, "GET", "persistent/public/default/f/messages?from=earliest")
    assert [each["value"] for each in answer["messages"]] == ["one", "two", "one", "two"]


def test_a_broker_that_refuses_ends_it(run):
    with pytest.raises(TopicNotFound):
        run("produce", "nobody/nowhere/x")


def test_topics_are_named_as_by_pulsar_perf():
    assert names_of("p", 1) == ["p"]
    assert names_of("p", 2) == names_of("p-", 2) == ["p-0", "p-1"]

"""Ratios: more is better for us, whatever is measured."""

from pathlib import Path

from bench.broker import Broker
from bench.compare import Comparison, in_turn

OURS, THEIRS, BESIDE = Broker("ours"), Broker("theirs"), Broker("ours, none")


def comparison():
    made = Comparison([OURS, THEIRS, BESIDE], Path())
    made.rounds = {
        "publish": {
            "ours": [{"publish": 400.0}, {"publish": 800.0}, {"publish": 100.0}],
            "theirs": [{"publish": 200.0}],
        },
        "1/s": {
            "ours": [{"1/s: publish p99": 2.0, "1/s: generator late p99": 0.1}],
            "theirs": [{"1/s: publish p99": 5.0, "1/s: generator late p99": 0.2}],
            "ours, none": [{"1/s: publish p99": 1.0, "1/s: generator late p99": 0.3}],
        },
        "only ours": {"ours": [{"only ours": 1.0}]},
    }
    return made


def rows(text):
    return [[cell.strip() for cell in line.split("  ") if cell] for line in text.splitlines()[2:]]


def test_throughput_is_compared_by_medians_and_latency_the_other_way_round():
    assert rows(comparison().table(OURS, THEIRS)) == [
        ["publish", "400/s", "200/s", "2.00"],
        ["1/s: publish p99", "2.00 ms", "5.00 ms", "2.50"],
        ["1/s: generator late p99", "0.10 ms", "0.20 ms"],
    ]


def test_another_of_ours_stands_beside_where_it_was_measured():
    assert rows(comparison().table(OURS, THEIRS, BESIDE)) == [
        ["publish", "400/s", "200/s", "2.00"],
        ["1/s: publish p99", "2.00 ms", "5.00 ms", "2.50", "1.00 ms", "5.00"],
        ["1/s: generator late p99", "0.10 ms", "0.20 ms", "0.30 ms"],
    ]


def test_each_broker_comes_first_in_turn():
    brokers = [OURS, THEIRS, BESIDE]
    assert [in_turn(brokers, turn)[0] for turn in range(3)] == brokers
    assert all(set(in_turn(brokers, turn)) == set(brokers) for turn in range(3))

"""Targets: reached, not reached and not measured are told apart, and say what is in the way."""

import pytest

from bench.cases import Case
from bench.closed_loop import Throughput
from bench.limits import Limits, Sync
from bench.open_loop import Latency, Spread
from bench.ratios import targets as ratio_targets
from bench.report import Row
from bench.startup import StartUp
from bench.targets import Measured, Target, targets, targets_table

LIMITS = Limits(
    loopback_mb_per_s=2000,
    echo_p50_us=15,
    append_mb_per_s=1000,
    sync=Sync(p50_ms=0.2, p99_ms=1),
    big_sync_mb_per_s=200,
)


def row(name, durability, entries_per_s, **more):
    values = {
        "entries_per_s": entries_per_s,
        "messages_per_s": entries_per_s,
        "deliveries_per_s": 0.0,
        "mb_per_s": 100.0,
        "broker_cpu_us": 2.0,
        "kernel_us": 1.0,
        "broker_cpu_share": 0.95,
        "generator_cpu_share": 0.1,
        "memory_mb": 50.0,
        **more,
    }
    return Row(Case(name), durability, Throughput(**values))


def late(p50, p99, sync):
    spread = Spread(p50, p99, p99, p99, 8000)
    name = "1,000/s, 1 KiB"
    result = Latency(1000, spread, None, spread, 20, 0.1, 0.1, 50)
    return Row(Case(name, rate=1000), "fsync", result, sync=sync)


def found(*rows, start_up=None, more=()):
    measured = Measured(rows, LIMITS, start_up, more)
    return {each.name: each for each in targets(measured)}


def test_a_rate_is_reached_or_says_what_limits_it():
    by_name = found(row("publish 1 KiB", "none", 300_000), row("publish 1 KiB", "fsync", 299_000))
    assert by_name["publish 1 KiB, none"].verdict == "yes"
    short = by_name["publish 1 KiB, fsync"]
    assert short.verdict == "NO"
    assert short.limit.startswith("its core: 2.00 us an entry, 1.00 of it in the kernel")
    assert by_name["publish 100 B, none"].verdict == "not measured"


def test_a_broker_with_a_core_to_spare_was_not_held_up_by_it():
    idle = row("publish 1 KiB", "none", 1000, broker_cpu_share=0.5)
    assert found(idle)["publish 1 KiB, none"].limit.startswith("its core was 50 % busy")


def test_large_entries_are_held_to_half_of_loopback():
    for mb_per_s, verdict in ((1000, "yes"), (999, "NO")):
        by_name = found(row("publish 64 KiB", "none", 1, mb_per_s=mb_per_s))
        assert by_name["publish 64 KiB, none"].verdict == verdict


def test_syncing_is_held_to_the_rate_without():
    rows = [row("publish 100 B", "fsync", 79), row("publish 100 B", "none", 100)]
    assert found(*rows)["publish 100 B: fsync over none"].found == "0.79"
    assert found(*rows)["publish 100 B: fsync over none"].verdict == "NO"
    assert found(rows[0])["publish 100 B: fsync over none"].verdict == "not measured"


@pytest.mark.parametrize(("p50", "p99", "verdicts"), [(0.75, 6, "yes"), (0.76, 6.1, "NO")])
def test_latency_is_held_to_what_a_synced_write_took_just_before(p50, p99, verdicts):
    by_name = found(late(p50, p99, Sync(p50_ms=0.5, p99_ms=2)))
    for name in ("p50", "p99"):
        assert by_name[f"1,000/s, 1 KiB: publish {name}, fsync"].verdict == verdicts


def test_delivering_is_held_to_publishing():
    rows = [
        row("end to end 1 KiB", "fsync", 90, deliveries_per_s=81.0),
        row("publish 1 KiB", "fsync", 100),
    ]
    assert found(*rows)["end to end over publish, 1 KiB, fsync"].verdict == "yes"


def test_a_start_is_judged_by_its_better_run_and_memory_by_the_worst():
    start_up = StartUp([0.4, 3.0], [0.3, 2.0], [0.2], [70.0, 90.0])
    by_name = found(start_up=start_up)
    assert by_name["ready to serve"].verdict == "yes"
    assert by_name["memory while idle"].verdict == "NO"


def test_what_others_measured_stands_in_the_same_table():
    more = [Target("recovery", ">= 2 GB/s", "4 GB/s", reached=True, limit="the disk")]
    text = targets_table(targets(Measured([], LIMITS, None, more)))
    last = text.splitlines()[-1]
    assert last.split() == ["recovery", ">=", "2", "GB/s", "4", "GB/s", "yes"]


def test_ratios_of_latencies_go_the_other_way_round():
    medians = {
        "publish 100 B": {"ours": 800.0, "theirs": 100.0},
        "1,000/s, 1 KiB: publish p99": {"ours": 1.0, "theirs": 1.9},
    }
    wanted = ratio_targets(
        medians, ("ours", "theirs"), startup_ratio=10.0, memory_ratios=(20.0, 19.0)
    )
    verdicts = {each.name: each.verdict for each in wanted}
    assert verdicts["publish 100 B"] == "yes"
    assert verdicts["1,000/s, 1 KiB: publish p99"] == "NO"
    assert verdicts["publish 1 KiB"] == "not measured"
    assert verdicts["memory after the load: theirs over ours"] == "NO"
    assert verdicts["start-up: theirs over ours"] == "yes"

"""The report of a run: which raw limit is the near one, and that every case has its row."""

from bench.cases import Case
from bench.closed_loop import Throughput
from bench.limits import Limits, Sync
from bench.open_loop import Latency, Spread
from bench.report import Row, limit_of, tables

LIMITS = Limits(
    loopback_mb_per_s=2000,
    echo_p50_us=15,
    append_mb_per_s=1000,
    sync=Sync(p50_ms=0.2, p99_ms=1),
    big_sync_mb_per_s=200,
)


def reached(entries_per_s, mb_per_s, deliveries_per_s=0):
    return Throughput(
        entries_per_s, entries_per_s, deliveries_per_s, mb_per_s, 2.0, 1.0, 0.9, 0.1, 50
    )


def test_small_entries_are_near_to_what_receipts_alone_take():
    alone = reached(1_000_000, 100)
    found = limit_of(Case("small"), "none", reached(500_000, 50), alone, LIMITS)
    assert found == "50 % of 1.00 M/s receipts alone"


def test_large_entries_are_near_to_the_disk_when_they_are_synced():
    alone = reached(60_000, 4000)
    large = reached(2000, 150)
    assert limit_of(Case("large"), "fsync", large, alone, LIMITS).startswith("75 % of 200 MB/s")
    assert limit_of(Case("large"), "none", large, alone, LIMITS) == "15 % of 1,000 MB/s file append"


def test_deliveries_are_held_against_loopback():
    found = limit_of(Case("out", consumers=10), "none", reached(1e5, 100, 1e6), None, LIMITS)
    assert found == "50 % of loopback"


def test_every_case_has_a_row_in_the_table_of_its_kind():
    spread = Spread(1, 2, 3, 4, 100)
    late = Latency(100, spread, None, spread, 20, 0.1, 0.1, 50)
    closed, opened = tables(
        [
            Row(Case("one"), "fsync", reached(100, 1)),
            Row(Case("two", rate=10), "fsync", late, sync=Sync(p50_ms=0.3, p99_ms=4)),
        ],
        LIMITS,
    )
    assert closed.splitlines()[2].startswith("one")
    assert opened.splitlines()[2].startswith("two")
    assert opened.splitlines()[2].endswith("fdatasync 0.30 / 4.00")
    assert tables([], LIMITS) == []

"""What a soak is judged by: growth is told from noise, and each kind of trouble fails its check."""

import random
from dataclasses import replace

import pytest

from bench.soak.lives import plan
from bench.soak.tally import Tally
from bench.soak.verdict import End, checks, judged, slope_per_minute
from bench.soak.watch import Sample

FINE = End(
    backlog=0,
    drained_s=1.0,
    idle_fds_before=20,
    idle_fds_after=21,
    disk_mb=200.0,
    exit_codes=[0],
    tracebacks=0,
)


def life(number, seconds, rss=lambda _: 100.0, fds=lambda _: 30):
    return [
        Sample(1000.0 * number + age, number, age, rss(age), fds(age), 7, 1.0, 100.0, 0)
        for age in map(float, range(seconds))
    ]


def failed(samples, tally=None, end=FINE):
    return [check.name for check in checks(samples, tally or Tally(), end) if not check.fine]


def test_a_slope_is_found_through_noise():
    chance = random.Random(1)
    points = [(float(at), 3 * at / 60 + chance.uniform(-5, 5)) for at in range(600)]
    assert slope_per_minute(points) == pytest.approx(3, abs=0.3)
    assert slope_per_minute(points[:1]) == 0


def test_a_flat_run_that_ended_well_has_nothing_against_it():
    chance = random.Random(2)
    noisy = life(1, 300, rss=lambda _: 120 + chance.uniform(-15, 15))
    assert failed([*life(0, 90), *noisy, *life(2, 90)]) == []


def test_what_a_life_does_while_it_warms_up_is_no_leak():
    assert failed(life(0, 300, rss=lambda age: min(age, 90.0) * 2)) == []


def test_memory_that_grows_within_a_life_is_found():
    assert failed(life(0, 300, rss=lambda age: 100 + age / 20)) == [
        "memory flat within a life, MB a minute"
    ]


def test_memory_that_grows_from_life_to_life_is_found():
    grown = [sample for n in range(4) for sample in life(n, 200, rss=lambda _, n=n: 100 + 20 * n)]
    assert failed(grown) == ["memory flat across lives"]


def test_descriptors_that_grow_are_found():
    assert failed(life(0, 300, fds=lambda age: 30 + int(age / 20))) == [
        "file descriptors flat within a life"
    ]


def test_lives_too_short_are_not_judged_and_one_must_be_long_enough():
    assert judged(life(0, 100)) == {}
    assert failed(life(0, 100)) == ["a life long enough to judge"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"backlog": 1}, "backlog zero at the end"),
        ({"idle_fds_after": 30}, "file descriptors given back"),
        ({"disk_mb": 900.0}, "disk space given back"),
        ({"exit_codes": [0, 1]}, "clean stops"),
        ({"tracebacks": 1}, "no traceback in the log"),
    ],
)
def test_each_bad_end_fails_its_check(change, name):
    assert failed(life(0, 300), end=replace(FINE, **change)) == [name]


def test_messages_that_are_missing_or_unanswered_fail():
    tally = Tally()
    stream = tally.stream("t", (10,), {"s": True})
    stream.sent = 2
    stream.on_answer(0)
    assert failed(life(0, 300), tally) == [
        "every answered message was delivered",
        "every send was answered or refused",
    ]


def test_complaints_fail():
    tally = Tally()
    tally.complaints.add("out of order", "t/3")
    tally.complaints.add("admin", "500")
    assert failed(life(0, 300), tally) == [
        "in each producer's order where promised",
        "nothing else was wrong",
    ]


@pytest.mark.parametrize("seed", range(5))
def test_lives_take_the_time_there_is_and_one_of_them_is_long(seed):
    lives = plan(20, random.Random(seed))
    assert sum(each.seconds for each in lives) == pytest.approx(1200)
    assert max(each.seconds for each in lives) == pytest.approx(480)
    signals = [each.signal for each in lives[:-1]]
    assert 0 < signals.count("SIGTERM") < signals.count("SIGKILL")

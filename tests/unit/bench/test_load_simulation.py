"""Days of a small cluster, by the rules of placement and shedding: balanced, and calm."""

import pytest

from bench.load_simulation import draw, lines, minutes_between, simulate

DAYS, BROKERS, BUNDLES = 2, 10, 800


@pytest.fixture(scope="module")
def months():
    sizes = {"days": DAYS, "brokers": BROKERS, "bundles": BUNDLES, "seed": 1}
    return (
        simulate(**sizes, strategy=None),
        simulate(**sizes, strategy="LeastLongTermMessageRate"),
    )


def after_a_day(values):
    return values[24:]


def test_the_same_traffic_is_spread_better(months):
    before, after = months

    def average(values):
        return sum(after_a_day(values)) / len(after_a_day(values))

    assert average(after.mean) == pytest.approx(average(before.mean))
    assert average(after.deviation) < 0.75 * average(before.deviation)
    assert average(after.highest) < 0.85 * average(before.highest)


def test_few_bundles_move(months):
    _, after = months
    assert sum(after.moves) > 0
    assert max(after_a_day(after.moves)) <= BUNDLES / 50
    assert sum(after_a_day(after.moves)) <= BUNDLES / 50 * (DAYS - 1)


def test_no_bundle_moves_again_within_its_grace_period(months):
    _, after = months
    assert all(minutes >= 30 for minutes in minutes_between(after))


def test_it_is_told_and_drawn(months, tmp_path):
    pytest.importorskip("matplotlib")
    assert "by these rules" in "\n".join(lines(*months, "three days"))
    draw(*months, "three days", tmp_path / "load.svg")
    assert (tmp_path / "load.svg").read_text().startswith("<?xml")

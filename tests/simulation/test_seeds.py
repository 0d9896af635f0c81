"""Simulated clusters, each a function of its seed: ``make simulate`` runs many more."""

import pytest
from simulation.replay import replay

SEEDS = 50
TOGETHER = 10


@pytest.mark.parametrize("first", range(1, SEEDS + 1, TOGETHER))
def test_nothing_is_lost_doubled_or_out_of_order_whatever_fails(first):
    told, found = replay("--count", TOGETHER, "--first", first, "--processes", "1")
    assert not found, told
    assert f"{TOGETHER} seeds, 0 with findings" in told


@pytest.mark.parametrize("seed", [2])
def test_a_seed_is_one_story_whatever_the_build_and_the_hashes_of_text(seed):
    stories = [
        replay(seed, PYTHONHASHSEED=hashes, MAGNETAR_INNER=build)[0].rpartition("simulated in")[0]
        for build, hashes in [("plain", "1"), ("compiled", "2")]
    ]
    assert stories[0] == stories[1]
    assert "has published all" in stories[0]

"""Clusters that replicate to each other, simulated: ``make simulate ARGS=--regions`` runs more.

``PLANTED=1`` tries all faults in the code, some minutes.
"""

import os

import pytest
from simulation.regions_planted import PLANTED_IN_REPLICATION
from simulation.replay import replay

SEEDS = 2


def test_everything_is_everywhere_in_order_whatever_fails():
    told, found = replay("--regions", "--count", SEEDS, "--processes", "1")
    assert not found, told
    assert f"{SEEDS} seeds, 0 with findings" in told


@pytest.mark.skipif(not os.environ.get("PLANTED"), reason="PLANTED=1 tries them all")
@pytest.mark.parametrize("plant", sorted(PLANTED_IN_REPLICATION))
def test_a_fault_in_replication_is_found(plant):
    told, found = replay(
        "--regions", "--plant", plant, "--count", "200", "--stop", "--processes", "1"
    )
    assert found, told

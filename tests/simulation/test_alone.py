"""Brokers without a cluster, on disks that fail: ``make simulate ARGS=--alone`` runs more.

Of each fault in the code a seed is tried that found it, and where it does not any more, those from
the first on; ``PLANTED=1`` tries them so anyway.
"""

import pytest
from simulation.alone_planted import PLANTED_IN_THE_LOG
from simulation.planting import is_found
from simulation.replay import replay

SEEDS = 2
KNOWN = {
    "answered_before_it_is_synced": 4,
    "failed_sync_is_forgiven": 61,
    "folder_is_not_synced": 3,
}


def test_what_was_answered_is_in_the_log_whatever_fails():
    told, found = replay("--alone", "--count", SEEDS, "--processes", "1")
    assert not found, told
    assert f"{SEEDS} seeds, 0 with findings" in told


@pytest.mark.timeout(600)
@pytest.mark.parametrize("plant", sorted(PLANTED_IN_THE_LOG))
def test_a_fault_in_the_log_is_found(plant):
    assert is_found(plant, KNOWN[plant], "--alone")

"""Faults in the code are found: by the first seed that finds each, of 200 at most."""

import pytest
from simulation.planted import PLANTED
from simulation.replay import replay

FOUND_BY = {
    "early_ownership": 2,
    "receipt_of_a_dropped_run": 9,
}
"""``make simulate ARGS="--plant NAME --stop"`` finds the seed again where plans have changed."""


@pytest.mark.parametrize("plant", sorted(FOUND_BY))
def test_a_fault_in_the_code_is_found(plant):
    told, found = replay(FOUND_BY[plant], "--plant", plant)
    assert found, told[-2000:]


def test_every_fault_has_its_seed():
    assert FOUND_BY.keys() == PLANTED.keys()

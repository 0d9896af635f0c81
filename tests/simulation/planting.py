"""Faults in the code, by their names, and how a test looks for one."""

import os
from contextlib import contextmanager

from simulation.replay import replay

SEEDS = 200
"""One of the first so many seeds must find a fault."""


class Planted(dict):
    """Faults of one kind. As a decorator it adds one, by the name of its function."""

    def __call__(self, function):
        self[function.__name__] = contextmanager(function)
        return function


def is_found(plant, known, *options):
    """Whether a seed finds a fault: ``known``, but with ``PLANTED=1``, or another one."""
    found = not os.environ.get("PLANTED") and _finds(plant, known, 1, options)
    return found or _finds(plant, 1, SEEDS, options)


def _finds(plant, first, count, options):
    told, found = replay(
        *(*options, "--plant", plant, "--first", first, "--count", count),
        *("--stop", "--processes", "1"),
    )
    print(told)
    return found

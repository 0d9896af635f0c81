"""Folders that are filled once, for all tests that damage copies of them."""

import pytest
from faults.folders import fill


@pytest.fixture(scope="session")
def killed(tmp_path_factory):
    """The data folder of a broker that was killed, with a log that is not sealed."""
    return fill(tmp_path_factory.mktemp("killed") / "data", kill=True)


@pytest.fixture(scope="session")
def stopped(tmp_path_factory):
    """The data folder of a broker that was stopped."""
    return fill(tmp_path_factory.mktemp("stopped") / "data", kill=False)

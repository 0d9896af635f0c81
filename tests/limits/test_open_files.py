"""A broker takes as many open files as the system allows without being asked."""

import re
import resource
from pathlib import Path

import pytest

from magnetar.testing.processes import BrokerProcess
from magnetar.tools.process import OPEN_FILES_MAX


@pytest.fixture
def few_files():
    """A soft limit as many systems have it, for processes that are started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, soft), hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_limit_of_open_files_is_raised_as_far_as_it_goes(tmp_path, few_files):
    with BrokerProcess(tmp_path / "data", settings={"webServicePort": -1}) as broker:
        limits = Path(f"/proc/{broker.pid}/limits")
        if not limits.exists():
            pytest.skip("no /proc here to look into")
        allowed = re.search(r"^Max open files\s+(\d+)", limits.read_text(), re.MULTILINE)
    assert int(allowed[1]) == (
        OPEN_FILES_MAX if few_files == resource.RLIM_INFINITY else min(few_files, OPEN_FILES_MAX)
    )

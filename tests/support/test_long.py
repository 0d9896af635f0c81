from pathlib import Path

import pytest

from .long import LONG

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", LONG)
def test_what_takes_long_is_there(name):
    path, _, test = name.partition("::")
    assert (ROOT / path).exists()
    assert not test or f"def {test.partition('[')[0]}" in (ROOT / path).read_text()

"""The two builds of the inner loops, for tests that hold both to the same."""

import importlib

import pytest

from magnetar.inner.plain import loops as plain

try:
    compiled = importlib.import_module("magnetar.inner._compiled")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="the inner loops are not compiled")
both_builds = pytest.mark.parametrize(
    "loops",
    [pytest.param(plain, id="plain"), pytest.param(compiled, id="compiled", marks=needs_compiled)],
)

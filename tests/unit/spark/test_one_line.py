import os
import sys
from importlib.machinery import ModuleSpec

import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.one_line import _NotOfClosedPipes, one_line, show_causes_first


@one_line()
def fail(error):
    raise error


@pytest.mark.parametrize(
    ("started_as", "error", "hidden"),
    [
        (ModuleSpec("pyspark.daemon", None), InvalidValue("no"), True),
        (ModuleSpec("pyspark.daemon", None), KeyError("no"), False),
        (ModuleSpec("app", None), InvalidValue("no"), False),
        (None, InvalidValue("no"), False),
    ],
)
def test_only_a_worker_hides_where_an_error_of_ours_came_from(
    monkeypatch, started_as, error, hidden
):
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", started_as)
    with pytest.raises(type(error)):
        fail(error)
    assert bool(os.environ["SPARK_HIDE_TRACEBACK"]) == hidden


@pytest.mark.parametrize(("error", "printed"), [(BrokenPipeError(), False), (KeyError(), True)])
def test_a_worker_says_nothing_of_a_spark_that_has_gone(capsys, error, printed):
    try:
        raise error
    except type(error):
        _NotOfClosedPipes.print_exc()
    assert bool(capsys.readouterr().err) == printed


CAUSE = "magnetar.errors.NotReady: no, set x"


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (f"A worker failed:\n{CAUSE}\n at a", CAUSE),
        (f"\n  A worker failed:\n{CAUSE}", CAUSE),
        (f"\n  A worker failed.\n[BAD] It failed: {CAUSE}", CAUSE),  # Over Connect.
        (f"No source: {CAUSE}\n at a", f"No source: {CAUSE}"),
        ("A worker failed:\nKeyError: 1", "A worker failed:"),
    ],
)
def test_an_error_of_spark_begins_with_its_cause(said, first):
    class OfSpark(Exception):
        def __str__(self):
            return said

    for _ in range(2):
        show_causes_first(OfSpark)
    lines = str(OfSpark()).lstrip().splitlines()
    assert lines[0] == first
    assert said.strip() in str(OfSpark())

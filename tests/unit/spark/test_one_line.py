import os
import sys
from importlib.machinery import ModuleSpec

import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.one_line import _NotOfClosedPipes, one_line


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

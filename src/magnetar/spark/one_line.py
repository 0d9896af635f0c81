"""Errors that name their cause reach Spark's user as one line, without a traceback before it.

Spark shows what its Python workers raise as these format it: behind the lines of Spark's files and
ours that it went through. It can leave that out, but only of all errors of a process. A worker ends
with the error that it shows, so that is decided for each error, when it is raised. What is no
``MagnetarError`` keeps its traceback: that is a mistake in code, not in what it was asked to do.

Of what a task raised Spark's text begins with where that was. Who starts Spark by ``session`` gets
the cause first; Spark's own lines follow.

A worker that waits for more work when Spark ends says goodbye to a Spark that no longer listens,
and Spark prints that with a traceback: in a worker that has imported this module, it does not.
"""

import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from magnetar.errors import MagnetarError

log = logging.getLogger(__name__)

_HIDE = "SPARK_HIDE_TRACEBACK"
_CAUSE = re.compile(r"magnetar\.errors\.\w+: .*")


@contextmanager
def one_line() -> Iterator[None]:
    """Decorates what Spark calls in its workers, or goes around what a task does there."""
    try:
        yield
    except MagnetarError:
        log.debug("spark.failed", exc_info=True)
        if in_worker():
            os.environ[_HIDE] = "true"
        raise


def show_causes_first(*kinds: type[Exception]) -> None:
    """Have these of Spark's errors begin with the cause, where it is ours. May be repeated."""
    for kind in kinds:
        if not hasattr(kind.__str__, "spark_says"):
            kind.__str__ = _causes_first(kind.__str__)  # type: ignore[method-assign]


def _causes_first(spark_says: Callable[[Any], str]) -> Callable[[Any], str]:
    def text(error: Exception) -> str:
        said = spark_says(error)
        cause = _CAUSE.search(said)
        if cause is None or cause[0] in said.lstrip().partition("\n")[0]:
            return said
        return f"{cause[0]}\n{said}"

    vars(text)["spark_says"] = spark_says
    return text


def in_worker() -> bool:
    """Whether this process was started by Spark as a worker: others go on after an error."""
    started_as = getattr(sys.modules["__main__"], "__spec__", None)
    return started_as is not None and started_as.name.startswith("pyspark.")


class _NotOfClosedPipes:
    """Stands for the module ``traceback`` in Spark's daemon, which prints how a worker ended."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        if not isinstance(sys.exception(), BrokenPipeError):
            traceback.print_exc()


if in_worker():
    vars(sys.modules["__main__"])["traceback"] = _NotOfClosedPipes

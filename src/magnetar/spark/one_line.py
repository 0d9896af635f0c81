"""Errors that name their cause reach Spark's user as one line, without a traceback before it.

Spark shows what its Python workers raise as these format it: behind the lines of Spark's files and
ours that it went through. It can leave that out, but only of all errors of a process. A worker ends
with the error that it shows, so that is decided for each error, when it is raised. What is no
``MagnetarError`` keeps its traceback: that is a mistake in code, not in what it was asked to do.

A worker that waits for more work when Spark ends says goodbye to a Spark that no longer listens,
and Spark prints that with a traceback: in a worker that has imported this module, it does not.
"""

import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from magnetar.errors import MagnetarError

log = logging.getLogger(__name__)

_HIDE = "SPARK_HIDE_TRACEBACK"


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

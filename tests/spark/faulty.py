"""The ``pulsar`` format where somebody fails or dies at the steps that files ask for.

A file is named ``<number>.<step>.<what>``. What is asked for first happens first, once, when its
step is reached: ``raises``, or the death of the ``worker`` that reaches it, of the ``driver`` with
it, or of the ``broker``, whose process ids are in ``driver.pid`` and ``broker.pid``.
"""
# ruff: noqa: N802, N803 - the names are Spark's.

import contextlib
import os
import signal
import time
from pathlib import Path

from magnetar.spark.read_options import ReadOptions
from magnetar.spark.source import PulsarDataSource
from magnetar.spark.stream_reader import StreamReader
from magnetar.spark.transactional_writer import TransactionalStreamWriter
from magnetar.spark.write_options import WriteOptions
from magnetar.spark.writer import StreamWriter

STEPS = (
    "planning",  # The micro-batch before is in the commit log.
    "planned",  # This one is in the offset log.
    "task-begun",
    "half-written",
    "task-written",
    "before-commit",
    "committed",  # Of the sink: the commit log does not say so yet.
)
STEPS_OF_TRANSACTIONS = (*STEPS[:-1], "begun", "sent", STEPS[-1])
"""Its transaction has begun; all rows are sent in it."""
FOREVER_S = 3600


class Faults:
    """The files of one folder."""

    def __init__(self, folder):
        self._folder = Path(folder)

    def ask(self, *faults):
        """Each is a step and what happens there; they happen in this order."""
        for number, (step, what) in enumerate(faults):
            (self._folder / f"{number:03}.{step}.{what}").touch()

    @property
    def left(self):
        return sorted(path.name for path in self._folder.glob("*.*.*"))

    def tell(self, name, process_id):
        new = self._folder / f"{name}.new"
        new.write_text(str(process_id))
        new.replace(self._folder / f"{name}.pid")

    def reach(self, step):
        first = next(iter(self.left), None)
        if first is None or first.split(".")[1] != step:
            return
        try:
            (self._folder / first).unlink()
        except FileNotFoundError:
            return  # Another task was faster.
        what = first.split(".")[2]
        if what == "raises":
            raise RuntimeError(f"told to fail: {step}")
        if what != "worker":
            with contextlib.suppress(ProcessLookupError):
                os.kill(int((self._folder / f"{what}.pid").read_text()), signal.SIGKILL)
        if what != "broker":
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(FOREVER_S)  # A signal to oneself may take a moment.


class FaultySource(PulsarDataSource):
    @classmethod
    def name(cls):
        return "faulty-pulsar"

    @property
    def _ours(self):
        return {name: value for name, value in self.options.items() if name != "faults"}

    def schema(self):
        return ReadOptions.parse(self._ours, streaming=True).offered

    def streamReader(self, schema):
        options = ReadOptions.parse(self._ours, streaming=True)
        return FaultyReader(options, schema, self._values(options), Faults(self.options["faults"]))

    def streamWriter(self, schema, overwrite):
        options = WriteOptions.parse(self._ours, streaming=True)
        kind = FaultyTransactionalWriter if options.in_transaction else FaultyWriter
        return kind(options, schema, Faults(self.options["faults"]))


class FaultyReader(StreamReader):
    def __init__(self, options, schema, values, faults):
        super().__init__(options, schema, values)
        self._faults = faults

    def latestOffset(self, start, limit):
        self._faults.reach("planning")
        return super().latestOffset(start, limit)

    def partitions(self, start, end):
        self._faults.reach("planned")
        return super().partitions(start, end)


class FaultyWrites:
    """What both writers have in common."""

    def __init__(self, options, schema, faults):
        super().__init__(options, schema)
        self._faults = faults

    def _first(self, iterator):
        for index, rows in enumerate(iterator):
            if index == 3:
                self._faults.reach("half-written")
            yield rows

    def write(self, iterator):
        self._faults.reach("task-begun")
        written = super().write(self._first(iterator))
        self._faults.reach("task-written")
        return written

    def commit(self, messages, batchId):
        self._faults.reach("before-commit")
        super().commit(messages, batchId)
        self._faults.reach("committed")


class FaultyWriter(FaultyWrites, StreamWriter):
    pass


class FaultyTransactionalWriter(FaultyWrites, TransactionalStreamWriter):
    def _send_in(self, *arguments):
        self._faults.reach("begun")
        super()._send_in(*arguments)
        self._faults.reach("sent")

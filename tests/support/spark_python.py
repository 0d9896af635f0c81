"""The Python of Spark in tests: what reads a stream begins as a copy of one that imported it all.

Spark starts a program for each query that reads a Python data source as a stream, and most of what
it does is importing. Here one process does that, and forks for each. Everything else that Spark
starts, the workers among them, is started as always. ``test_quickstart.py`` has an ordinary Spark.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

READER = "pyspark.sql.streaming.python_streaming_source_runner"
LENGTH_BYTES = 8


@contextmanager
def forking_python(folder):
    """The command of such a Python; its files are in ``folder``."""
    place = folder / "forks"
    command = folder / "python"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {__file__} {place} "$@"\n')
    command.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen(64)
        server = subprocess.Popen(
            [sys.executable, __file__, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # Who forks has no threads.
            stdin=subprocess.PIPE,
        )
    with server:
        try:
            yield str(command)
        finally:
            server.terminate()


def ask(place, arguments):
    """Be the process that Spark knows: end with the one that was forked, and take it along."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        text = json.dumps([arguments, dict(os.environ), str(Path.cwd())]).encode()
        socket.send_fds(server, [len(text).to_bytes(LENGTH_BYTES)], [0, 1, 2])
        server.sendall(text)
        pid = int(server.recv(LENGTH_BYTES))

        def end(number, _):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

        signal.signal(signal.SIGTERM, end)
        server.recv(1)  # It says nothing; it holds this until it ends.


def serve(listening):
    """Fork for each that asks; return in it, and never in the process that forks."""
    while True:
        asking, _ = listening.accept()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not os.fork():
            listening.close()
            asking.sendall(str(os.getpid()).encode())
            head, files, *_ = socket.recv_fds(asking, LENGTH_BYTES, 3)
            text = asking.recv(int.from_bytes(head), socket.MSG_WAITALL)
            arguments, environment, folder = json.loads(text)
            for number, each in enumerate(files):
                os.dup2(each, number)
                os.close(each)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            sys.argv = arguments
            return asking  # Open until this process ends.
        asking.close()


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    if not rest:
        sys.path.pop(0)  # The folder of this file, which is no place to import from.
        for imported in (READER, "magnetar.spark.source", "magnetar.spark.stream_reader"):
            importlib.import_module(imported)
        del sys.modules[READER]
        gc.freeze()
        held = serve(socket.socket(fileno=int(first)))
        runpy.run_module(READER, run_name="__main__", alter_sys=True)
    elif rest == ["-m", READER]:
        ask(first, rest[1:])
    else:
        os.execv(sys.executable, [sys.executable, *rest])

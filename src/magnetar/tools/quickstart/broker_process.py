"""A broker for the time of the quickstart, as a process of its own: it and Spark share no core."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from magnetar.errors import NotReady

_STOP_TIMEOUT_S: Final = 15.0
_LOG_SHOWN_MAX: Final = 2000


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Where a broker is: for messages, and for administration."""

    service_url: str
    web_url: str

    def check(self) -> None:
        """Raise NotReady when it is known to have ended. Of a broker of others, nothing is."""


@dataclass(frozen=True, slots=True)
class OwnBroker(BrokerAddress):
    """A broker that the quickstart has started."""

    process: "subprocess.Popen[bytes]"
    log_file: Path

    def check(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise NotReady(
                f"the broker ended by itself, with exit code {code}; {_log_end(self.log_file)}"
            )


@contextmanager
def running_broker(
    data_directory: Path, log_file: Path, *, port: int, http_port: int
) -> Iterator[OwnBroker]:
    """Start ``magnetar standalone``; stop it when the block ends, whatever ended it.

    A port of 0 takes a free one. Raises NotReady, with the end of its log, when it does not start.
    """
    ready_file = log_file.with_suffix(".ready")
    command = [sys.executable, "-m", "magnetar.tools.quickstart.broker_child", "standalone"]
    command += ["--data-dir", str(data_directory), "--ready-file", str(ready_file)]
    command += ["--port", str(port), "--http-port", str(http_port)]
    with log_file.open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for us: the broker is told when it is its turn.
        )
    try:
        yield _ready(process, ready_file, log_file)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _ready(process: "subprocess.Popen[bytes]", ready_file: Path, log_file: Path) -> OwnBroker:
    """Its first line says that it serves; the pipe ends when it dies before."""
    assert process.stdout is not None, "started with a pipe"
    if not process.stdout.readline():
        process.wait()
        raise NotReady(f"the broker did not start; {_log_end(log_file)}")
    ports = json.loads(ready_file.read_text(encoding="utf-8"))
    return OwnBroker(
        f"pulsar://127.0.0.1:{ports['port']}",
        f"http://127.0.0.1:{ports['http_port']}",
        process,
        log_file,
    )


def _log_end(log_file: Path) -> str:
    text = log_file.read_text(encoding="utf-8", errors="replace").strip()
    return f"its log ends:\n{text[-_LOG_SHOWN_MAX:]}" if text else "its log is empty"

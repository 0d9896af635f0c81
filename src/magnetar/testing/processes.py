"""A broker as a process of its own, which can be killed and started again on the same data."""

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from magnetar.broker.config import Config
from magnetar.broker.settings.setting import text_of, variable_of
from magnetar.broker.siblings import cores
from magnetar.errors import NotReady
from magnetar.extras import check_broker
from magnetar.testing.ports import free_port

STARTUP_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 30.0
PROGRAM: Final = "magnetar.tools.cli"
_LOG_SHOWN_MAX: Final = 4000


class _EndedEarly(NotReady):
    def __init__(self, code: int, log_text: str) -> None:
        super().__init__(f"the broker ended before it was ready; its log ends: {log_text}")
        self.code = code


class BrokerProcess:
    """``magnetar standalone`` on a data folder. Leaving the ``with`` block always ends it.

    It also ends when the process that started it does, however that ends. Ports of 0 are free ones,
    picked when it is made and kept at every start, so that clients find the broker again.
    ``settings`` are by Pulsar's names, as in a configuration file. Its log is written to the folder
    ``beside``, by default the one that the data folder is in. ``module`` may name another program
    with the same command line, such as one that measures.
    """

    def __init__(
        self,
        data_directory: Path,
        *,
        settings: Mapping[str, object] = MappingProxyType({}),
        startup_timeout_s: float = STARTUP_TIMEOUT_S,
        beside: Path | None = None,
        port: int = 0,
        web_port: int = 0,
        module: str = PROGRAM,
    ) -> None:
        # Refuses a name or value that the process would stumble on.
        processes = Config.read(flags=settings).server.processes or cores()
        self._data = data_directory
        self._environment = {variable_of(key): text_of(value) for key, value in settings.items()}
        self._startup_timeout_s = startup_timeout_s
        self._process: subprocess.Popen[str] | None = None
        beside = beside or data_directory.parent
        self._ready_file = beside / f"{data_directory.name}.ready"
        self._life_began = 0  # Where in the log this life of it begins.
        self.log_file = beside / f"{data_directory.name}.log"
        self.port = port or free_port(processes)
        self.web_port = web_port or free_port(processes)
        self._module = module

    @property
    def service_url(self) -> str:
        return f"pulsar://127.0.0.1:{self.port}"

    @property
    def web_url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def running(self) -> bool:
        """Whether it was started and not ended by us; it may have died by itself."""
        return self._process is not None

    @property
    def alive(self) -> bool:
        """Whether it runs, and has not ended by itself."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._running().pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self.kill()

    def start(self) -> None:
        """Start it and wait until it serves. Raises NotReady, with its log, when it does not."""
        self.launch()
        self.await_ready()

    def launch(self) -> None:
        """Start it and do not wait: for ``await_ready``, ``refusal``, or a kill on its way up."""
        assert self._process is None, "it runs already: kill or terminate it first"
        check_broker()
        self._ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", self._module, "standalone"]
        command += ["--data-dir", str(self._data), "--ready-file", str(self._ready_file)]
        command += ["--port", str(self.port), "--http-port", str(self.web_port), "--until-eof"]
        self._data.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self._life_began = log.tell()
            self._process = self.begin(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **self._environment},
                start_new_session=True,  # Ctrl-C is for us; the broker is told when it is to stop.
                text=True,
            )

    def await_ready(self) -> None:
        """Wait until it serves. Raises NotReady, with its log, when it does not."""
        try:
            self._await_ready_line()
            ready = json.loads(self._ready_file.read_text(encoding="utf-8"))
        except BaseException:
            if self._process is not None:
                self.kill()
            raise
        self.port, self.web_port = ready["port"], ready["http_port"]

    @staticmethod
    def begin(command: list[str], **how: Any) -> subprocess.Popen[str]:
        """Start the process. Where many are started, forks of one that imported all are faster."""
        return subprocess.Popen(command, **how)  # noqa: S603 - our own interpreter and module

    def refusal(self) -> tuple[int, str] | None:
        """Start it on data that it may refuse. Returns exit code and log, or None when it serves.

        Raises NotReady when it does neither in time.
        """
        self.launch()
        try:
            self.await_ready()
        except _EndedEarly as ended:
            return ended.code, self.life_log()
        return None

    def check(self) -> None:
        """Raises NotReady, with its exit code and log, when it has ended by itself."""
        code = self._running().poll()
        if code is not None:
            raise NotReady(
                f"the broker ended by itself, with exit code {code}; its log ends:\n"
                f"{self.log_text()}"
            )

    def kill(self) -> None:
        """End it at once, as a crash would. Nothing is flushed and nobody is told."""
        process = self._running()
        process.kill()
        self._ended(process)

    def terminate(self) -> int:
        """Ask it to stop, wait until it has, and return its exit code; 0 is a clean stop."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        return self._ended(process)

    def stop(self) -> None:
        """Do as ``terminate`` if it runs, and nothing otherwise."""
        if self._process is not None:
            self.terminate()

    def log_text(self) -> str:
        """The end of what it logged so far, over all its lives."""
        text = self.log_file.read_text(encoding="utf-8", errors="replace")
        return text[-_LOG_SHOWN_MAX:]

    def life_log(self) -> str:
        """All it logged since it was last started."""
        with self.log_file.open("rb") as log:
            log.seek(self._life_began)
            return log.read().decode("utf-8", "replace")

    def _await_ready_line(self) -> None:
        """It writes one line when it serves; the pipe ends when it dies before."""
        stdout = self._running().stdout
        assert stdout is not None, "started with a pipe"
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            in_time = selector.select(self._startup_timeout_s)
        if not in_time:
            raise NotReady(
                f"the broker was not ready within {self._startup_timeout_s:g} s; its log ends: "
                f"{self.log_text()}"
            )
        if not stdout.readline():
            raise _EndedEarly(self._ended(self._running()), self.log_text())

    def _ended(self, process: subprocess.Popen[str]) -> int:
        try:
            code = process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return code

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "it does not run: call start first"
        return self._process

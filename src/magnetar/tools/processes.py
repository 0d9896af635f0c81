"""Several brokers on one data folder, a process each, and the process that looks after them.

It opens all sockets, starts the brokers as copies of itself, which have nothing left to import, and
does nothing else: it moves no byte of a message. A process that ends is replaced at once. One that
is silent for too long is killed first: its successor opens its log, which nobody else may write
then. When this process ends, however it does, so do they, at once: all that they answered is
stored.
"""

import asyncio
import gc
import logging
import os
import select
import selectors
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NoReturn, Protocol

from magnetar.broker.addresses import address_at, open_listeners
from magnetar.broker.config import Config
from magnetar.broker.server_tls import ServerTls
from magnetar.broker.siblings import Sibling, cores, own_listeners
from magnetar.clock import SystemClock
from magnetar.errors import MagnetarError, StoreLocked
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.ledger.local.disk import FolderLock
from magnetar.tools.process import event_loop_factory, say_refusal

log = logging.getLogger(__name__)

BEAT_S: Final = 0.5
"""A process says so often that it lives, and it is looked so often whether it does."""
BEATS_MISSED_MAX: Final = 12
"""Looks, one after the other, at which nothing was heard. They are counted, and not the seconds, so
that a machine that slept kills nobody."""
STOP_S: Final = 5.0
"""How long processes may take to end, beyond what clients are given."""
AGAIN_S: Final = 0.05
RESTART_S: Final = 1.0
"""A process that has ended before it was ready is started again after so long."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_LATER: Final = (
    "magnetar.broker.admin.routes.table",
    "magnetar.broker.load_manager",
    "magnetar.client.connections.pool",
    "magnetar.rest.server",
)
"""What a broker imports when it is first needed. Done here, it is done once."""
_READY: Final = b"r"
_BEAT: Final = b"."


class Serve(Protocol):
    """Serves as one of the processes until it is told to end; calls ``ready`` when it does."""

    def __call__(
        self,
        ready: Callable[[BrokerAddress], None],
        stopping: Callable[[], None],
        *,
        sibling: Sibling,
    ) -> Coroutine[Any, Any, None]: ...


@dataclass(slots=True)
class _Process:
    """One of the processes, or its place while there is none."""

    number: int
    pid: int = 0  # 0: it has ended.
    link: socket.socket | None = None
    ready: bool = False
    missed: int = 0
    start_at: float = 0.0


class Processes:
    """Starts them, replaces them, ends them. ``run`` returns when all have ended."""

    def __init__(
        self,
        siblings: Iterable[Sibling],
        serve: Serve,
        *,
        all_ready: Callable[[], None],
        stopping: Callable[[], None],
        stop_timeout_s: float,
        until_eof: bool,
    ) -> None:
        self._siblings = list(siblings)
        self._serve = serve
        self._all_ready = all_ready
        self._stopping = stopping
        self._stop_timeout_s = stop_timeout_s
        self._until_eof = until_eof
        self._clock = SystemClock()
        self._processes = [_Process(each.number) for each in self._siblings]
        self._selector = selectors.DefaultSelector()
        self._told = False  # Whether all have been ready.
        self._reloads = False  # Since SIGHUP: who begins has the settings of before.
        self._stop_by: float | None = None
        self._failed = False
        self._at_terminal = os.isatty(0)

    def run(self) -> int:
        """The exit code of the command."""
        for module in _LATER:
            import_module(module)
        gc.collect()
        gc.freeze()
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        for number in _SIGNALS:
            signal.signal(number, lambda *_: None)
        self._selector.register(reading, selectors.EVENT_READ, self._signalled)
        if self._until_eof:
            self._selector.register(0, selectors.EVENT_READ, self._stdin_read)
        look_at = self._clock.now() + BEAT_S
        while not self._ended():
            self._start_due()
            wait_s = max(0.0, min([look_at, *self._due()]) - self._clock.now())
            for key, _ in self._selector.select(wait_s):
                key.data(key.fileobj)
            if self._clock.now() >= look_at:
                self._look()
                look_at = self._clock.now() + BEAT_S
        return int(self._failed)

    def _ended(self) -> bool:
        return self._stop_by is not None and not any(each.pid for each in self._processes)

    def _due(self) -> list[float]:
        return [each.start_at for each in self._processes if not each.pid and self._may_start(each)]

    def _may_start(self, process: _Process) -> bool:
        """The first one makes what the others find."""
        first = self._processes[0]
        return self._stop_by is None and (process is first or first.ready or self._told)

    def _start_due(self) -> None:
        for each in self._processes:
            if not each.pid and self._may_start(each) and each.start_at <= self._clock.now():
                self._start(each)

    def _start(self, process: _Process) -> None:
        ours, its = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        # What is meant for the copy waits until it is one, with handlers of its own.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._work(process.number, its)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        its.close()
        process.pid, process.link, process.ready, process.missed = pid, ours, False, 0
        self._selector.register(ours, selectors.EVENT_READ, lambda _: self._heard(process))

    def _work(self, number: int, link: socket.socket) -> NoReturn:
        """Be one of the processes; this is a copy of the one that looks after them."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            for process in self._processes:
                if process.link is not None:
                    process.link.close()  # Else it would not end while we live.
            self._selector.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            threading.Thread(
                target=_end_with, args=[link, self._siblings[number]], daemon=True
            ).start()
            with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
                runner.run(_serve_and_beat(self._serve, self._siblings[number], link))
            code = 0
        except MagnetarError as error:
            for line in str(error).splitlines():
                say_refusal(line)
        except BaseException:
            log.exception("process.failed number=%d", number)
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _heard(self, process: _Process) -> None:
        if process.link is None:  # It was seen to have ended just before.
            return
        said = b""
        with suppress(OSError):
            said = process.link.recv(4096)
        if not said:  # It has ended, or is about to; SIGCHLD says which.
            self._selector.unregister(process.link)
            process.link.close()
            process.link = None
            return
        process.missed = 0
        if _READY in said:
            process.ready = True
            if self._reloads:
                self._kill(process, signal.SIGHUP)
            if not self._told and all(each.ready for each in self._processes):
                self._told = True
                self._all_ready()

    def _look(self) -> None:
        now = self._clock.now()
        for each in self._processes:
            each.missed += 1
            if each.pid and each.missed > BEATS_MISSED_MAX and self._stop_by is None:
                log.error(
                    "process.silent number=%d pid=%d: it is killed, and replaced",
                    each.number,
                    each.pid,
                )
                each.missed = 0
                self._kill(each, signal.SIGKILL)
        if self._stop_by is not None and now >= self._stop_by:
            for each in self._processes:
                self._kill(each, signal.SIGKILL)

    def _signalled(self, reading: int) -> None:
        for number in os.read(reading, 4096):
            if number == signal.SIGCHLD:
                self._reap()
            elif number != signal.SIGHUP or (self._at_terminal and not os.isatty(0)):
                self.stop()
            else:
                self._reloads = True
                for each in self._processes:
                    if each.ready:  # Else it is told when it is.
                        self._kill(each, signal.SIGHUP)

    def _stdin_read(self, stdin: int) -> None:
        if not os.read(stdin, 4096):
            self._selector.unregister(stdin)
            self.stop()

    def stop(self) -> None:
        """Have all end cleanly; asked for again, at once."""
        again = self._stop_by is not None
        if not again:
            self._stopping()
            self._stop_by = self._clock.now() + self._stop_timeout_s
        for each in self._processes:
            self._kill(each, signal.SIGKILL if again else signal.SIGTERM)

    def _reap(self) -> None:
        for each in self._processes:
            pid, status = os.waitpid(each.pid, os.WNOHANG) if each.pid else (0, 0)
            if pid:
                self._has_ended(each, os.waitstatus_to_exitcode(status))

    def _has_ended(self, process: _Process, code: int) -> None:
        if process.link is not None:
            self._selector.unregister(process.link)
            process.link.close()
            process.link = None
        was_ready, pid = process.ready, process.pid
        process.pid, process.ready = 0, False
        if self._stop_by is not None:
            return
        if not self._told:
            self._failed = True  # It has said why.
            self.stop()
            return
        process.start_at = self._clock.now() + (0.0 if was_ready else RESTART_S)
        log.error(
            "process.ended number=%d pid=%d code=%d: it is replaced", process.number, pid, code
        )

    def _kill(self, process: _Process, number: int) -> None:
        if process.pid:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)


def _end_with(link: socket.socket, sibling: Sibling) -> None:
    """End when the process does that looks after this one, whatever the loop is doing."""
    with suppress(OSError):
        while link.recv(16):
            pass
    shutil.rmtree(sibling.logs[0].parent, ignore_errors=True)  # It could not do that itself.
    os._exit(1)


async def _serve_and_beat(serve: Serve, sibling: Sibling, link: socket.socket) -> None:
    loop = asyncio.get_running_loop()

    def tell(what: bytes) -> None:
        with suppress(OSError):  # It does not listen just now, or has ended.
            link.send(what, socket.MSG_DONTWAIT)

    def beat() -> None:
        tell(_BEAT)
        loop.call_later(BEAT_S, beat)

    beat()
    await serve(lambda _: tell(_READY), lambda: None, sibling=sibling)


def run_processes(
    config: Config,
    serve: Serve,
    ready: Callable[[BrokerAddress], None],
    stopping: Callable[[], None],
    *,
    until_eof: bool,
) -> int:
    """Run as many brokers as the settings say until a signal asks for the end.

    Returns the exit code. Raises InvalidValue for ports that cannot be had.
    """
    count = config.server.processes or cores()
    with ExitStack() as stack:
        # All copies of this process have it, so that it is free when the last of them has ended.
        stack.callback(_lock(config.storage.data_directory).release)
        tls = ServerTls(config.tls, SystemClock()).context if config.tls.on else None
        shared = open_listeners(config.server, config.tls, tls, stack)
        own = [own_listeners(config, number, tls, stack) for number in range(count)]
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="magnetar-")))
        logs, bells = [], []
        for number in range(count):
            logs.append(_bound(folder / str(number), socket.SOCK_STREAM, stack))
            logs[-1].listen()
            bells.append(_bound(folder / f"bell-{number}", socket.SOCK_DGRAM, stack))
        processes = Processes(
            [
                Sibling(
                    number,
                    count,
                    own[number],
                    shared,
                    [Path(each.getsockname()) for each in logs],
                    logs[number],
                    [Path(each.getsockname()) for each in bells],
                    bells[number],
                )
                for number in range(count)
            ],
            serve,
            all_ready=partial(ready, address_at(config.server, shared)),
            stopping=stopping,
            stop_timeout_s=3 * config.server.shutdown_timeout_ms / 1000 + STOP_S,
            until_eof=until_eof,
        )
        return processes.run()


def _lock(folder: Path) -> FolderLock:
    """The lock of a data folder; processes that are ending are waited for. Raises StoreLocked."""
    folder.mkdir(parents=True, exist_ok=True)
    clock = SystemClock()
    give_up_at = clock.now() + STOP_S
    while True:
        try:
            return FolderLock.take(folder)
        except StoreLocked:
            if clock.now() >= give_up_at:
                raise
        select.select([], [], [], AGAIN_S)


def _bound(path: Path, kind: socket.SocketKind, stack: ExitStack) -> socket.socket:
    """A Unix socket by which the processes reach one of them."""
    bound = socket.socket(socket.AF_UNIX, kind)
    stack.callback(bound.close)
    bound.bind(str(path))
    bound.setblocking(False)
    return bound

"""Brokers of tests, processes of their own, that begin as copies of one which has imported it all.

Most of what the start of ``python -m magnetar.tools.cli standalone`` takes is importing. Here one
process does that, and forks for each broker. What runs is the command, with its arguments,
environment and pipes. ``tests/unit/tools/test_standalone.py`` starts it as users do. Needs Linux.
"""

import atexit
import gc
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

LENGTH_BYTES = 8


class Forked:
    """What ``subprocess.Popen`` is, as far as ``BrokerProcess`` asks it."""

    def __init__(self, command, *, stdin, stdout, stderr, env, start_new_session, text):
        assert (stdin, stdout) == (subprocess.PIPE, subprocess.PIPE)
        assert start_new_session
        assert text
        reading, self._to = os.pipe()
        self._from, writing = os.pipe()
        self._told, telling = socket.socketpair()
        files = [reading, writing, stderr.fileno(), telling.fileno()]
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        _ask({"command": command[1:], "env": env, "cwd": str(Path.cwd()), "limit": limit}, files)
        for each in (reading, writing):
            os.close(each)
        telling.close()
        self.stdin, self.stdout = os.fdopen(self._to, "w"), os.fdopen(self._from)
        self.pid = int(self._told.recv(LENGTH_BYTES))
        self._process = os.pidfd_open(self.pid)
        self.returncode = None

    def poll(self):
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._process], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked broker", timeout)
            os.close(self._process)
            with self._told:
                self.returncode = int(self._told.recv(LENGTH_BYTES))
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def _ask(what, files):
    text = json.dumps(what).encode()
    socket.send_fds(_server(), [len(text).to_bytes(LENGTH_BYTES)], files)
    _server().sendall(text)


@cache
def _server():
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    atexit.register(process.wait)
    atexit.register(ours.close)  # Before: it ends when nobody asks any more.
    return ours


def serve(asked):
    """Fork for each that is asked for; return in it, and never in the process that forks."""
    running = {}
    signal.signal(signal.SIGCHLD, lambda *_: _tell_ends(running))
    while True:
        head, files, *_ = socket.recv_fds(asked, LENGTH_BYTES, 4)
        if not head:
            sys.exit()
        text = asked.recv(int.from_bytes(head), socket.MSG_WAITALL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if not pid:
            asked.close()
            become(json.loads(text), files)
            return
        *others, telling = files
        for each in others:
            os.close(each)
        running[pid] = socket.socket(fileno=telling)
        running[pid].sendall(str(pid).encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _tell_ends(running):
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as telling, suppress(OSError):
            telling.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def become(what, files):
    """Be the process that was asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    os.setsid()
    for number, each in enumerate(files[:3]):
        os.dup2(each, number)
    for each in files:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, what["limit"])
    os.environ.clear()
    os.environ.update(what["env"])
    os.chdir(what["cwd"])
    dash_m, module, *arguments = what["command"]
    assert dash_m == "-m"
    sys.argv = [module, *arguments]


if __name__ == "__main__":
    sys.path.pop(0)  # The folder of this file, which is no place to import from.
    import uvloop  # noqa: F401

    import magnetar.rest.server
    import magnetar.tools.standalone  # noqa: F401

    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

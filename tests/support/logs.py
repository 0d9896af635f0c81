"""Waiting for what a broker logs: nobody else is told of a failure when it happens."""

import logging
import subprocess
import threading
from contextlib import contextmanager

import pytest

from magnetar.testing.processes import BrokerProcess

GIVE_UP_S = 30.0


class _Bell(logging.Handler):
    """Rings for every record."""

    def __init__(self) -> None:
        super().__init__()
        self.rung = threading.Event()

    def emit(self, _: logging.LogRecord) -> None:
        self.rung.set()


@contextmanager
def _ringing():
    bell = _Bell()
    logging.getLogger().addHandler(bell)  # Behind that of caplog, which has the record by then.
    try:
        yield bell.rung
    finally:
        logging.getLogger().removeHandler(bell)


def until_logged(
    caplog: pytest.LogCaptureFixture, *texts: str, timeout_s: float = GIVE_UP_S
) -> str:
    """The first of these texts that is in the log of this process, once one of them is."""
    with _ringing() as rung:
        while True:
            rung.clear()
            found = [text for text in texts if text in caplog.text]
            if found:
                return found[0]
            assert rung.wait(timeout_s), f"nobody says {texts}: {caplog.text}"


def until_process_logged(broker: BrokerProcess, text: str, *, timeout_s: float = GIVE_UP_S) -> None:
    """Return when the broker has logged the text since it was last started."""
    read = broker.log_file.stat().st_size
    if text in broker.life_log():
        return
    command = ["tail", "-c", f"+{read + 1}", "-f", str(broker.log_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None, "started with a pipe"
        in_time = threading.Timer(timeout_s, follower.kill)
        in_time.start()
        try:
            found = any(text in line for line in follower.stdout)
        finally:
            in_time.cancel()
            follower.kill()
    assert found, f"nobody says {text}: {broker.life_log()}"

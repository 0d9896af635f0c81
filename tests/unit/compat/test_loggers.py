"""Log lines go to the logger that a client was given, while it is open."""

import logging

import pytest

from magnetar import compat
from magnetar.compat.loggers import attach, detach, handler_of

log = logging.getLogger("magnetar.client.somewhere")


@pytest.fixture
def attached():
    handlers = []

    def attached(logger):
        handlers.append(handler_of(logger))
        attach(handlers[-1])

    yield attached
    for handler in handlers:
        detach(handler)


def test_a_console_logger_prints_from_its_level_on(attached, capsys):
    attached(compat.ConsoleLogger(compat.LoggerLevel.Info))
    log.debug("debugged")
    log.info("informed")
    log.warning("warned")
    printed = capsys.readouterr().out
    assert "debugged" not in printed
    assert "informed" in printed
    assert "WARNING" in printed


def test_a_file_logger_writes(attached, tmp_path):
    file = tmp_path / "log"
    attached(compat.FileLogger(compat.LoggerLevel.Warn, str(file)))
    log.info("informed")
    log.error("failed")
    assert "informed" not in file.read_text()
    assert "failed" in file.read_text()


def test_a_logger_of_the_application_gets_each_line_once(attached, caplog):
    theirs = logging.getLogger("application.pulsar")
    theirs.setLevel(logging.INFO)
    attached(theirs)
    log.debug("debugged")
    log.info("informed")
    assert [record.message for record in caplog.records] == ["informed"]


def test_afterwards_everything_is_as_before():
    root = logging.getLogger("magnetar.client")
    before = (root.level, root.propagate, list(root.handlers))
    handlers = [handler_of(compat.ConsoleLogger()), handler_of(compat.ConsoleLogger())]
    for handler in handlers:
        attach(handler)
    for handler in handlers:
        assert (root.level, root.propagate) == (logging.INFO, False)
        detach(handler)
    assert (root.level, root.propagate, list(root.handlers)) == before


def test_without_a_logger_nothing_is_changed():
    assert handler_of(None) is None
    assert handler_of(logging.getLogger("magnetar")) is None
    assert handler_of(logging.getLogger("magnetar.client")) is None
    assert handler_of(logging.getLogger()) is None


def test_what_is_no_logger_is_refused():
    with pytest.raises(ValueError, match="Logger is expected"):
        handler_of("stdout")
    with pytest.raises(ValueError, match="log_level"):
        compat.ConsoleLogger(3)
    with pytest.raises(ValueError, match="log_file"):
        compat.FileLogger(compat.LoggerLevel.Info, None)


def test_a_broker_in_the_same_process_is_left_alone(attached, caplog):
    attached(compat.ConsoleLogger(compat.LoggerLevel.Error))
    logging.getLogger("magnetar.broker").warning("warned")
    assert "warned" in caplog.text

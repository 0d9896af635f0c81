"""What is logged is heard of at once, in this process and in others."""

import logging
import threading

import pytest
from support.logs import until_logged, until_process_logged

log = logging.getLogger("test")


def test_the_first_text_that_is_logged_is_returned(caplog):
    log.warning("one")
    assert until_logged(caplog, "two", "one") == "one"
    caplog.clear()
    logging_ = threading.Timer(0.02, log.warning, ["two"])
    logging_.start()
    assert until_logged(caplog, "two", "one") == "two"
    logging_.join()
    with pytest.raises(AssertionError, match=r"nobody says .*three"):
        until_logged(caplog, "three", timeout_s=0.01)


class Life:
    """A log file, of which the first line is of another life."""

    def __init__(self, folder):
        self.log_file = folder / "broker.log"
        self.log_file.write_text("an earlier life\n", encoding="utf-8")

    def life_log(self):
        return self.log_file.read_text(encoding="utf-8").partition("\n")[2]

    def say(self, text):
        with self.log_file.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def test_the_log_of_another_process_is_followed(tmp_path):
    life = Life(tmp_path)
    life.say("one")
    until_process_logged(life, "one")
    saying = threading.Timer(0.05, life.say, ["two"])
    saying.start()
    until_process_logged(life, "two")
    saying.join()
    with pytest.raises(AssertionError, match="nobody says an earlier life"):
        until_process_logged(life, "an earlier life", timeout_s=0.1)

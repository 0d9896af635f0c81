"""What processes have in common: the file that says ready, and lines that are one line."""

import json
import logging

import pytest

from magnetar.errors import InvalidValue
from magnetar.tools.process import OneLine, check_ready_file, write_ready_file


def test_a_ready_file_is_written_whole(tmp_path):
    file = tmp_path / "ready"
    check_ready_file(file)
    write_ready_file(file, {"port": 1})
    assert json.loads(file.read_text()) == {"port": 1}
    assert list(tmp_path.iterdir()) == [file]


def test_one_that_cannot_be_written_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "absent" / "ready"):
        with pytest.raises(InvalidValue, match="cannot write --ready-file"):
            check_ready_file(path)


def test_a_message_is_one_line():
    record = logging.LogRecord("n", logging.INFO, "", 1, "a\nb\x85c", None, None)
    assert OneLine("%(message)s").format(record) == "a\\x0ab\\x85c"

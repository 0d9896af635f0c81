import subprocess
import sys

from magnetar.storage.ledger.offload_frames import frame


def test_it_answers_and_ends_with_its_input(tmp_path):
    asked = {"do": "delete", "url": tmp_path.as_uri(), "options": {}, "name": "7.parquet"}
    ended = subprocess.run(
        [sys.executable, "-m", "magnetar.history", "background"],
        input=frame(asked),
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert (ended.stdout, ended.stderr) == (frame({}), b"")

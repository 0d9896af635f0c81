"""What needs no Spark; ``tests/spark/test_quickstart.py`` has the rest."""

import subprocess
import sys

import pytest
from quickstart.run import Run
from quickstart.topics import QuickstartTopics


@pytest.fixture
def run(tmp_path, board):
    return Run("pulsar://127.0.0.1:1", QuickstartTopics.named("run"), 10, tmp_path, board)


def test_a_spark_that_is_still_starting_is_ended(run, board, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (tmp_path / "spark.pid").write_text(f"{process.pid}\n")
    board.spark.began_s = 0.0
    run.close()
    assert process.wait(30) != 0


def test_a_run_that_is_closed_starts_nothing(run, board):
    run.close()  # Neither does it wait for a Spark that never began.
    run.start()
    run.threads.join()
    assert board.spark.began_s is None
    assert board.published.began_s is None
    with pytest.raises(AssertionError, match="ended well"):
        _ = run.outcome

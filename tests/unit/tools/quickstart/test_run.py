"""What needs no Spark; ``tests/spark/test_quickstart.py`` has the rest."""

from support.clock import ManualClock

from magnetar.tools.quickstart.board import Board
from magnetar.tools.quickstart.run import Run
from magnetar.tools.quickstart.topics import QuickstartTopics


def test_a_run_that_is_closed_starts_nothing(magnetar_broker, tmp_path):
    board = Board(ManualClock())
    topics = QuickstartTopics.named("closed")
    run = Run(magnetar_broker.service_url, topics, 10, tmp_path, board)
    run.close()
    run.start()
    run.crew.join()
    assert board.spark.began_s is None
    assert board.published.began_s is None
    assert not run.reconcile().adds_up

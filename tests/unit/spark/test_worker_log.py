import logging
import subprocess
import sys

from magnetar.spark.worker_log import show_warnings

WORKER = """\
import logging, magnetar.client, sys
from magnetar.spark import one_line, worker_log
worker_log.in_worker = lambda: True
if sys.argv[1:]:
    logging.basicConfig(format="theirs %(message)s")
for _ in range(2):
    worker_log.show_warnings()
logging.getLogger("magnetar.spark").warning("lost")
logging.getLogger("magnetar.spark").info("fine")
"""


def printed(*arguments):
    command = [sys.executable, "-c", WORKER, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_a_worker_prints_what_we_warn_of_once():
    (line,) = printed().splitlines()
    assert line.endswith(" WARN magnetar: lost")


def test_who_has_set_up_logging_keeps_it():
    assert printed("theirs") == "theirs lost\n"


def test_other_processes_print_nothing():
    before = list(logging.getLogger("magnetar").handlers)
    show_warnings()
    assert logging.getLogger("magnetar").handlers == before

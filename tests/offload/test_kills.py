"""A broker that is killed while it offloads loses nothing, and leaves no file that nobody knows.

``KILLS`` in the environment, as ``make crash`` has it: at every moment. Each step by itself is in
``tests/unit/storage/managed_ledger/test_log_offload.py``.
"""

import os

import pytest

from magnetar.client import blocking

pytestmark = pytest.mark.crash

MOMENTS = {
    "being written": lambda offloading, known: len(offloading.files) > known,
    "written": lambda offloading, known: (
        sum(each.suffix == ".parquet" for each in offloading.files) > known
    ),
    "recorded": lambda offloading, known: len(offloading.recorded("sales")) > known,
    "asked for": lambda offloading, known: True,  # noqa: ARG005
}
MOMENTS_USUALLY = 2


def test_kills_lose_nothing_and_leave_nothing(offloading):
    sent = 0
    count = len(MOMENTS) if os.environ.get("KILLS") else MOMENTS_USUALLY
    for moment in list(MOMENTS.values())[:count]:
        with (
            blocking.Client(offloading.broker.service_url) as client,
            client.create_producer("sales") as producer,
        ):
            for _ in range(31):
                producer.send(b"%d" % sent)
                sent += 1
        known = len(offloading.recorded("sales"))
        offloading.offload("sales")
        offloading.until(lambda moment=moment, known=known: moment(offloading, known))
        offloading.restart()
    offloading.await_offloaded("sales")
    assert offloading.files == offloading.recorded("sales")
    offloading.restart()
    with (
        blocking.Client(offloading.broker.service_url) as client,
        client.create_reader("sales") as reader,
    ):
        assert [int(reader.receive(timeout_s=10).data) for _ in range(sent)] == [*range(sent)]

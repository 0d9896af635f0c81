"""The example of transactions runs, and bills each order once."""

import subprocess
import sys
from pathlib import Path

from magnetar import EARLIEST_MESSAGE
from magnetar.client import blocking

EXAMPLE = Path(__file__).parents[2] / "examples" / "read_process_write.py"
ORDERS = 1000


def test_each_order_becomes_one_invoice(broker, topic):
    invoices = f"{topic}-invoices"
    done = subprocess.run(
        [sys.executable, EXAMPLE, broker.service_url, topic, invoices],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{ORDERS} invoices\n"
    with blocking.Client(broker.service_url) as client:
        reader = client.create_reader(invoices, EARLIEST_MESSAGE)
        found = reader.receive_many(ORDERS + 1, 20, count_min=ORDERS)
        assert sorted(message.data for message in found) == sorted(
            b"invoice for order %d" % number for number in range(ORDERS)
        )
        assert not reader.has_message_available()

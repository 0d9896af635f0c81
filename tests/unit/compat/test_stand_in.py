"""After ``stand_in`` the official client's name means ours."""

import subprocess
import sys

PROGRAM = """
from magnetar.compat.stand_in import stand_in
stand_in()
import pulsar, pulsar.asyncio
from pulsar.schema import Record, String
from pulsar.schema.definition import Record as Same
from pulsar.functions.context import Context
from pulsar import Timeout, schema
assert Record is Same is schema.Record
assert pulsar.asyncio.Client.__module__ == "magnetar.compat.asyncio.client"
assert Timeout.__module__ == "magnetar.compat.exceptions"
assert "_pulsar" not in __import__("sys").modules
"""


def test_every_import_of_theirs_brings_ours():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=30)

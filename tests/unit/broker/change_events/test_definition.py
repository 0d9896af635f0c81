import hashlib

from magnetar.broker.change_events.definition import EVENT_SCHEMA
from magnetar.broker.schema.definitions import check_definition

OF_PULSAR = "af67ec87115de71f3c556a74a8103fb1c89c1b27b17c53764b01ce5b094d47c2"
"""Of the schema that a broker of Apache Pulsar 4.0.7 registered, from its locator in ZooKeeper."""


def test_it_is_letter_by_letter_what_pulsar_registers():
    assert hashlib.sha256(EVENT_SCHEMA.data).hexdigest() == OF_PULSAR


def test_it_can_be_registered():
    check_definition(EVENT_SCHEMA)

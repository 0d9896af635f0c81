import pytest
from google_crc32c import value as checksum

from magnetar.storage.codec.pulsar.message_head import (
    HEAD_SIZE,
    heads,
    holds_messages,
    message_of,
)
from magnetar.storage.managed_ledger.settings import ledger_metadata

STORED = bytes.fromhex("0e01227f09aa000000120a036f6e6510091887d1fed2a03432026b3039")
"""What a broker of Pulsar 4.0.7 wrote."""


def test_a_message_is_stored_with_its_checksum_before_it():
    message = message_of(STORED)
    assert heads([checksum(message)])[0] + message == STORED
    assert len(STORED) - len(message) == HEAD_SIZE


@pytest.mark.parametrize("before", [b"", b"\x0e\x02\0\0\0\x02\x08\x05", b"\x0e\x02\0\0\0\0"])
@pytest.mark.parametrize("head", [b"", b"\x0e\x01abcd"])
def test_what_is_before_a_message_is_passed_over(before, head):
    assert message_of(before + head + b"\0\0\0\x01message") == b"\0\0\0\x01message"


@pytest.mark.parametrize("stored", [b"", b"\x0e", b"\x0e\x02\0", b"\x0e\x01", b"\x0e\x02\0\0\1\0"])
def test_what_ends_early_does_no_harm(stored):
    assert len(message_of(stored)) <= len(stored)


def test_only_the_ledgers_of_logs_have_messages():
    assert holds_messages(ledger_metadata("public/default/persistent/t"))
    assert not holds_messages(ledger_metadata("public/default/persistent/t", "s"))
    assert not holds_messages({"component": b"schema"})
    assert not holds_messages({})

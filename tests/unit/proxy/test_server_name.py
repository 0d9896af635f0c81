import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.proxy.server_name import RECORD_MAX, server_name, size_of_record


def hello(name):
    """What Python's own TLS greets with."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_the_name_that_a_client_greets_with_is_read():
    greeting = hello("broker-1.example")
    assert size_of_record(greeting[:5]) == len(greeting)
    assert server_name(greeting) == "broker-1.example"


def test_a_greeting_without_a_name_has_none():
    assert server_name(hello(None)) is None


def test_other_protocols_are_no_greeting():
    assert size_of_record(b"GET / HTTP/1.1") == 0
    assert size_of_record(b"\x16\x03") == 0
    assert size_of_record(b"\x16\x03\x01\xff\xff") == RECORD_MAX
    assert server_name(b"GET / HTTP/1.1") is None


@given(st.integers(0, 600), st.binary(max_size=3))
def test_a_greeting_that_is_cut_or_damaged_raises_nothing(at, damage):
    greeting = hello("broker")
    server_name(greeting[:at])
    found = server_name(greeting[:at] + damage + greeting[at + len(damage) :])
    assert found is None or isinstance(found, str)

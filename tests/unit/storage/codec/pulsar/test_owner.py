import pytest

from magnetar.errors import InvalidValue
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.codec.pulsar.owner import decode_owner, encode_owner
from magnetar.storage.codec.pulsar_codec import PulsarCodec

BROKER = BrokerAddress("pulsar://h:6650", "http://h:8080", "", "")


def test_objects_have_no_version_and_keep_every_field():
    assert PulsarCodec.encode_object({"partitions": 3}) == b'{"partitions":3}'
    fields = {"version": 7, "unknown": [None, {"a": 1}]}
    assert PulsarCodec.decode_object(PulsarCodec.encode_object(fields)) == fields


def test_owners_come_back():
    assert decode_owner(encode_owner(BROKER)) == BROKER
    assert b'"nativeUrlTls":null' in encode_owner(BROKER)
    theirs = b'{"nativeUrl":"pulsar://h:6650","httpUrl":"http://h:8080","httpUrlTls":null,"x":1}'
    assert decode_owner(theirs) == BROKER


@pytest.mark.parametrize("value", [b"", b"[]", b"{", b"\xff", b'{"nativeUrl":3}'])
def test_what_is_none_is_refused(value):
    with pytest.raises(InvalidValue):
        decode_owner(value)

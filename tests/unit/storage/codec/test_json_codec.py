import json

import pytest

from magnetar.errors import InvalidValue
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.storage.codec.json_codec import decode_owner, encode_deletion, encode_owner
from magnetar.storage.codec.json_object import decode


def test_an_owner_has_pulsars_fields_and_comes_back():
    address = BrokerAddress.of("broker", 6650, 8080, port_tls=6651, web_port_tls=8443)
    assert decode_owner(encode_owner(address)) == address
    assert json.loads(encode_owner(address)) == {
        "version": 1,
        "nativeUrl": "pulsar://broker:6650",
        "nativeUrlTls": "pulsar+ssl://broker:6651",
        "httpUrl": "http://broker:8080",
        "httpUrlTls": "https://broker:8443",
        "disabled": False,
        "advertisedListeners": {},
    }


def test_what_is_no_owner_is_refused():
    with pytest.raises(InvalidValue, match="nativeUrl is missing"):
        decode_owner(b'{"version":1}')


def test_the_note_of_a_deletion_names_its_topic():
    topic = TopicName.parse("persistent://public/default/a/b c%")
    assert decode(encode_deletion(topic)) == {"topic": str(topic)}

"""The owner of a bundle, as Pulsar's brokers write it. Pure."""

from typing import Final

from magnetar.errors import InvalidValue
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.codec.json_object import dump_object, load_object

_IN_OWN_RECORD: Final = {
    "nativeUrl": "pulsarServiceUrl",
    "nativeUrlTls": "pulsarServiceUrlTls",
    "httpUrl": "webServiceUrl",
    "httpUrlTls": "webServiceUrlTls",
}


def encode_owner(broker: BrokerAddress) -> bytes:
    """Encode the owner of a bundle; what it does not have is null."""
    return dump_object(
        {
            "nativeUrl": broker.service_url or None,
            "nativeUrlTls": broker.service_url_tls or None,
            "httpUrl": broker.web_url or None,
            "httpUrlTls": broker.web_url_tls or None,
            "disabled": False,
            "advertisedListeners": {},
        }
    )


def decode_owner(value: bytes) -> BrokerAddress:
    """Decode the owner of a bundle, or a broker's own record. Raises InvalidValue.

    Pulsar's brokers have other names for the same in their own records.
    """
    fields = load_object(value)

    def text(name: str) -> str:
        found = fields.get(name) or fields.get(_IN_OWN_RECORD[name]) or ""
        if not isinstance(found, str):
            raise InvalidValue(f"{name} is {found!r:.100}, not a text")
        return found

    return BrokerAddress(
        service_url=text("nativeUrl"),
        web_url=text("httpUrl"),
        service_url_tls=text("nativeUrlTls"),
        web_url_tls=text("httpUrlTls"),
    )

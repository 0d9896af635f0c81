"""The record of a bundle's owner: the URLs of a broker, in the fields that Pulsar has. Pure."""

from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.codec.json_object import Fields, encode


def encode_owner(broker: BrokerAddress) -> bytes:
    """Encode the owner of a bundle."""
    return encode(
        {
            "nativeUrl": broker.service_url,
            "nativeUrlTls": broker.service_url_tls,
            "httpUrl": broker.web_url,
            "httpUrlTls": broker.web_url_tls,
            "disabled": False,
            "advertisedListeners": {},
        }
    )


def decode_owner(value: bytes) -> BrokerAddress:
    """Decode the owner of a bundle. Raises InvalidValue."""
    fields = Fields.of(value)
    return BrokerAddress(
        service_url=fields.text("nativeUrl"),
        web_url=fields.text("httpUrl"),
        service_url_tls=fields.text("nativeUrlTls"),
        web_url_tls=fields.text("httpUrlTls"),
    )

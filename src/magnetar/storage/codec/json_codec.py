"""The codec of one machine: JSON objects with a version, a file for each kind of record. Pure."""

from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.storage.codec.compacted_entry import decode_compacted, encode_compacted
from magnetar.storage.codec.cursor import CursorState, decode_cursor, encode_cursor, ranges_size
from magnetar.storage.codec.json_object import Fields, decode, encode
from magnetar.storage.codec.ledger_list import decode_ledger_list, encode_ledger_list


def encode_owner(broker: BrokerAddress) -> bytes:
    """Encode the owner of a bundle, in the fields that Pulsar has."""
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


def encode_deletion(topic: TopicName) -> bytes:
    """Encode the note that a topic is being deleted; its path, too, says which."""
    return encode({"topic": str(topic)})


def decode_position(
    entry: bytes,
    state: CursorState,  # noqa: ARG001 the entry has everything
    *,
    source: str,
) -> CursorState:
    """Decode an entry that is like a record. Raises CorruptEntry, naming it."""
    return decode_cursor(entry, source=source)


def fits_record(state: CursorState, *, name: str) -> bool:  # noqa: ARG001
    """Say that a record may be of any size."""
    return True


class JsonCodec:
    """Every record is a JSON object."""

    encode_ledger_list = staticmethod(encode_ledger_list)
    decode_ledger_list = staticmethod(decode_ledger_list)
    encode_cursor = staticmethod(encode_cursor)
    decode_cursor = staticmethod(decode_cursor)
    fits_record = staticmethod(fits_record)
    encode_position = staticmethod(encode_cursor)
    decode_position = staticmethod(decode_position)
    ranges_size = staticmethod(ranges_size)
    encode_compacted = staticmethod(encode_compacted)
    decode_compacted = staticmethod(decode_compacted)
    encode_owner = staticmethod(encode_owner)
    decode_owner = staticmethod(decode_owner)
    encode_deletion = staticmethod(encode_deletion)
    encode_object = staticmethod(encode)
    decode_object = staticmethod(decode)

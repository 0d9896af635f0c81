"""The codec of a cluster: all is in Pulsar's own formats. Pure.

What administrators keep has no version: what a field means there has never changed, others are
added.
"""

from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.codec.json_object import dump_object, load_object
from magnetar.storage.codec.pulsar.compacted_entry import decode_compacted, encode_compacted
from magnetar.storage.codec.pulsar.cursor import (
    decode_cursor,
    decode_position,
    encode_cursor,
    encode_position,
    fits_record,
    ranges_size,
)
from magnetar.storage.codec.pulsar.ledger_list import decode_ledger_list, encode_ledger_list
from magnetar.storage.codec.pulsar.owner import decode_owner, encode_owner


class PulsarCodec:
    """Brokers and tools of Apache Pulsar read what it writes, and it reads what they wrote."""

    encode_ledger_list = staticmethod(encode_ledger_list)
    decode_ledger_list = staticmethod(decode_ledger_list)
    encode_cursor = staticmethod(encode_cursor)
    decode_cursor = staticmethod(decode_cursor)
    fits_record = staticmethod(fits_record)
    encode_position = staticmethod(encode_position)
    decode_position = staticmethod(decode_position)
    ranges_size = staticmethod(ranges_size)
    encode_compacted = staticmethod(encode_compacted)
    decode_compacted = staticmethod(decode_compacted)
    encode_owner = staticmethod(encode_owner)
    decode_owner = staticmethod(decode_owner)
    encode_deletion = staticmethod(JsonCodec.encode_deletion)
    encode_object = staticmethod(dump_object)
    decode_object = staticmethod(load_object)

"""The codec of one machine: JSON objects with a version, a file for each kind of record. Pure."""

from magnetar.storage.codec.bundle_owner import decode_owner, encode_owner
from magnetar.storage.codec.cursor import decode_cursor, encode_cursor, ranges_size
from magnetar.storage.codec.deletion import encode_deletion
from magnetar.storage.codec.json_object import decode, encode
from magnetar.storage.codec.ledger_list import decode_ledger_list, encode_ledger_list
from magnetar.storage.codec.schema import decode_schema, encode_schema


class JsonCodec:
    """Every record is a JSON object."""

    encode_ledger_list = staticmethod(encode_ledger_list)
    decode_ledger_list = staticmethod(decode_ledger_list)
    encode_cursor = staticmethod(encode_cursor)
    decode_cursor = staticmethod(decode_cursor)
    ranges_size = staticmethod(ranges_size)
    encode_schema = staticmethod(encode_schema)
    decode_schema = staticmethod(decode_schema)
    encode_owner = staticmethod(encode_owner)
    decode_owner = staticmethod(decode_owner)
    encode_deletion = staticmethod(encode_deletion)
    encode_object = staticmethod(encode)
    decode_object = staticmethod(decode)

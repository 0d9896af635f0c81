"""CRC32-C, the checksum of entries on the wire and in the log. Pure."""

from google_crc32c import value


def checksum(data: bytes) -> int:
    return int(value(data))

"""Cuts entries that were read from the log. Pure."""

from .checksum import checksum


def cut_entries(
    data: bytes, position: int, lengths: list[int], checksums: list[int]
) -> list[bytes]:
    """Entries of these lengths, back to back from ``position`` on.

    Ends before the first that is not all here, or not what its checksum says.
    """
    if not 0 <= position <= len(data) or len(lengths) != len(checksums):
        raise ValueError(f"no position, or lists of different lengths: {position}")
    entries = []
    for length, expected in zip(lengths, checksums, strict=True):
        entry = data[position : position + length]
        if len(entry) < length or checksum(entry) != expected:
            break
        entries.append(entry)
        position += length
    return entries

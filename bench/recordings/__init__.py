"""Sends of the official clients as they came over the wire, to be sent again and again.

A file ``CLIENT.frames.gz`` holds the SEND frames of one producer, back to back. ``record.py`` made
them and makes them again; each client's program sends the same: entries of their own and batches,
1 KiB that varies by 30 %, one of 1,000 keys and three properties on each message.
"""

import gzip
from pathlib import Path
from struct import Struct

HERE = Path(__file__).parent
_SIZE = Struct(">I").unpack_from


def frames(name: str) -> list[bytes]:
    """The frames of a recording. Raises ValueError, with those that exist, when there is none."""
    path = HERE / f"{name}.frames.gz"
    if not path.exists():
        known = ", ".join(sorted(each.name.partition(".")[0] for each in HERE.glob("*.frames.gz")))
        raise ValueError(f"there is no recording {name!r}; there are: {known}")
    return split(gzip.decompress(path.read_bytes()))


def split(data: bytes) -> list[bytes]:
    """Frames that stand back to back, all of them whole."""
    found = []
    position = 0
    while position < len(data):
        end = position + 4 + _SIZE(data, position)[0]
        found.append(data[position:end])
        position = end
    assert position == len(data), "the last frame is whole"
    return found

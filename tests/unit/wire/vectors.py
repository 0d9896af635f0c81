"""Frames that were recorded between other clients and brokers of Pulsar."""

import json
from pathlib import Path

_FILE = Path(__file__).parents[2] / "golden" / "wire_vectors.json"
VECTORS = json.loads(_FILE.read_text())


def frames(section):
    """The frames of a section by name."""
    return {name: bytes.fromhex(text) for name, text in VECTORS[section].items()}


def entry_of(frame):
    """Entry and checksum of a recorded frame with a payload."""
    command_size = int.from_bytes(frame[4:8], "big")
    payload = frame[8 + command_size :]
    assert payload[:2] == b"\x0e\x01"
    return payload[6:], int.from_bytes(payload[2:6], "big")

"""All plain loops by name: whoever has the compiled ones imports none of them. Pure."""

from .acks import cut_acks
from .adds import add_frames, cut_added, open_stored
from .batches import pack, unpack, unpack_as
from .checksum import checksum
from .columns import columns
from .entries import cut_entries
from .fields import write_fields
from .messages import message_frames
from .receipt_runs import cut_receipts
from .receipts import send_receipts
from .records import cut_records, encode_block
from .replicas import replicas, source_places
from .rows import cut_rows, pack_rows, share_rows
from .send_frames import send_frames
from .sends import cut_sends
from .traits import look_into

__all__ = [
    "add_frames",
    "checksum",
    "columns",
    "cut_acks",
    "cut_added",
    "cut_entries",
    "cut_receipts",
    "cut_records",
    "cut_rows",
    "cut_sends",
    "encode_block",
    "look_into",
    "message_frames",
    "open_stored",
    "pack",
    "pack_rows",
    "replicas",
    "send_frames",
    "send_receipts",
    "share_rows",
    "source_places",
    "unpack",
    "unpack_as",
    "write_fields",
]

from typing import Final

from .plain import checksum as checksum
from .plain import columns as columns
from .plain import cut_acks as cut_acks
from .plain import cut_entries as cut_entries
from .plain import cut_records as cut_records
from .plain import cut_rows as cut_rows
from .plain import cut_sends as cut_sends
from .plain import encode_block as encode_block
from .plain import look_into as look_into
from .plain import message_frames as message_frames
from .plain import pack as pack
from .plain import pack_rows as pack_rows
from .plain import send_receipts as send_receipts
from .plain import share_rows as share_rows
from .plain import unpack as unpack
from .plain import unpack_as as unpack_as
from .plain import write_fields as write_fields

SOURCES: Final[str]

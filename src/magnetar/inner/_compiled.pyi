from typing import Final

from .plain import checksum as checksum
from .plain import cut_sends as cut_sends
from .plain import send_receipts as send_receipts

SOURCES: Final[str]

"""The inner loops as anybody can read them: head by head. They say what the compiled ones do."""

from .checksum import checksum
from .receipts import send_receipts
from .sends import cut_sends

__all__ = ["checksum", "cut_sends", "send_receipts"]

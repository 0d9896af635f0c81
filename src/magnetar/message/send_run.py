"""A run of sends: what one producer sent in one read of its socket, as parallel lists. Pure."""

from dataclasses import dataclass


@dataclass(slots=True)
class SendRun:
    """Consecutive sends of one producer, in the order of the wire, never empty.

    ``data`` are entries: metadata size, metadata, payload, without the checksum's 6-byte head;
    ``checksums`` their CRC32-C, verified. ``sequences`` are the sequence ids as the varints that
    came over the wire, ``highest`` the highest sequence ids likewise (None: no send had one; b"":
    this send had none): receipts echo them and nothing else looks. ``message_counts`` is how many
    messages each entry holds, 0 where only its metadata can tell.
    """

    producer_id: int
    sequences: list[bytes]
    data: list[bytes]
    checksums: list[int]
    message_counts: list[int]
    highest: list[bytes] | None = None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.data))

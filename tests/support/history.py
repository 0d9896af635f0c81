"""Entries of all kinds, as producers write them, and the file of a ledger that has them."""

from pathlib import Path

import pyarrow as pa

from magnetar import inner
from magnetar.history.file_reader import LedgerFile
from magnetar.history.file_writer import LedgerFileWriter
from magnetar.history.footer import Footer
from magnetar.inner.plain.batches import Single
from magnetar.message import batch, chunk, entry, metadata
from magnetar.message.compression import CompressionType, compress

TOPIC = "persistent://public/default/sales"
SENT_MS = 1_700_000_000_000


def single(value, *, sequence_id=0, compression=CompressionType.NONE, **said):
    """A message alone."""
    about = metadata.build(
        "shop",
        sequence_id,
        SENT_MS + sequence_id,
        compression=compression,
        uncompressed_size=len(value) if compression else None,
        **said,
    )
    return entry.join(about, compress(compression, value))


def batched(values, *, sequence_id=0, compression=CompressionType.NONE, details=None, **said):
    """A batch."""
    payload = batch.pack(list(values), first_sequence_id=sequence_id, details=details)
    about = metadata.build(
        "shop",
        sequence_id,
        SENT_MS + sequence_id,
        message_count=len(values),
        compression=compression,
        uncompressed_size=len(payload) if compression else None,
        **said,
    )
    return entry.join(about, compress(compression, payload))


def chunked(value, size, *, uuid="shop-9", compression=CompressionType.NONE):
    """A message in chunks."""
    payload = compress(compression, value)
    parts = chunk.split(payload, size)
    return [
        entry.join(
            metadata.build(
                "shop",
                9,
                SENT_MS,
                compression=compression,
                uncompressed_size=len(value) if compression else None,
                chunk=metadata.ChunkInfo(uuid, index, len(parts), len(payload)),
            ),
            part,
        )
        for index, part in enumerate(parts)
    ]


def encrypted(value=b"secret"):
    about = metadata.build("shop", 0, SENT_MS)
    key = metadata.EncryptedKey("bank", b"\1\2", {})
    return entry.join(about + metadata.build_encryption([key]) + metadata.build_iv(b"iv"), value)


def marker():
    """What a broker writes for brokers: field 20 of the metadata is its kind."""
    return entry.join(metadata.build("", 0, SENT_MS) + b"\xa0\x01\x15", b"")


def transactional(value=b"perhaps"):
    """A message of a transaction: fields 22 and 23 are its id."""
    return entry.join(metadata.build("shop", 0, SENT_MS) + b"\xb0\x01\x05\xb8\x01\x06", value)


def all_kinds():
    """An entry of each kind; the last one nobody can read."""
    details = {
        0: Single("customer-7", event_time_ms=SENT_MS + 1, properties={"colour": "blue"}),
        1: Single("Y3VzdG9tZXI=", key_b64=True, ordering_key=b"o", sequence_id=77),
    }
    return [
        single(b"a pen", key="customer-1", properties={"shop": "2"}, event_time_ms=5),
        single(b"", null_value=True, key="customer-1"),
        *(single(b"ink " * 50, compression=kind) for kind in CompressionType),
        batched([b"one", b"", b"three"], sequence_id=40, details=details),
        *(batched([b"red " * 9, b"green"], compression=kind) for kind in CompressionType),
        *chunked(b"a very large picture" * 9, 64),
        *chunked(b"a very large picture" * 9, 10, uuid="2", compression=CompressionType.ZLIB),
        single(b"versioned", schema_version=(3).to_bytes(8), ordering_key=b"o"),
        encrypted(),
        marker(),
        transactional(),
        b"no entry at all",
    ]


def write(path: Path, entries: list[bytes], *, ledger_id=7, partition=-1) -> Footer:
    """Write the file of a ledger."""
    with (
        pa.OSFile(str(path), "wb") as sink,
        LedgerFileWriter(sink, TOPIC, partition, ledger_id) as writer,
    ):
        writer.add(entries, list(map(inner.checksum, entries)))
        return writer.finish()


def opened(path: Path) -> LedgerFile:
    return LedgerFile(pa.OSFile(str(path), "rb"), path.name)

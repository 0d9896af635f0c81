"""The layout of a record of the log. Pure.

A record is a header, two tables and a body; all integers are little-endian:

    offset  size
         0     8  salt of the segment it was written to
         8     4  CRC-32C of bytes 12 to the end of the tables, seeded with salt and generation
        12     1  kind
        13     1  flags: 1 = several entries were joined, and bytes 16-20 are their CRC-32C
        14     2  zero
        16     4  CRC-32C of the body, or zero
        20     8  synced: everything before this offset of the segment was on disk by then
        28     8  ledger id
        36     8  BLOCK: first entry id; ENDED: number of entries; else zero
        44     8  size of the body
        52     4  number of entries
        56     8  zero
        64   4*n  length of each entry
             4*n  CRC-32C of each entry
             ...  the entries' bytes, back to back

A segment's stamp, its generation and eight random bytes, tells its records from all other bytes:
from what an earlier life of the file left behind, and from records that somebody put into an entry.
Nobody who writes entries knows the salt, so nobody can forge a record. Bodies of large entries are
covered by the entries' own checksums; small ones also by one over all of them, which lets recovery
check a thousand of them in one call. ``synced`` tells recovery a damaged record (something later
was written after it was safely on disk) from one that a crash tore.
"""

from struct import Struct

JOIN_BELOW = 512
"""Entries smaller than this on average are joined before they are written (bytes)."""

SALT_SIZE = 8
HEAD_SIZE = 64
TABLES_SIZE = 8
"""A block's overhead: a header, and a row in both tables for each entry."""

ENTRIES_MAX = 65_536
"""Entries in one block: longer runs become several blocks. No header with more is believed."""

NUMBER_MAX = 2**63 - 1
"""The largest id or count. No header with a greater one is believed."""

OFFSET_BITS = 36
"""A location is generation << 36 | offset: segments below 64 GiB, 268 million of them."""

BLOCK = 1
"""The kind of record that holds entries."""

JOINED = 1
COVERED_FROM = 12
COVERED = Struct("<BB2xIQQQQI8x")
"""A header without salt and checksum."""

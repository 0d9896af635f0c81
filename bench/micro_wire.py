"""What the protocol costs per entry: split, receipts, message frames, batches packed and unpacked.

    python bench/micro_wire.py

The best of several rounds: compare figures of one run only, and of one build of Python only.
*plain* is what the same costs through protobuf, entry by entry.
"""

import platform
import sysconfig
from collections.abc import Callable
from time import process_time_ns

import click
from google_crc32c import value as crc32c

from magnetar import inner
from magnetar.message import batch, metadata
from magnetar.message.entry import join
from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire import replies, requests
from magnetar.wire.frames import FrameDecoder, decode

ROUND_NS_MIN = 20_000_000
FIRST = 20_000  # sequence and entry ids of three bytes, as in a topic that is in use


def cost_ns(work: Callable[[], object], count: int, rounds: int) -> float:
    """Of one of the ``count`` things that ``work`` does."""
    repeats, best = 1, float("inf")
    done = 0
    while done < rounds:
        start = process_time_ns()
        for _ in range(repeats):
            work()
        took = process_time_ns() - start
        if took < ROUND_NS_MIN and done == 0 and repeats < 1_000_000:
            repeats *= 2
            continue
        best = min(best, took / repeats / count)
        done += 1
    return best


def entries(size: int, count: int, spread: int) -> list[bytes]:
    """Entries with payloads of ``size`` bytes, or up to ``spread`` more."""
    return [
        join(
            metadata.build("standalone-0-1", FIRST + index, 1_700_000_000_000),
            bytes([index % 251]) * (size + (index * 7 % spread if spread else 0)),
        )
        for index in range(count)
    ]


def sends(data: list[bytes]) -> list[bytes]:
    return [
        b"".join(requests.send(1, FIRST + index, entry, crc32c(entry)))
        for index, entry in enumerate(data)
    ]


def plain_messages(run: EntryRun) -> list[bytes]:
    return [
        piece
        for index, entry in enumerate(run.data)
        for piece in replies.message(
            1,
            Position(run.ledger_id, FIRST + index),
            partition=-1,
            entry=entry,
            checksum=run.checksums[index],
        )
    ]


def works(size: int, count: int, spread: int) -> dict[str, Callable[[], object]]:
    """By name: each does something once for ``count`` entries."""
    data = entries(size, count, spread)
    frames = sends(data)
    stream = b"".join(frames)
    decoder = FrameDecoder()
    checksums = list(map(crc32c, data))
    ids = list(range(FIRST, FIRST + count))
    run = SendRun.of(1, ids, data, checksums, [1] * count, [0] * count)
    stored = EntryRun(77, FIRST, data, checksums)
    payloads = [bytes([index % 251]) * (size + index * 7 % (spread or 1)) for index in range(count)]
    packed = batch.pack(payloads, first_sequence_id=FIRST)
    return {
        "split": lambda: decoder.feed(stream),
        "split, plain": lambda: [decode(frame, 0, len(frame)) for frame in frames],
        "receipts": lambda: replies.send_receipts(run, 77, FIRST),
        "receipts, plain": lambda: [
            replies.send_receipt(1, FIRST + index, 77, FIRST + index) for index in range(count)
        ],
        "frames": lambda: replies.message_frames(1, stored, partition=-1),
        "frames, plain": lambda: plain_messages(stored),
        "pack": lambda: batch.pack(payloads, first_sequence_id=FIRST),
        "unpack": lambda: batch.unpack(packed, count),
    }


@click.command()
@click.option("--rounds", default=5, show_default=True, help="Rounds, of which the best counts.")
def main(rounds: int) -> None:
    level = "".join(flag for flag in sysconfig.get_config_var("PY_CFLAGS").split() if "-O" in flag)
    name = f"{platform.python_implementation()} {platform.python_version()} ({level})"
    print(f"{name}, inner loops {inner.BUILD}, CPU nanoseconds per entry")
    kinds = [(100, 0, "100 B"), (1024, 0, "1 KiB"), (100, 100, "100-200 B")]
    counts = (1, 10, 100, 1000)
    print(f"{'':18}" + "".join(f"{label:>28}" for _, _, label in kinds))
    print(f"{'in a run of':18}" + f"{''.join(f'{count:7}' for count in counts)}" * len(kinds))
    table = {
        (size, spread, count): works(size, count, spread)
        for size, spread, _ in kinds
        for count in counts
    }
    for name in next(iter(table.values())):
        print(f"{name:18}", end="")
        for size, spread, _ in kinds:
            for count in counts:
                work = table[size, spread, count][name]
                print(f"{cost_ns(work, count, rounds):7.0f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()

"""Record the sends of the official clients: ``python -m bench.recordings.record [CLIENT]...``

A server that stores nothing answers what a producer asks for, and keeps the SEND frames it gets.
Python's client comes with ``.[dev]``, Java's with the jars that ``make bench-pulsar`` fetches, Go's
from the Go module proxy, if there is a ``go``.
"""

import asyncio
import contextlib
import gzip
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import click

from bench.pulsar_standalone import fetch
from magnetar.message.send_run import SendRun
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import replies
from magnetar.wire.frames import Frame, FrameDecoder

from . import HERE, split

SEND = 6
TIMEOUT_S = 300
KINDS = ("alone", "batches")  # What each program's first producer sends, and its second.


class Recorder(asyncio.Protocol):
    """One connection of the client that is recorded."""

    def __init__(self, url: str, sends: dict[int, bytearray]) -> None:
        self._url = url
        self._sends = sends  # Frames by producer.
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer whole frames; keep the rest of the last one."""
        data = self._rest + data
        end = 0
        while len(data) - end >= 4 and len(data) - end >= (size := _size(data, end)):
            self._take(data[end : end + size])
            end += size
        self._rest = data[end:]

    def _take(self, frame: bytes) -> None:
        [item] = FrameDecoder().feed(frame)
        if isinstance(item, SendRun) or item.command.type == SEND:
            send = pb.BaseCommand.FromString(frame[8 : 8 + _size(frame, 4) - 4]).send
            self._sends[send.producer_id] += frame
            answer = replies.send_receipt(send.producer_id, send.sequence_id, 1, send.sequence_id)
        else:
            answer = self._answer(item)
        self._transport.write(answer)

    def _answer(self, frame: Frame) -> bytes:
        command, answer = frame.command, b""
        match command.type:
            case pb.BaseCommand.CONNECT:
                answer = replies.connected("recorder", 21, 5 * 1024 * 1024)
            case pb.BaseCommand.PARTITIONED_METADATA:
                answer = replies.partitioned_metadata(command.partitionMetadata.request_id, 0)
            case pb.BaseCommand.LOOKUP:
                answer = replies.lookup_connect(command.lookupTopic.request_id, self._url)
            case pb.BaseCommand.PRODUCER:
                asked = command.producer
                answer = replies.producer_success(asked.request_id, f"recorded-{asked.producer_id}")
            case pb.BaseCommand.CLOSE_PRODUCER:
                answer = replies.success(command.close_producer.request_id)
            case pb.BaseCommand.PING:
                answer = replies.pong()
        return answer


def _size(data: bytes, position: int) -> int:
    return 4 + int.from_bytes(data[position : position + 4], "big")


def command_of(client: str, folder: Path) -> list[str]:
    """What starts the client's program, but for the service URL."""
    if client == "python":
        return [sys.executable, str(HERE / "sends.py")]
    if client == "java":
        return ["java", "-cp", f"{fetch()}/*", str(HERE / "Sends.java")]
    for line in (["mod", "init", "sends"], ["get", "github.com/apache/pulsar-client-go@v0.19.0"]):
        subprocess.run(["go", *line], cwd=folder, check=True, timeout=TIMEOUT_S)
    program = folder / "sends.go"
    program.write_bytes((HERE / "sends.go").read_bytes())
    subprocess.run(["go", "mod", "tidy"], cwd=folder, check=True, timeout=TIMEOUT_S)
    subprocess.run(["go", "build", "-o", "sends"], cwd=folder, check=True, timeout=TIMEOUT_S)
    return [str(folder / "sends")]


async def record(command: list[str]) -> list[bytes]:
    """The sends of each of the program's producers."""
    sends: dict[int, bytearray] = defaultdict(bytearray)
    loop = asyncio.get_running_loop()
    url = ""
    server = await loop.create_server(lambda: Recorder(url, sends), "127.0.0.1", 0)
    url = f"pulsar://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    process = await asyncio.create_subprocess_exec(*command, url, env=os.environ)
    try:
        await asyncio.wait_for(process.wait(), TIMEOUT_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        server.close()
    if process.returncode:
        raise click.ClickException(f"{command[0]} ended with {process.returncode}")
    return [bytes(sends[producer]) for producer in sorted(sends)]


@click.command()
@click.argument("clients", nargs=-1, type=click.Choice(["python", "java", "go"]))
@click.option("--folder", type=click.Path(path_type=Path), help="Where Go's client is built.")
def main(*, clients: tuple[str, ...], folder: Path | None) -> None:
    """Record these clients, or all of them."""
    for client in clients or ("python", "java", "go"):
        found = asyncio.run(record(command_of(client, folder or Path.cwd())))
        for kind, data in zip(KINDS, found, strict=True):
            name = f"{client}-{kind}.frames.gz"
            (HERE / name).write_bytes(gzip.compress(data, mtime=0))
            click.echo(f"{name}: {len(split(data))} frames, {len(data):,} bytes")


if __name__ == "__main__":
    main()

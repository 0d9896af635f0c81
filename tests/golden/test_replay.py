"""The replay itself: against a server that answers as recorded it finds nothing, else the place."""

import asyncio
import dataclasses

import pytest
from golden import conversation
from golden.compare import NOTHING
from golden.frames import join, parse, split
from golden.replay import ORDER, Replay


class RecordedBroker:
    """Plays the broker's side of one conversation, step by step, to whoever plays the clients'."""

    def __init__(self, recorded):
        self._steps = recorded.steps
        self._links = {}
        self._accepted = asyncio.Queue()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._playing = asyncio.create_task(self._play())
        return self

    async def __aexit__(self, *_):
        self._playing.cancel()
        await asyncio.gather(self._playing, return_exceptions=True)
        self._server.close()
        for _, writer in self._links.values():
            writer.transport.abort()

    async def _accept(self, reader, writer):
        await self._accepted.put((reader, writer))

    async def _play(self):
        for step in self._steps:
            if step.kind == "open":
                self._links[step.connection] = await self._accepted.get()
            elif step.kind == "<":
                self._links[step.connection][1].write(step.frame)
            elif step.kind == ">" and not self._links[step.connection][1].is_closing():
                await self._links[step.connection][0].readexactly(len(step.frame))
            elif step.kind in ("close", "closed"):
                self._links[step.connection][1].close()


def silent(name):
    """A conversation without the admin API, which nobody plays here."""
    recorded = conversation.load(name)
    return not any(step.kind in ("rest", "ranges") for step in recorded.steps)


async def no_time_passes(ms):
    """What is played waits for nothing."""


async def replay(recorded, played=None, **options):
    async with RecordedBroker(played or recorded) as broker:
        return await Replay(recorded, broker.port, 0, pass_to=no_time_passes, **options).run()


def changed(recorded, number, change):
    """The same conversation with one step of the broker changed, or left out where it is None."""
    steps = []
    for step in recorded.steps:
        frame = change(step.frame) if step.number == number else step.frame
        if frame is not None:
            steps.append(dataclasses.replace(step, frame=frame))
    return dataclasses.replace(recorded, steps=steps)


SHORT = [
    "flow-unknown",
    "send-after-close",
    "chunks",
    "redeliver-keyshared",
    "exclusive-dead-owner",
]


@pytest.mark.parametrize("name", SHORT)
async def test_what_was_recorded_has_no_differences_from_itself(name):
    assert silent(name)
    assert await replay(conversation.load(name)) == []


def first(recorded, command):
    for step in recorded.steps:
        if step.kind == "<" and command in str(parse(step.frame)):
            return step.number
    raise AssertionError(command)


async def test_a_changed_field_is_found():
    recorded = conversation.load("redeliver-keyshared")
    number = first(recorded, "redelivery_count: 1")

    def twice(frame):
        command = parse(frame)
        command.message.redelivery_count = 2
        return join(command.SerializeToString(), split(frame)[1])

    (found,) = await replay(recorded, changed(recorded, number, twice))
    assert (found.line, found.command, found.field) == (number, "MESSAGE", "redelivery_count")
    assert (found.pulsar, found.magnetar) == (1, 2)


async def test_a_changed_payload_is_found():
    recorded = conversation.load("chunks")
    number = first(recorded, "MESSAGE")
    flipped = changed(recorded, number, lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]))
    found = await replay(recorded, flipped)
    assert {one.field for one in found} == {"entry.payload", "entry.checksum"}


async def test_a_frame_that_never_comes_is_found():
    recorded = conversation.load("flow-unknown")
    number = first(recorded, "error: MetadataError")
    without = changed(recorded, number, lambda _: None)
    (found,) = await replay(recorded, without, answer_timeout_s=0.1)
    assert (found.line, found.magnetar) == (number, NOTHING)


async def test_a_frame_nobody_expects_is_found():
    recorded = conversation.load("flow-unknown")
    number = first(recorded, "error: MetadataError")
    found = await replay(recorded, changed(recorded, number, lambda frame: frame + frame))
    assert [(one.command, one.field) for one in found] == [("ERROR", ORDER), ("ERROR on a", "")]
    assert found[1].pulsar == NOTHING

"""What fuzzing found in the admin API, each in its smallest form."""

import asyncio
import gc
import logging
import tracemalloc

import pytest

from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request
from magnetar.testing.local_broker import LocalBroker

HEAD = b"PUT /admin/v2/tenants/t HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"


async def answers(request: bytes, *, ends: bool = False) -> bytes:
    """The status line, or what else came before the broker hung up. ``ends``: so did we."""
    async with LocalBroker() as broker:
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.web_port)
        writer.write(request)
        if ends:
            writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return answer.split(b"\r\n")[0]


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"a":' * 100_000, b'"\\ud800"', b'{"\\udfff": 1}', b'["\\ud800"]'],
    ids=lambda body: body[:20].decode(),
)
def test_a_body_that_cannot_be_parsed_or_written_again_is_unreadable(body):
    with pytest.raises(Rejection):
        arguments.body(Request("PUT", "/", body=body))


def test_text_beyond_the_basic_plane_is_fine():
    assert arguments.body(Request("PUT", "/", body=b'"\\ud83c\\udf0d"')) == "\U0001f30d"


async def test_half_a_character_in_a_body_is_the_senders_fault(caplog):
    body = b'"\\ud800"'
    path = b"PUT /admin/v2/namespaces/public/default/schemaCompatibilityStrategy HTTP/1.1\r\n"
    head = HEAD.replace(HEAD.split(b"\r\n")[0] + b"\r\n", path)
    sent = head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
    assert (await answers(sent)).startswith(b"HTTP/1.1 400")
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate", b"br", b"x, gzip"])
async def test_bodies_are_not_unzipped(encoding, caplog):
    # The library raised in the middle of its own clean-up for what was no zip, or never answered.
    sent = HEAD + b"Content-Encoding: %b\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd"
    assert (await answers(sent % encoding)).startswith(b"HTTP/1.1 415")
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS
        b"GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nNo colon\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"Content-Length: 10\r\n\r\nabc",  # And then it is gone.
    ],
    ids=lambda sent: sent[:24].decode(errors="replace"),
)
async def test_what_is_hardly_http_is_no_error_of_ours(sent, caplog):
    with caplog.at_level(logging.INFO):
        answer = await answers(sent, ends=True)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400"), answer
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_nothing_is_kept_of_a_body_that_broke_off():
    # The library's error held it, in a circle that was collected hours later.
    sent = HEAD + b"Content-Length: 1000000\r\n\r\n" + bytes(800_000)
    async with LocalBroker() as broker:
        await _break_off(broker, sent)
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(10):
                await _break_off(broker, sent)
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
    assert kept < 10 * 100_000


async def _break_off(broker, sent):
    """Send, and hang up; return when the broker has noticed."""
    _, writer = await asyncio.open_connection("127.0.0.1", broker.web_port)
    writer.write(sent)
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    # The next one is answered behind it.
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.web_port)
    writer.write(b"GET /admin/v2/clusters HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert await reader.read()
    writer.close()
    await writer.wait_closed()

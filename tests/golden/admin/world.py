"""The broker that the recorded exchanges are replayed on, and what asks it."""

import json
from contextlib import asynccontextmanager

import aiohttp
from support.by_proxy import edge_of
from unit.broker.admin.world import Answer
from yarl import URL

from magnetar import Client
from magnetar.model.names import TopicName
from magnetar.testing.local_broker import LocalBroker

RECORDED = b"localhost:8080"
SETTINGS = {"advertisedAddress": "localhost", "transactionCoordinatorEnabled": True}
USUAL = {"Accept": "application/json", "Content-Type": "application/json"}


class World:
    """A broker in the loop of the test; ``registry`` has its topics.

    ``ledgers`` has for every recorded id of a ledger that came up the one that is ours.
    """

    def __init__(self, local, session, client, edge):
        self.local = local
        self.registry = local.broker.registry
        self.client = client
        self.ledgers = {}
        self.times = {}  # The same for recorded times, which come up in paths.
        self.kept = {}  # Producers and consumers from one preparation to another.
        self._session = session
        self._edge = edge

    @property
    def behind_proxy(self):
        return self._edge.broker is not None

    async def ask(self, method, path, body=None, **headers) -> Answer:
        """Send a request; ``body`` is JSON, or bytes as they are; a header None is left out."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        path, data = self._here(path.encode()).decode(), data and self._here(data)
        sent = {k: v for k, v in {**USUAL, **headers}.items() if v is not None}
        async with self._session.request(
            method,
            URL(f"http://127.0.0.1:{self._edge.web_port}{path}", encoded=True),
            data=data,
            headers=sent,
            skip_auto_headers=("Accept", "Content-Type", "User-Agent"),
            allow_redirects=False,
        ) as response:
            text = self._elsewhere((await response.read()).decode(errors="replace"))
            kind = response.headers.get("Content-Type")
            return Answer(response.status, kind, text, response.headers)

    def _here(self, sent: bytes) -> bytes:
        """What is asked of the recorded broker, asked of ours."""
        return sent.replace(RECORDED, f"localhost:{self.local.web_port}".encode())

    def _elsewhere(self, answered: str) -> str:
        """What our broker answers, as if it were where the recorded one was."""
        answered = answered.replace(f"localhost:{self.local.web_port}", RECORDED.decode())
        return answered.replace(f"localhost:{self.local.port}", "localhost:6650")

    async def make(self, *requests):
        """Ask for what must be there: each a method, a path below /admin/v2, and a body."""
        for method, path, body in requests:
            answer = await self.ask(method, f"/admin/v2/{path}", body)
            assert answer.status in (200, 204), (method, path, answer)

    async def topic(self, name):
        """A topic, made where it is missing."""
        return await self.registry.create(TopicName.parse(name))

    async def send(self, topic, *payloads, **options):
        """A producer of its own, which has sent each payload by itself."""
        producer = await self.client.create_producer(topic, batching=False, **options)
        for payload in payloads:
            await producer.send(payload)
        return producer


@asynccontextmanager
async def open_world():
    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        LocalBroker(settings=SETTINGS) as local,
        edge_of(local) as edge,
        aiohttp.ClientSession(timeout=timeout) as session,
        Client(f"pulsar://127.0.0.1:{edge.port}") as client,
    ):
        yield World(local, session, client, edge)

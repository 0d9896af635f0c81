import logging

from aiohttp import web
from support.loop import until
from support.web import serving
from unit.client.peer import Peer

from magnetar.client.client import Client
from magnetar.client.failover import ControlledClusterFailover
from magnetar.wire.commands import BaseCommand


class Provider:
    """Says what it is told to; ``asked`` are the headers that it got."""

    def __init__(self):
        self.asked = []
        self.answer = web.json_response

    async def serve(self, request):
        self.asked.append(request.headers)
        return self.answer()


async def test_the_provider_says_which_cluster_is_used(peer, caplog):
    other, provider = Peer(), Provider()
    await other.start()
    said = {"serviceUrl": other.url, "authPluginClassName": "token", "authParamsString": "token:t"}
    async with serving(provider.serve) as address:
        provider.answer = lambda: web.json_response({"serviceUrl": peer.url})
        way = ControlledClusterFailover(
            "pulsar://127.0.0.1:1",
            f"http://{address}/where",
            headers={"X-Me": "s3cret"},
            check_interval_s=0.02,
        )
        with caplog.at_level(logging.WARNING):
            async with Client(way, backoff_first_s=0.01) as client:
                producer = await client.create_producer("t")
                await producer.send(b"where it is told")
                provider.answer = lambda: web.json_response(said)
                await until(lambda: other.of(BaseCommand.PRODUCER))
                await producer.send(b"where it is told now")
                asked = len(provider.asked)
                provider.answer = lambda: web.Response(status=503)
                await until(lambda: len(provider.asked) > asked + 3)
                provider.answer = lambda: web.json_response({"serviceUrl": "pulsar://a:s3cret@b"})
                await until(lambda: len(provider.asked) > asked + 8)
                await producer.send(b"nothing has changed")
    assert (len(peer.entries), len(other.entries)) == (1, 2)
    assert other.of(BaseCommand.CONNECT)[0].connect.auth_data == b"t"
    assert provider.asked[0]["X-Me"] == "s3cret"
    told = [one.message for one in caplog.records if one.name.endswith("provider_watch")]
    assert told[:2] == [
        f"client.cluster_switched from=pulsar://127.0.0.1:1 to={peer.url}",
        f"client.cluster_switched from={peer.url} to={other.url}",
    ]
    assert len(told) == 4  # And each trouble once.
    assert "503" in told[2]
    assert "service URL" in told[3]
    assert "s3cret" not in caplog.text
    assert "s3cret" not in repr(way)
    await other.stop()

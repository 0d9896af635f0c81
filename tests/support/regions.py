"""Clusters of one broker each, which know each other and replicate the namespace ``geo/ns``."""

from contextlib import AsyncExitStack, asynccontextmanager

from magnetar import Client
from magnetar.client.admin_api import AsyncAdminApi
from magnetar.errors import NotFound
from magnetar.model.names import TopicName
from magnetar.testing.local_broker import LocalBroker
from magnetar.testing.ports import free_port

NAMESPACE = "geo/ns"


class Region:
    """One cluster: how it is reached, a client of it, and its admin API.

    ``by`` is how other clusters reach it, if that is not as its own clients do.
    """

    def __init__(self, name, service_url, web_url, *, by=None):
        self.name = name
        self.service_url, self.web_url = service_url, web_url
        self.by = by or service_url
        self.admin = AsyncAdminApi(web_url)

    async def send(self, method, path, value=None, **query):
        return await self.admin.send(method, f"/admin/v2/{path}", value, **query)

    async def get(self, path, **query):
        return await self.admin.get(f"/admin/v2/{path}", **query)

    async def replicate(self, *clusters, namespace=NAMESPACE):
        await self.send("POST", f"namespaces/{namespace}/replication", list(clusters))

    async def stats(self, topic):
        return await self.get(topic.replace("://", "/") + "/stats")

    async def replication(self, topic):
        """What the stats of a topic say of other clusters; {} where there is no such topic."""
        try:
            return (await self.stats(topic))["replication"]
        except NotFound:
            return {}

    async def backlog(self, topic, cluster):
        """The entries of a topic that another cluster does not have yet."""
        return (await self.replication(topic))[cluster]["replicationBacklog"]


class LocalRegion(Region):
    """A region in the loop of a test, which may be down for a while."""

    def __init__(self, name, folder, settings):
        ports = {"brokerServicePort": free_port(), "webServicePort": free_port()}
        super().__init__(
            name,
            f"pulsar://127.0.0.1:{ports['brokerServicePort']}",
            f"http://127.0.0.1:{ports['webServicePort']}",
        )
        self._folder = None if folder is None else folder / name
        self._settings = {"clusterName": name, **ports, **settings}
        self._exit = AsyncExitStack()
        self.local = None
        self.client = None

    async def up(self):
        local = LocalBroker(self._folder, settings=self._settings)
        self.local = await self._exit.enter_async_context(local)
        self.client = await self._exit.enter_async_context(Client(self.service_url))

    async def down(self):
        await self._exit.aclose()

    @property
    def loaded(self):
        """The open topics of its broker, for tests that look inside."""
        return self.local.broker.registry.loaded

    def topic(self, name):
        return self.loaded[TopicName.parse(name)]

    def replicator(self, topic, cluster):
        return self.topic(topic).writer.replicators[cluster]


async def introduce(regions, namespace=NAMESPACE):
    """Tell each where the others are, and replicate a namespace among all of them."""
    names = [each.name for each in regions]
    tenant, _, _ = namespace.partition("/")
    for here in regions:
        for there in regions:
            if there is not here:
                urls = {"serviceUrl": there.web_url, "brokerServiceUrl": there.by}
                await here.send("PUT", f"clusters/{there.name}", urls)
        await here.send("PUT", f"tenants/{tenant}", {"allowedClusters": names})
        await here.send("PUT", f"namespaces/{namespace}")
        await here.replicate(*names, namespace=namespace)


@asynccontextmanager
async def regions(*names, folder=None, introduced=True, **settings):
    """Brokers of clusters with these names, in the loop of a test."""
    async with AsyncExitStack() as stack:
        found = [LocalRegion(name, folder, settings) for name in names]
        for region in found:
            stack.push_async_callback(region.down)
            await region.up()
        if introduced:
            await introduce(found)
        yield found

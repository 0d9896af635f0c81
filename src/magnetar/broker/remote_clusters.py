"""Topics of other clusters, as replicators send to them: with our client, as ``peers.py`` asks.

A cluster is reached as its record says: its URLs, its TLS, and who this broker is there, which the
settings of this broker's own client say where the record does not. When the record changes, the
connections to the cluster are closed, and made again as it says then.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from magnetar.broker.resources import Resources
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.settings.replication import ReplicationSettings
from magnetar.broker.topics.remote_topic import (
    OtherClusters,
    RemoteTopic,
    RemoteTopicUser,
)
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotAllowed, NotReady, TopicNotFound
from magnetar.late_dataclass import dataclass
from magnetar.message.send_run import SendRun
from magnetar.model.names import TopicName
from magnetar.model.records import ClusterData
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks
from magnetar.wire import requests
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame
from magnetar.wire.schemas import version_number

if TYPE_CHECKING:  # Who replicates nothing does not pay for it.
    from magnetar.client.config import ClientConfig
    from magnetar.client.connections.connection import Connection
    from magnetar.client.connections.http_request import HttpAnswer
    from magnetar.client.connections.lookup import Lookup
    from magnetar.client.connections.pool import ConnectionPool

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_S: Final = 30.0
LOOKUP_TIMEOUT_S: Final = 10.0
CONNECT_TIMEOUT_S: Final = 5.0
BACKOFF_FIRST_S: Final = 0.1
BACKOFF_MAX_S: Final = 10.0
ANSWER_SIZE_MAX: Final = 1 << 20
OK: Final = 200


@dataclass(slots=True)
class _Cluster:
    """How one cluster is reached."""

    name: str
    data: ClusterData
    config: "ClientConfig"
    pool: "ConnectionPool"
    lookup: "Lookup"

    async def ask(self, method: str, path: str, body: object = None) -> "HttpAnswer":
        """What its admin API answers. Raises NotAllowed where its address is not known."""
        from magnetar.client.connections.credentials import Credentials  # noqa: PLC0415 - as above
        from magnetar.client.connections.http_request import HttpRequests  # noqa: PLC0415
        from magnetar.client.connections.tls import Tls  # noqa: PLC0415

        by_tls = self.config.service_url.startswith(("pulsar+ssl", "https"))
        url = self.data.fields.get("serviceUrlTls" if by_tls else "serviceUrl")
        if not url:
            raise NotAllowed(f"the cluster {self.name} has no address of its admin API")
        bases = [base if "://" in base else f"http://{base}" for base in url.rstrip("/").split(",")]
        http = HttpRequests(
            Credentials(self.config.authentication),
            Tls(self.config) if by_tls else None,
            timeout_s=REQUEST_TIMEOUT_S,
            connection_timeout_s=CONNECT_TIMEOUT_S,
            redirects=5,
            answer_bytes=ANSWER_SIZE_MAX,
        )
        return await http.ask(
            bases,
            path,
            method,
            body=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )


class RemoteClusters:
    """Every other cluster that topics of this broker go to. Made in a running event loop."""

    def __init__(
        self,
        here: str,
        resources: Resources,
        schemas: SchemaRegistry,
        *,
        metadata: MetadataStore,
        settings: ReplicationSettings,
        client: Mapping[str, str],
        tls: bool,
        clock: Clock,
    ) -> None:
        """``client`` and ``tls`` are of this broker's own client: ``Peers`` has the same."""
        self.here = here
        self.resources = resources
        self.schemas = schemas
        self.settings = settings
        self.clock = clock
        self.ids = count(1)
        self.topics = OtherClusters(here, settings, self._topic)
        self._client = client
        self._by_tls = tls
        self._known: dict[str, _Cluster] = {}
        self._tasks = Tasks("other clusters")
        self._watch = metadata.watch(paths.CLUSTERS, self._changed)

    async def close(self) -> None:
        """Close all connections."""
        self._watch.cancel()
        await self._tasks.close()
        known, self._known = self._known, {}
        for cluster in known.values():
            await cluster.pool.close()

    async def reach(self, name: str) -> _Cluster:
        """A cluster. Raises NotAllowed where its record does not say how it is reached."""
        data = await self.resources.cluster(name)
        if data is None:
            raise NotAllowed(
                f"there is no record of the cluster {name}: `magnetar admin clusters create` it"
            )
        known = self._known.get(name)
        if known is None or known.data != data:
            self._forget(name)
            known = self._known[name] = self._opened(name, data)
        return known

    async def ask(self, name: str, path: str) -> object:
        """What the admin API of a cluster answers to a question, as JSON.

        Raises NotReady where it answers nothing that is any, and what keeps it from being asked.
        """
        answer = await (await self.reach(name)).ask("GET", path)
        try:
            if answer.status == OK:
                return json.loads(answer.body)
        except ValueError as error:
            raise NotReady(f"its admin API answers {path} with no JSON") from error
        raise NotReady(f"its admin API answers {path} with {answer.status}")

    def _topic(self, cluster: str, topic: TopicName, user: RemoteTopicUser) -> RemoteTopic:
        return RemoteProducer(self, cluster, topic, user)

    def _changed(self, _path: str) -> None:
        self._tasks.spawn("look at clusters", self._look_again())

    async def _look_again(self) -> None:
        for name, known in list(self._known.items()):
            if await self.resources.cluster(name) != known.data:
                self._forget(name)

    def _forget(self, name: str) -> None:
        """Close the connections to a cluster; whoever had them asks for it again."""
        known = self._known.pop(name, None)
        if known is not None:
            self._tasks.spawn(f"leave {name}", known.pool.close())

    def _opened(self, name: str, data: ClusterData) -> _Cluster:
        from magnetar.client.connections.backoff import Backoff  # noqa: PLC0415 - as above
        from magnetar.client.connections.cluster import Cluster  # noqa: PLC0415
        from magnetar.client.connections.lookup import Lookup  # noqa: PLC0415
        from magnetar.client.connections.pool import ConnectionPool  # noqa: PLC0415

        config = self._config(name, data)
        backoff = partial(Backoff, _first, first_s=BACKOFF_FIRST_S, max_s=BACKOFF_MAX_S)
        pool = ConnectionPool(config, Cluster(config, backoff, _first, reached=True), self.clock)
        return _Cluster(name, data, config, pool, Lookup(config, pool, self.clock, backoff))

    def _config(self, name: str, data: ClusterData) -> "ClientConfig":
        from magnetar.client.authentication.plugins import authentication_of  # noqa: PLC0415
        from magnetar.client.config import ClientConfig  # noqa: PLC0415 - as above

        said, own = data.fields, self._client
        by_tls = bool(said.get("brokerClientTlsEnabled")) or self._by_tls
        key = "brokerServiceUrlTls" if by_tls else "brokerServiceUrl"
        url = said.get(key)
        if not url:
            raise NotAllowed(f"the record of the cluster {name} has no {key}")
        plugin = said.get("authenticationPlugin") or own.get("authPluginClassName")
        parameters = said.get("authenticationParameters") or own.get("authParams", "")
        return ClientConfig(
            service_url=url,
            authentication=authentication_of(plugin, parameters) if plugin else None,
            listener_name=said.get("listenerName") or None,
            tls_trust_certs_file=_file(
                said, own, "brokerClientTrustCertsFilePath", "tlsTrustCertsFilePath", on=by_tls
            ),
            tls_certificate_file=_file(
                said, own, "brokerClientCertificateFilePath", "tlsCertificateFilePath", on=by_tls
            ),
            tls_key_file=_file(said, own, "brokerClientKeyFilePath", "tlsKeyFilePath", on=by_tls),
            tls_allow_insecure=by_tls and bool(said.get("tlsAllowInsecureConnection")),
            connections_per_broker=self.settings.connections_per_broker,
            connection_timeout_s=CONNECT_TIMEOUT_S,
            operation_timeout_s=LOOKUP_TIMEOUT_S,
        )


class RemoteProducer:
    """A producer of a topic of another cluster, for one replicator."""

    def __init__(
        self, clusters: RemoteClusters, cluster: str, topic: TopicName, user: RemoteTopicUser
    ) -> None:
        self._clusters = clusters
        self._cluster = cluster
        self._topic = topic
        self._user = user
        self._id = 0  # Of the producer that is attached, or about to be.
        self._name = clusters.topics.producer_name(clusters.here, cluster)
        self._connection: Connection | None = None
        self._tried: Connection | None = None  # That of the attempt under way.
        self._epoch = 0
        self._sequence = 0  # Of the next send.
        self._by_position = False  # Receipts name the places of entries here.
        self._schemas: dict[bytes, bytes] = {}
        self._tasks = Tasks(f"{self._name} of {topic}")
        self._attaching: asyncio.Task[None] | None = None
        self._pause_s = 0.0
        self.attached_ms = 0
        self.trouble = ""

    @property
    def address(self) -> str:
        return "" if self._connection is None else self._connection.endpoint.physical

    def attach(self) -> None:
        if self._connection is None and self._attaching is None:
            self._attaching = self._tasks.spawn("attach", self._attach())

    def detach(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            close = partial(requests.close_producer, self._id)
            connection.detach(connection.producers, self._id, close)
            self._detached()

    def again(self) -> None:
        self.detach()
        self.attach()

    def send(self, run: SendRun) -> None:
        if self._connection is None:
            return
        first, self._sequence = self._sequence, self._sequence + len(run)
        if not run.traits.unusual:
            self._connection.write_pieces(requests.sends(self._id, first, run))
            return
        for index, entry in enumerate(run.data):
            seen = run.traits.unusual.get(index)
            pieces = requests.send(
                self._id,
                first + index,
                entry,
                run.checksums[index],
                num_messages=run.message_counts[index],
                is_chunk=seen is not None and seen.chunk is not None,
                marker=seen is not None and seen.is_marker,
            )
            self._connection.write_pieces(pieces)

    def schema_version(self, version: bytes) -> bytes | None:
        return self._schemas.get(version)

    async def learn_schema(self, version: bytes) -> None:
        connection = self._connection
        if connection is None:
            raise NotReady(f"{self._topic} is not attached at the cluster {self._cluster}")
        try:
            number = version_number(version)
            found = await self._clusters.schemas.version(self._topic, number)
            ask = partial(
                requests.get_or_create_schema, topic=str(self._topic), schema=found.schema
            )
            answer = (await connection.request(ask, REQUEST_TIMEOUT_S)).command
            said = answer.getOrCreateSchemaResponse
            if said.HasField("error_code"):
                raise from_code(said.error_code, said.error_message)
        except MagnetarError as error:
            self.trouble = f"a schema of its messages is not taken there: {error}"
            raise
        self._schemas[version] = said.schema_version

    async def close(self) -> None:
        self.detach()
        await self._tasks.close()

    def on_receipt(self, frame: Frame) -> None:
        self.trouble = ""
        run = frame.receipts
        if run is None:
            receipt = frame.command.send_receipt
            sequences, highest = [receipt.sequence_id], [receipt.highest_sequence_id]
        else:
            sequences, highest = run.sequences, run.highest
        self._user.on_stored(sequences, highest, named=self._by_position)

    def on_send_error(self, frame: Frame) -> None:
        refusal = frame.command.send_error
        self.trouble = f"it refuses an entry: {from_code(refusal.error, refusal.message)}"
        log.warning(
            "replicator.refused topic=%s cluster=%s error=%s",
            self._topic,
            self._cluster,
            self.trouble,
        )
        self._pause_s = BACKOFF_MAX_S
        self.again()

    def on_detached(
        self, connection: "Connection", error: MagnetarError | None, *, moved: bool = False
    ) -> None:
        if self._tried is connection:
            self._tried = None
        if self._connection is connection:
            self._connection = None
            self.trouble = str(error or "its broker there let go of it")
            self._pause_s = 0.0 if moved else BACKOFF_FIRST_S
            self._detached()
            self.attach()

    def _detached(self) -> None:
        self.attached_ms = 0
        self._schemas.clear()
        self._user.on_detached()

    async def _attach(self) -> None:
        """Attach, after 100 ms again, 200 ms, and so on to ten seconds."""
        from magnetar.client.connections.backoff import Backoff  # noqa: PLC0415 - as above

        clock = self._clusters.clock
        backoff = Backoff(_first, first_s=BACKOFF_FIRST_S, max_s=BACKOFF_MAX_S)
        pause_s, self._pause_s = self._pause_s, 0.0
        while True:
            if pause_s:
                await clock.sleep(pause_s)
            try:
                connection = await self._attach_once()
            except MagnetarError as error:
                pause_s = backoff.next_s()
                if self.trouble != str(error):
                    self.trouble = str(error)
                    log.warning(
                        "replicator.not_attached topic=%s cluster=%s error=%s",
                        self._topic,
                        self._cluster,
                        error,
                    )
            else:
                break
        self._attaching = None
        self._connection, self.attached_ms, self.trouble = connection, clock.wall_ms(), ""
        log.info(
            "replicator.attached topic=%s cluster=%s broker=%s",
            self._topic,
            self._cluster,
            connection.endpoint.physical,
        )
        self._user.on_attached()

    async def _attach_once(self) -> "Connection":
        cluster = await self._clusters.reach(self._cluster)
        await self._check_partitions(cluster)
        connection = self._tried = await cluster.lookup.connect(str(self._topic))
        connection.cut_receipts()
        self._id = next(self._clusters.ids)  # Receipts for what was sent before go to nobody.
        connection.producers[self._id] = self
        self._epoch += 1
        try:
            await connection.request(
                partial(
                    requests.producer,
                    self._id,
                    topic=str(self._topic),
                    name=self._name,
                    epoch=self._epoch,
                    encrypted=self._user.encrypted,
                ),
                REQUEST_TIMEOUT_S,
            )
        except BaseException as error:
            close = partial(requests.close_producer, self._id)
            connection.detach(connection.producers, self._id, close)
            if isinstance(error, TopicNotFound) and self._clusters.settings.creates_topics:
                await self._make(cluster, "PUT", f"{_path(self._topic)}", None)
            raise
        kept, self._tried = self._tried, None
        if kept is not connection or connection.closed:
            raise NotReady(f"{self._topic} was let go of while it was attached")
        self._sequence = 0
        self._by_position = connection.replicates_by_position
        return connection

    async def _check_partitions(self, cluster: _Cluster) -> None:
        """See to it that the topic is there as it is here. Raises NotAllowed where it is not."""
        base = self._topic.partitioned_name
        try:
            there = await cluster.lookup.partitions(str(base), auto_create=False)
        except TopicNotFound:
            there = 0
        if self._topic.partition_index < 0:
            if there:
                raise NotAllowed(
                    f"{base} has {there} partitions in the cluster {cluster.name}, and none here: "
                    "delete one of the two topics"
                )
            return
        if self._topic.partition_index < there:
            return
        here = await self._clusters.resources.partitions(base)
        if here <= self._topic.partition_index:
            return  # It is no partition here, whatever it is called.
        if not self._clusters.settings.creates_topics:
            raise NotAllowed(
                f"{base} has {there} partitions in the cluster {cluster.name} and {here} here: "
                "make as many there (createTopicToRemoteClusterForReplication=false)"
            )
        method = "POST" if there else "PUT"
        await self._make(cluster, method, f"{_path(base)}/partitions", here)

    async def _make(self, cluster: _Cluster, method: str, path: str, body: object) -> None:
        """Make a topic there, or more partitions. Raises NotAllowed."""
        answer = await cluster.ask(method, path, body)
        if answer.status not in {200, 204, 409}:
            raise NotAllowed(
                f"the cluster {cluster.name} does not make {self._topic} ({answer.status}): "
                f"{answer.body[:300].decode(errors='replace')}"
            )
        log.info("replicator.made topic=%s cluster=%s", self._topic, cluster.name)


def _path(topic: TopicName) -> str:
    local = quote(topic.local, safe="")
    return f"/admin/v2/{topic.domain}/{topic.tenant}/{topic.namespace_local}/{local}"


def _file(
    said: Mapping[str, str], own: Mapping[str, str], key: str, own_key: str, *, on: bool
) -> str | None:
    return (said.get(key) or own.get(own_key) or None) if on else None


def _first() -> float:
    return 0.0

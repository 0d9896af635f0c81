"""What an administrator asks of either of two brokers is answered as if there were one."""

import asyncio
import json
import re
from contextlib import asynccontextmanager
from urllib.parse import quote

import aiohttp
import pytest
from cluster.conftest import two_brokers

from magnetar import Client, RegexSubscriptionMode
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import NamespaceName, TopicName
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata import paths
from magnetar.testing.ports import free_port

NAMESPACE = NamespaceName("public", "default")
ROOT = "/admin/v2"
SPACE = f"{ROOT}/namespaces/public/default"
TOPIC = "persistent://public/default/p"
PARTITIONS = 8


class Answer:
    def __init__(self, status, text):
        self.status = status
        self.text = text

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def reason(self):
        return self.json["reason"]


class Cluster:
    """Two brokers, each with half of the bundles of a namespace, of whom one is asked."""

    def __init__(self, pair, http, asked):
        self.pair = pair
        self.brokers = pair.brokers
        self.asked, self.other = (pair.brokers[each] for each in (asked, 1 - asked))
        self._http = http

    async def ask(self, method, path, body=None, *, at=None):
        """Ask the broker, and follow where it sends us."""
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        url = (at or self.asked).web_url + path
        async with self._http.request(method, url, data=data, headers=headers) as response:
            return Answer(response.status, await response.text())

    async def done(self, method, path, body=None):
        answer = await self.ask(method, path, body)
        assert answer.status in (200, 204), answer.text
        return answer

    async def divide(self, namespace=NAMESPACE):
        """Let each broker serve every second bundle."""
        policies = await self.asked.broker.registry._resources.require_namespace(namespace)
        for index, bundle in enumerate(policies.bundles.of(namespace)):
            ownership = self.pair.registries[index % 2].ownership
            assert await ownership.acquire(bundle) is ownership.own

    async def owner(self, name):
        """The broker that serves a topic."""
        for each in self.brokers:
            registry = each.broker.registry
            if registry.ownership.owns(await registry._resources.bundle(name)):
                return each
        return None

    async def one_of_the_other(self, domain="persistent"):
        """A name in a bundle of the broker that is not asked."""
        for number in range(100):
            name = TopicName.parse(f"{domain}://public/default/t{number}")
            if await self.owner(name) is self.other:
                return name
        raise AssertionError("no bundle is the other's")

    def loaded(self):
        return [set(map(str, each.loaded)) for each in self.pair.registries]

    async def publish(self, topic=TOPIC, count=4 * PARTITIONS, subscription="s"):
        """Messages for all partitions, and a subscription that has had none of them."""
        async with Client(self.asked.service_url) as client:
            consumer = await client.subscribe(topic, subscription)
            producer = await client.create_producer(topic, batch_messages_max=1)
            for number in range(count):
                await producer.send(b"%d" % number)
            await consumer.close()


def path_of(topic):
    name = TopicName.parse(topic)
    return f"{ROOT}/{name.domain}/{name.namespace}/{quote(name.local, safe='')}"


@asynccontextmanager
async def cluster_asked_at(asked):
    async with two_brokers() as pair, aiohttp.ClientSession() as http:
        cluster = Cluster(pair, http, asked)
        await cluster.divide()
        yield cluster


@pytest.fixture(params=[0, 1])
async def cluster(request):
    async with cluster_asked_at(request.param) as cluster:
        yield cluster


@pytest.fixture
async def partitioned(cluster):
    """A topic whose partitions are divided, each with four messages that nobody has read."""
    await cluster.done("PUT", f"{path_of(TOPIC)}/partitions", PARTITIONS)
    assert all(len(each) > 1 for each in cluster.loaded())
    await cluster.publish()
    return path_of(TOPIC)


async def backlog(cluster, path, subscription="s"):
    stats = (await cluster.done("GET", f"{path}/partitioned-stats")).json
    return stats["subscriptions"][subscription]["msgBacklog"]


async def test_a_topic_of_the_other_broker_is_asked_for_there(cluster):
    name = await cluster.one_of_the_other()
    path = path_of(str(name))
    await cluster.done("PUT", path)
    assert cluster.loaded()[cluster.brokers.index(cluster.other)] == {str(name)}
    stats = (await cluster.done("GET", f"{path}/stats")).json
    assert stats["ownerBroker"] == cluster.other.broker.address.name
    await cluster.done("PUT", f"{path}/subscription/s")
    assert (await cluster.done("GET", f"{path}/subscriptions")).json == ["s"]
    assert (await cluster.done("GET", f"{path}/internalStats")).json["cursors"].keys() == {"s"}
    await cluster.done("PUT", f"{path}/properties", {"k": "v"})
    assert (await cluster.done("GET", f"{path}/properties")).json == {"k": "v"}
    await cluster.done("POST", f"{path}/terminate")
    await cluster.done("PUT", f"{path}/unload")
    await cluster.done("DELETE", path)
    assert cluster.loaded() == [set(), set()]


async def test_stats_of_partitions_are_added_up_and_each_names_its_owner(cluster, partitioned):
    stats = (await cluster.done("GET", f"{partitioned}/partitioned-stats")).json
    assert stats["msgInCounter"] == 4 * PARTITIONS
    assert stats["subscriptions"]["s"]["msgBacklog"] == 4 * PARTITIONS
    assert len(stats["partitions"]) == PARTITIONS
    owners = {each["ownerBroker"] for each in stats["partitions"].values()}
    assert owners == {each.broker.address.name for each in cluster.brokers}
    alone = (await cluster.done("GET", f"{partitioned}/partitioned-stats?perPartition=false")).json
    assert alone["partitions"] == {}
    found = (await cluster.done("GET", f"{partitioned}/partitioned-internalStats")).json
    assert sum(each["numberOfEntries"] for each in found["partitions"].values()) == 4 * PARTITIONS
    info = (await cluster.done("GET", f"{partitioned}/internal-info")).json
    assert len(info["partitions"]) == PARTITIONS


async def test_subscriptions_are_made_listed_and_deleted_on_all_partitions(cluster, partitioned):
    await cluster.done("PUT", f"{partitioned}/subscription/new", "earliest")
    assert await backlog(cluster, partitioned, "new") == 4 * PARTITIONS
    twice = await cluster.ask("PUT", f"{partitioned}/subscription/new", "earliest")
    assert twice.status == 409
    assert sorted((await cluster.done("GET", f"{partitioned}/subscriptions")).json) == ["new", "s"]
    one = f"{partitioned}/subscription/new"
    await cluster.done("PUT", f"{one}/properties", {"a": "b"})
    assert (await cluster.done("GET", f"{one}/properties")).json == {"a": "b"}
    await cluster.done("POST", f"{one}/replicatedSubscriptionStatus", True)
    found = (await cluster.done("GET", f"{one}/replicatedSubscriptionStatus")).json
    assert found == {f"{TOPIC}-partition-{index}": True for index in range(PARTITIONS)}
    await cluster.done("DELETE", one)
    assert (await cluster.done("GET", f"{partitioned}/subscriptions")).json == ["s"]
    gone = await cluster.ask("DELETE", one)
    assert (gone.status, gone.reason) == (404, "Subscription not found")


async def test_backlogs_of_all_partitions_are_skipped_and_reset(cluster, partitioned):
    one = f"{partitioned}/subscription/s"
    await cluster.done("POST", f"{one}/skip_all")
    assert await backlog(cluster, partitioned) == 0
    await cluster.done("POST", f"{one}/resetcursor/1")
    assert await backlog(cluster, partitioned) == 4 * PARTITIONS
    missing = await cluster.ask("POST", f"{partitioned}/subscription/none/skip_all")
    assert missing.status == 404
    assert missing.reason == f"Subscription none not found for topic {TOPIC}"
    refused = await cluster.ask("POST", f"{one}/skip/1")
    assert (refused.status, "partitioned topic" in refused.reason) == (405, True)


async def test_messages_of_all_partitions_expire(cluster, partitioned):
    one = f"{partitioned}/subscription/s/expireMessages"
    async with asyncio.timeout(20):
        while await backlog(cluster, partitioned):  # Until all are a second old.
            await cluster.ask("POST", f"{one}/1")
    again = await cluster.ask("POST", f"{partitioned}/all_subscription/expireMessages/1")
    assert again.status == 409


async def test_all_partitions_are_unloaded_truncated_compacted_and_trimmed(cluster, partitioned):
    await cluster.done("PUT", f"{partitioned}/unload")
    assert cluster.loaded() == [set(), set()]
    await cluster.done("PUT", f"{partitioned}/compaction")
    assert sum(map(len, cluster.loaded())) == PARTITIONS
    await cluster.done("POST", f"{partitioned}/trim")
    await cluster.done("DELETE", f"{partitioned}/truncate")
    assert await backlog(cluster, partitioned) == 0


async def test_all_partitions_are_terminated(cluster, partitioned):
    found = (await cluster.done("POST", f"{partitioned}/terminate/partitions")).json
    assert found.keys() == set(map(str, range(PARTITIONS)))
    assert {each["entryId"] for each in found.values()} == {3}


async def test_partitions_are_added_with_the_subscriptions_of_the_first(cluster, partitioned):
    await cluster.done("POST", f"{partitioned}/partitions", PARTITIONS + 4)
    stats = (await cluster.done("GET", f"{partitioned}/partitioned-stats")).json
    assert len(stats["partitions"]) == PARTITIONS + 4
    assert all(each["subscriptions"].keys() == {"s"} for each in stats["partitions"].values())


async def test_a_partitioned_topic_is_deleted_or_left_whole(cluster, partitioned):
    async with Client(cluster.asked.service_url) as client:
        name = TOPIC + f"-partition-{PARTITIONS - 1}"
        producer = await client.create_producer(name)
        refused = await cluster.ask("DELETE", f"{partitioned}/partitions")
        assert refused.status == 412
        assert len((await cluster.done("GET", f"{ROOT}/persistent/{NAMESPACE}")).json) == PARTITIONS
        await producer.close()
    await cluster.done("DELETE", f"{partitioned}/partitions?force=true")
    assert cluster.loaded() == [set(), set()]
    assert (await cluster.done("GET", f"{ROOT}/persistent/{NAMESPACE}")).json == []


async def test_messages_are_published_to_all_partitions_and_browsed_together(cluster, partitioned):
    sent = [{"value": f"m{number}", "key": f"k{number}"} for number in range(20)]
    answer = await cluster.done("POST", f"{partitioned}/messages", {"messages": sent})
    places = [each["id"]["partitionIndex"] for each in answer.json["results"]]
    assert len(places) == 20
    assert len(set(places)) > 4
    pulsars = {"messages": [{"payload": "x", "key": f"k{number}"} for number in range(20)]}
    answer = await cluster.done("POST", f"/topics/persistent/{NAMESPACE}/p", pulsars)
    said = [each["messageId"].rpartition(":")[2] for each in answer.json["messagePublishResults"]]
    assert list(map(int, said)) == places
    found, start = [], "earliest"
    while start:
        page = await cluster.done("GET", f"{partitioned}/messages?from={start}&count=9")
        found += page.json["messages"]
        start = page.json["next"]
    assert len(found) == 4 * PARTITIONS + 40
    times = [each["publishTime"] for each in found]
    assert times == sorted(times)


async def test_what_one_broker_must_do_for_all_partitions_is_refused_clearly(cluster, partitioned):
    answer = await cluster.ask("GET", f"{partitioned}/messages/tail")
    assert answer.status == 405
    assert (
        "are served by 2 brokers, and a tail is one stream: ask for one partition" in answer.reason
    )


async def test_messages_of_all_partitions_are_replayed(cluster, partitioned):
    await cluster.done("POST", f"{partitioned}/subscription/s/skip_all")
    path = f"{partitioned}/subscription/s/replay"
    dry = (await cluster.done("POST", path, {"dryRun": True})).json
    assert (dry["entries"], dry["complete"]) == (4 * PARTITIONS, True)
    assert await backlog(cluster, partitioned) == 0
    found = (await cluster.done("POST", path, {"count": 5})).json
    assert (found["entries"], found["complete"]) == (5, False)
    assert await backlog(cluster, partitioned) == 5
    missing = await cluster.ask("POST", f"{partitioned}/subscription/none/replay", {})
    assert missing.status == 404


async def test_a_diagnosis_has_all_partitions(cluster, partitioned):
    found = (await cluster.done("GET", f"{partitioned}/subscription/s/diagnosis")).json
    assert len(found["partitions"]) == PARTITIONS


async def test_non_persistent_topics_of_both_brokers_are_listed(cluster):
    names = [f"non-persistent://public/default/n{number}" for number in range(12)]
    async with Client(cluster.asked.service_url) as client:
        for name in names:
            await client.create_producer(name)
        assert all(cluster.loaded())
        found = (await cluster.done("GET", f"{ROOT}/non-persistent/{NAMESPACE}")).json
        assert found == sorted(names)
        for mode in ("ALL", "NON_PERSISTENT"):
            assert (await cluster.done("GET", f"{SPACE}/topics?mode={mode}")).json == sorted(names)
        consumer = await client.subscribe(
            re.compile("non-persistent://public/default/n.*"),
            "s",
            regex_subscription_mode=RegexSubscriptionMode.NON_PERSISTENT_ONLY,
        )
        assert sorted(map(str, consumer.topics)) == sorted(names)
        full = await cluster.ask("DELETE", SPACE)
        assert (full.status, full.reason) == (409, "Cannot delete non empty namespace")


async def test_backlogs_and_subscriptions_of_a_namespace_go_everywhere(cluster, partitioned):
    await cluster.done("POST", f"{SPACE}/clearBacklog/s")
    assert await backlog(cluster, partitioned) == 0
    missing = await cluster.ask("POST", f"{SPACE}/clearBacklog/none")
    assert missing.status == 404
    await cluster.done("POST", f"{partitioned}/subscription/s/resetcursor/1")
    await cluster.done("POST", f"{SPACE}/clearBacklog")
    assert await backlog(cluster, partitioned) == 0
    await cluster.done("POST", f"{SPACE}/unsubscribe/s")
    assert (await cluster.done("GET", f"{partitioned}/subscriptions")).json == []


@pytest.mark.usefixtures("partitioned")
async def test_a_namespace_is_unloaded_at_both_brokers(cluster):
    await cluster.done("PUT", f"{SPACE}/unload")
    assert cluster.loaded() == [set(), set()]
    assert [each.ownership.bundles for each in cluster.pair.registries] == [[], []]


@pytest.mark.usefixtures("partitioned")
async def test_a_bundle_is_asked_for_at_its_owner_and_handed_over(cluster):
    bundle = cluster.other.broker.registry.ownership.bundles[0]
    path = f"{SPACE}/{bundle.range}"
    places = (await cluster.done("GET", f"{path}/topicHashPositions")).json
    assert places["topicHashPositions"]
    name = cluster.asked.broker.address.name
    await cluster.done("PUT", f"{path}/unload?destinationBroker={name}")
    held = next(iter(places["topicHashPositions"]))
    await cluster.done("GET", f"{path_of(held)}/stats")
    assert cluster.asked.broker.registry.ownership.owns(bundle)
    refused = await cluster.ask("PUT", f"{path}/unload?destinationBroker=nobody:1")
    assert (refused.status, "nobody:1" in refused.reason) == (404, True)


@pytest.mark.usefixtures("partitioned")
async def test_a_bundle_is_split_at_its_owner(cluster):
    bundle = cluster.other.broker.registry.ownership.bundles[0]
    await cluster.done("PUT", f"{SPACE}/{bundle.range}/split")
    parts = cluster.other.broker.registry.ownership.bundles
    assert len(parts) == 3


async def test_a_namespace_is_deleted_by_force_with_what_both_brokers_serve(cluster):
    namespace = NamespaceName("public", "n")
    await cluster.done("PUT", f"{ROOT}/namespaces/{namespace}", {"bundles": {"numBundles": 8}})
    await cluster.divide(namespace)
    await cluster.done("PUT", f"{ROOT}/persistent/{namespace}/p/partitions", PARTITIONS)
    names = [
        f"{domain}://{namespace}/x{n}"
        for domain in ("persistent", "non-persistent")
        for n in range(6)
    ]
    async with Client(cluster.asked.service_url) as client:
        for name in names:
            await client.create_producer(name)
        for each in names[:6:2]:
            await cluster.done("PUT", f"{path_of(each)}/unload")  # Its producer opens it again.
        setting = "brokers/configuration/forceDeleteNamespaceAllowed/true"
        await cluster.done("POST", f"{ROOT}/{setting}")
        await cluster.done("DELETE", f"{ROOT}/namespaces/{namespace}?force=true")
        assert cluster.loaded() == [set(), set()]
    assert (await cluster.ask("GET", f"{ROOT}/namespaces/{namespace}")).status == 404


async def test_both_brokers_are_listed_and_one_leads(cluster):
    names = sorted(each.broker.address.name for each in cluster.brokers)
    assert (await cluster.done("GET", f"{ROOT}/brokers")).json == names
    leads = [
        (await cluster.ask("GET", f"{ROOT}/brokers/leaderBroker", at=each)).json
        for each in cluster.brokers
    ]
    assert leads[0] == leads[1]
    assert leads[0]["brokerId"] in names
    for each in cluster.brokers:
        path = f"{ROOT}/brokers/standalone/{each.broker.address.name}/ownedNamespaces"
        owned = (await cluster.done("GET", path)).json
        assert owned.keys() == set(map(str, each.broker.registry.ownership.bundles))


async def test_a_broker_that_stopped_is_listed_no_more_and_another_leads():
    async with two_brokers() as pair, aiohttp.ClientSession() as http:
        cluster = Cluster(pair, http, 0)
        await cluster.ask("GET", f"{ROOT}/brokers/leaderBroker", at=cluster.other)
        await cluster.other.__aexit__(None, None, None)
        name = cluster.asked.broker.address.name
        assert (await cluster.done("GET", f"{ROOT}/brokers")).json == [name]
        leader = (await cluster.done("GET", f"{ROOT}/brokers/leaderBroker")).json
        assert leader["brokerId"] == name


async def test_a_broker_whose_session_was_lost_is_listed_again():
    async with two_brokers() as pair, aiohttp.ClientSession() as http:
        cluster = Cluster(pair, http, 0)
        pair.sessions[1].expire()
        name = cluster.other.broker.address.name
        async with asyncio.timeout(10):
            while name not in (await cluster.done("GET", f"{ROOT}/brokers")).json:
                pass


async def test_a_dynamic_setting_holds_at_both_brokers(cluster):
    await cluster.done("POST", f"{ROOT}/brokers/configuration/maxTopicsPerNamespace/7")
    for each in cluster.brokers:
        async with asyncio.timeout(10):
            while (await each.broker.registry._policies.combined(NAMESPACE)).policies.given()[
                "topics_per_namespace_max"
            ] != 7:
                await cluster.ask("GET", f"{ROOT}/brokers/version", at=each)
        values = await cluster.ask("GET", f"{ROOT}/brokers/configuration/values", at=each)
        assert values.json == {"maxTopicsPerNamespace": "7"}


async def test_a_broker_that_does_not_answer_is_named_and_nothing_hangs(cluster, partitioned):
    """Its process is gone, and its session has not ended yet."""
    await cluster.done("PUT", f"{SPACE}/unload")
    gone = BrokerAddress.of("127.0.0.1", free_port(), free_port())
    session = cluster.pair.sessions[0]
    name = TopicName.parse(TOPIC).partition(3)
    bundle = await cluster.asked.broker.registry._resources.bundle(name)
    await session.put(paths.bundle_owner(bundle), JsonCodec().encode_owner(gone), ephemeral=True)
    async with asyncio.timeout(10):
        for method, path in (
            ("GET", f"{partitioned}/partitioned-stats"),
            ("POST", f"{partitioned}/subscription/s/skip_all"),
            ("POST", f"{SPACE}/clearBacklog"),
            ("PUT", f"{SPACE}/unload"),
        ):
            refused = await cluster.ask(method, path)
            assert (refused.status, gone.name in refused.reason) == (503, True), refused.text


async def test_a_request_that_was_passed_on_is_never_passed_on_again(cluster, partitioned):
    headers = {"X-Magnetar-Passed-On": "somebody:1"}
    name = await cluster.one_of_the_other()
    await cluster.done("PUT", path_of(str(name)))
    async with aiohttp.ClientSession(headers=headers) as http:
        for path in (f"{path_of(str(name))}/stats", f"{partitioned}/partitioned-stats"):
            url = cluster.asked.web_url + path
            async with http.get(url, allow_redirects=False) as response:
                assert response.status == (503 if path.startswith(partitioned) else 421)


async def test_requests_are_answered_while_bundles_move(cluster, partitioned):
    """Each of many requests about all partitions is answered, wherever they are just then."""

    async def move():
        for index in range(20):
            here, there = cluster.pair.registries[:: 1 if index % 2 else -1]
            for bundle in here.ownership.bundles:
                await here.unload_bundle(bundle, there.ownership.own)

    moving = asyncio.ensure_future(move())
    while not moving.done():
        stats = (await cluster.done("GET", f"{partitioned}/partitioned-stats")).json
        assert len(stats["partitions"]) == PARTITIONS
        await cluster.done("POST", f"{partitioned}/subscription/s/resetcursor/1")
        await cluster.done("GET", f"{path_of(TOPIC + '-partition-0')}/stats")
    await moving
    assert await backlog(cluster, partitioned) == 4 * PARTITIONS

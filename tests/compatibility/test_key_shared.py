"""Key_Shared for the official client: who gets which key, what waits, and what is said of it."""

import re
import threading
from collections import defaultdict
from itertools import pairwise

import pulsar
import pytest
from compatibility.conftest import open_client, stats
from pulsar import ConsumerKeySharedPolicy, ConsumerType, InitialPosition, KeySharedMode
from support.elsewhere import wait_until

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

KEYS = [f"key-{number}" for number in range(20)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    settings = {"activeConsumerFailoverDelayTimeMillis": 50}
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data", settings=settings) as broker:
        yield broker


class Member:
    """A consumer of the subscription, and how many messages it has received."""

    def __init__(self, broker, consumer):
        self.consumer = consumer
        self._broker = broker
        self._count = 0

    def receive(self):
        self._count += 1
        return self.consumer.receive(20_000)

    def received(self, *, acknowledge=False):
        """All that the broker has sent to it by now."""
        shown = stats(self._broker, self.consumer.topic())["subscriptions"]["s"]["consumers"]
        name = self.consumer.consumer_name()
        [sent] = [one["msgOutCounter"] for one in shown if one["consumerName"] == name]
        found = [self.receive() for _ in range(sent - self._count)]
        for message in found if acknowledge else ():
            self.consumer.acknowledge(message)
        return found


@pytest.fixture
def join(broker, client, topic):
    def join(name, **options):
        return Member(broker, subscribe(client, topic, name, **options))

    return join


def subscribe(client, topic, name, *, ranges=None, any_order=False, **options):
    mode = KeySharedMode.AutoSplit if ranges is None else KeySharedMode.Sticky
    return client.subscribe(
        topic,
        "s",
        consumer_type=ConsumerType.KeyShared,
        consumer_name=name,
        initial_position=InitialPosition.Earliest,
        key_shared_policy=ConsumerKeySharedPolicy(mode, any_order, ranges),
        **options,
    )


def publish(producer, numbers, keys=KEYS):
    """A message for each number, to the keys in turn."""
    for number in numbers:
        producer.send_async(b"%d" % number, None, partition_key=keys[number % len(keys)])
    producer.flush()


def numbers(messages):
    return [int(message.data()) for message in messages]


def reason(broker, topic):
    return stats(broker, topic)["subscriptions"]["s"].get("blockedReason")


def until_reason(broker, topic, pattern):
    return wait_until(
        lambda: reason(broker, topic),
        "statistics are asked for, not told",
        met=lambda text: text is not None and re.fullmatch(pattern, text),
    )


def test_each_key_has_one_consumer_and_its_order_as_consumers_come_and_go(client, topic, join):
    producer = client.create_producer(topic, batching_enabled=False)
    members = {name: join(name) for name in ("a", "b")}
    seen = defaultdict(list)  # By key: number and consumer, in the order of arrival.

    def receive_some():
        for name, member in members.items():
            for message in member.received(acknowledge=True):
                seen[message.partition_key()].append((int(message.data()), name))
        return sum(map(len, seen.values()))

    def receive_until(count):
        wait_until(receive_some, "keys wait for acknowledgements", met=count.__le__)

    publish(producer, range(100))
    receive_until(100)
    assert {len({name for _, name in its}) for its in seen.values()} == {1}
    members["c"] = join("c")
    publish(producer, range(100, 200))
    receive_until(200)
    members.pop("a").consumer.close()
    publish(producer, range(200, 300))
    receive_until(300)
    for number, key in enumerate(KEYS):
        assert [each for each, _ in seen[key]] == list(range(number, 300, len(KEYS)))
    assert {name for its in seen.values() for _, name in its[-5:]} == {"b", "c"}


def test_a_stuck_consumer_holds_only_its_own_keys(broker, client, topic, join):
    producer = client.create_producer(topic, batching_enabled=False)
    stuck = join("stuck", receiver_queue_size=1)
    free = join("free")
    publish(producer, range(100))
    until_reason(broker, topic, "consumer stuck has given no permits")
    theirs = free.received(acknowledge=True)
    keys = {message.partition_key() for message in theirs}
    assert numbers(theirs) == [n for n in range(100) if KEYS[n % 20] in keys]
    publish(producer, range(100, 200))
    assert numbers(free.received()) == [n for n in range(100, 200) if KEYS[n % 20] in keys]
    mine = [stuck.receive() for _ in range(200 - 10 * len(keys))]
    assert numbers(mine) == [n for n in range(200) if KEYS[n % 20] not in keys]


def test_a_key_that_moves_waits_for_its_former_consumer_alone(broker, client, topic, join):
    producer = client.create_producer(topic, batching_enabled=False)
    old = join("old")
    publish(producer, range(20))
    held = {message.partition_key(): message for message in old.received()}
    new = join("new")
    publish(producer, range(20, 40))
    moved = set(KEYS) - {message.partition_key() for message in old.received()}
    assert moved
    assert new.received() == []
    until_reason(broker, topic, r"consumer old has held entries of hash slot \d+ for \d+ s")
    first = min(moved)
    old.consumer.acknowledge(held[first])
    assert new.receive().partition_key() == first
    assert new.received() == []
    old.consumer.close()
    assert {message.partition_key() for message in new.received()} == {*KEYS} - {first}


def test_what_is_of_a_gap_between_declared_ranges_waits_and_says_so(broker, client, topic, join):
    producer = client.create_producer(topic, batching_enabled=False)
    low = join("low", ranges=[(0, 20_000), (20_001, 32_767)])
    publish(producer, range(20))
    first = numbers(low.received())
    assert 0 < len(first) < 20
    until_reason(broker, topic, r"no consumer has declared hash slot \d+")
    for wrong in ([(32_767, 40_000)], [(50_000, 40_000)], [(1, 2), (2, 3)], []):
        with pytest.raises((pulsar.ConsumerAssignError, ValueError)):
            join("wrong", ranges=wrong)
    with pytest.raises(pulsar.ConsumerBusy):
        join("automatic")
    high = join("high", ranges=[(32_768, 65_535)])
    assert numbers(high.received()) == sorted({*range(20)} - {*first})


def test_all_consumers_allow_out_of_order_delivery_or_none(client, topic, join):
    producer = client.create_producer(topic, batching_enabled=False)
    first = join("first", any_order=True)
    publish(producer, range(20))
    assert len(first.received()) == 20
    with pytest.raises(pulsar.ConsumerBusy):
        join("ordered")
    second = join("second", any_order=True)
    publish(producer, range(20, 40))
    assert len(second.received()) > 0  # Nothing waits for what the first one holds.


def test_messages_without_a_key_are_spread(client, topic, join):
    producer = client.create_producer(topic, batching_enabled=False)
    both = [join(name) for name in "ab"]
    for number in range(100):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    counts = [len(member.received()) for member in both]
    assert sum(counts) == 100
    assert min(counts) > 20


def test_batches_by_key_go_where_their_key_goes(client, topic, join):
    producer = client.create_producer(
        topic,
        batching_enabled=True,
        batching_max_publish_delay_ms=200,
        batching_type=pulsar.BatchingType.KeyBased,
    )
    both = [join(name) for name in "ab"]
    publish(producer, range(100))
    found = [member.received() for member in both]
    assert sorted(numbers(found[0] + found[1])) == list(range(100))
    keys = [{message.partition_key() for message in messages} for messages in found]
    assert keys[0] | keys[1] == set(KEYS)
    assert not keys[0] & keys[1]


def test_a_subscription_changes_its_type_when_all_have_left(client, topic):
    producer = client.create_producer(topic)
    for kind, other in pairwise([*ConsumerType.__members__.values(), ConsumerType.Exclusive]):
        consumer = client.subscribe(topic, "s", consumer_type=kind)
        with pytest.raises(pulsar.ConsumerBusy):
            client.subscribe(topic, "s", consumer_type=other)
        producer.send(kind.name.encode())
        assert consumer.receive(20_000).data() == kind.name.encode()
        consumer.close()  # What it did not acknowledge stays,
        consumer = client.subscribe(topic, "s", consumer_type=other)
        message = consumer.receive(20_000)  # for a consumer of any type.
        assert message.data() == kind.name.encode()
        consumer.acknowledge(message)
        consumer.close()


class Arrivals:
    """Takes and acknowledges messages as a listener does, for several consumers."""

    def __init__(self):
        self.by_key = defaultdict(list)
        self._numbers = set()
        self._changed = threading.Condition()

    def listener(self, consumer, message):
        with self._changed:
            self.by_key[message.partition_key()].append(int(message.data()))
            self._numbers.add(int(message.data()))
            self._changed.notify_all()
        consumer.acknowledge(message)

    def wait_for(self, count):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._numbers) >= count, 30), self._numbers


def test_a_key_keeps_its_order_though_the_broker_is_killed(tmp_path, topic):
    """What was not saved as acknowledged comes once more, in order again."""
    with BrokerProcess(tmp_path / "data") as broker:
        client, arrivals = open_client(broker.service_url), Arrivals()
        producer = client.create_producer(topic, batching_enabled=False)
        for name in "ab":
            subscribe(client, topic, name, message_listener=arrivals.listener)
        publish(producer, range(200))
        arrivals.wait_for(150)
        broker.kill()
        broker.start()
        publish(producer, range(200, 300))
        arrivals.wait_for(300)
        client.close()
    for its in arrivals.by_key.values():
        assert sorted(set(its)) == list(range(min(its), 300, len(KEYS)))
        assert sum(one >= other for one, other in pairwise(its)) <= 1  # Where it was killed.

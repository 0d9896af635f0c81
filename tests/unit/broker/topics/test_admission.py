from dataclasses import dataclass, field, replace

import pytest

from magnetar.broker.settings.policies import PolicySettings
from magnetar.broker.topics.admission import Admission
from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.broker.topics.topic_state import TopicState
from magnetar.errors import (
    ConsumerBusy,
    LimitReached,
    NotAllowed,
    ProducerBusy,
    SubscriptionNotFound,
)
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.subscriptions import SubscriptionType

TOPIC = TopicName.parse("persistent://public/default/t")


@dataclass
class Present:
    """A subscription, as far as its places count."""

    name: str
    durable: bool = True
    consumers: list[int] = field(default_factory=list)


class Places:
    def __init__(self, **policies):
        self.producers = {}
        self.subscriptions = {}
        self.state = TopicState(TOPIC, None, Policies(**policies))
        self.admission = Admission(
            self.state,
            producers=self.producers,
            subscriptions=self.subscriptions,
        )

    def refuses(self, error, text, place):
        with pytest.raises(error, match=text), place:
            raise AssertionError("it was let in")

    def consumer(self, name, kind=SubscriptionType.SHARED):
        return self.admission.consumer(SubscribeRequest(name, kind, 1))


def test_where_there_is_no_limit_everybody_comes():
    places = Places(producers_per_topic_max=0)
    producers = places.admission.producer("a"), places.admission.producer("b")
    with producers[0], producers[1], places.consumer("s"), places.admission.subscription("s"):
        pass


def test_a_producer_under_way_has_its_place():
    places = Places(producers_per_topic_max=2)
    places.producers["present"] = object()
    text = f"Topic '{TOPIC}' reached max producers limit"
    with places.admission.producer("a"):
        places.refuses(ProducerBusy, text, places.admission.producer("b"))
    with places.admission.producer("b"):
        pass


def test_a_producer_that_comes_back_takes_its_own_place():
    places = Places(producers_per_topic_max=1)
    places.producers["a"] = object()
    with places.admission.producer("a"):
        places.refuses(ProducerBusy, "max producers", places.admission.producer("b"))


def test_a_consumer_under_way_has_its_place_on_the_topic():
    places = Places(consumers_per_topic_max=2)
    places.subscriptions["s"] = Present("s", consumers=[1])
    text = "Topic reached max consumers limit"
    with places.consumer("other"):
        places.refuses(ConsumerBusy, text, places.consumer("third"))
    with places.consumer("third"):
        pass


def test_a_consumer_under_way_has_its_place_on_the_subscription():
    places = Places(consumers_per_subscription_max=1)
    text = "Subscription reached max consumers limit"
    with places.consumer("s"):
        places.refuses(ConsumerBusy, text, places.consumer("s"))
        with places.consumer("other"):
            pass


def test_a_place_is_given_back_by_who_did_not_come():
    places = Places(consumers_per_topic_max=1)
    with pytest.raises(RuntimeError), places.consumer("s"):
        raise RuntimeError
    with places.consumer("s"):
        pass


def test_only_durable_subscriptions_count():
    places = Places(subscriptions_per_topic_max=2)
    places.subscriptions.update(a=Present("a"), reader=Present("reader", durable=False))
    text = f"Exceed the maximum number of subscriptions of the topic: {TOPIC}"
    with places.admission.subscription("b"), places.admission.subscription("a"):
        places.refuses(LimitReached, text, places.admission.subscription("c"))


def test_a_type_that_is_not_enabled_is_refused_in_pulsars_words():
    places = Places(subscription_types=("Failover", "Key_Shared"))
    with places.consumer("s", SubscriptionType.KEY_SHARED):
        pass
    with pytest.raises(NotAllowed) as refused, places.consumer("s"):
        pass
    assert str(refused.value) == (
        "Topic[{persistent://public/default/t}] doesn't support Shared sub type!"
    )


def test_key_shared_can_be_switched_off_whatever_policies_say():
    places = Places(key_shared_enabled=False, subscription_types=("Key_Shared",))
    with pytest.raises(NotAllowed) as refused, places.consumer("s", SubscriptionType.KEY_SHARED):
        pass
    assert str(refused.value) == "Key_Shared subscription is disabled by broker."


@pytest.mark.parametrize("auto", [True, False])
def test_a_client_makes_a_subscription_by_using_it_only_where_that_is_allowed(auto):
    policies = PolicySettings(auto_subscriptions=auto).policies()
    places = Places(auto_subscription_creation=policies.auto_subscription_creation)
    if auto:
        places.admission.check_first_use()
        places.admission.check_first_use(by_producer=True)
    else:
        with pytest.raises(SubscriptionNotFound, match="Subscription does not exist"):
            places.admission.check_first_use()
        with pytest.raises(NotAllowed, match="auto subscription creation is not allowed"):
            places.admission.check_first_use(by_producer=True)


def test_other_policies_hold_for_the_next_one():
    places = Places(producers_per_topic_max=1)
    places.producers["a"] = object()
    places.state.policies = Policies(producers_per_topic_max=2)
    with places.admission.producer("b"):
        pass


async def test_a_host_may_have_so_many_producers(bench, client_end):
    topic = bench.topic
    topic.apply(replace(topic.policies, producers_per_address_max=2))
    for number, port in enumerate((1000, 1001)):
        await topic.attach_producer(client_end(f"10.0.0.1:{port}"), 1, f"p{number}")
    with pytest.raises(ProducerBusy, match="reached max same address producers limit"):
        await topic.attach_producer(client_end("10.0.0.1:1002"), 1, "p2")
    await topic.attach_producer(client_end("10.0.0.2:1000"), 1, "p3")
    topic.producers["p0"].detach()
    await topic.attach_producer(client_end("10.0.0.1:1002"), 1, "p2")


async def test_a_host_may_have_so_many_consumers(bench, client_end):
    topic = bench.topic
    topic.apply(replace(topic.policies, consumers_per_address_max=2))
    for number, name in enumerate(("a", "b")):
        end = client_end(f"10.0.0.1:{number}")
        await bench.consumer(SubscriptionType.SHARED, subscription=name, end=end)
    with pytest.raises(ConsumerBusy, match="reached max same address consumers limit"):
        await bench.consumer(
            SubscriptionType.SHARED, subscription="a", end=client_end("10.0.0.1:9")
        )
    end = client_end("10.0.0.2:1")
    await bench.consumer(SubscriptionType.SHARED, subscription="a", end=end)

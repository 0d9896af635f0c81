"""Each argument of theirs is a setting of ours, or is refused by its name."""

import inspect
import re

import pytest

from magnetar import compat
from magnetar.client.config import ClientConfig
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.config import ProducerConfig
from magnetar.client.producers.routing import RoutingMode
from magnetar.compat.checks import checked
from magnetar.compat.options import (
    client_options,
    clusters,
    consumer_options,
    partition_names,
    producer_options,
    reader_options,
    reader_subscription,
)
from magnetar.errors import InvalidValue
from magnetar.message.compression import CompressionType
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.subscriptions import (
    InitialPosition,
    KeySharedPolicy,
    RegexSubscriptionMode,
    SubscriptionType,
)

OF_CALL = {"self", "topic", "subscription_name", "message_listener"}
OF_CALL |= {"start_message_id", "reader_listener"}


def names(call):
    return inspect.signature(call).parameters.keys() - OF_CALL


def options(make, call, given):
    of_call = {"topic": "t", "subscription_name": "s", "start_message_id": compat.MessageId.latest}
    return make(checked(call, {**of_call, **given}))


def producer(**given):
    call = compat.Client.create_producer
    return ProducerConfig(**options(producer_options, call, given))


def consumer(**given):
    return ConsumerConfig(**options(consumer_options, compat.Client.subscribe, given))


def reader(**given):
    return ConsumerConfig(**options(reader_options, compat.Client.create_reader, given))


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({}, "batching", False),
        ({}, "block_if_queue_full", False),
        ({}, "send_timeout_s", 30.0),
        ({}, "max_pending_messages", 1000),
        ({"max_pending_messages": 0}, "max_pending_messages", 2**31 - 1),
        (
            {"max_pending_messages_across_partitions": 70},
            "max_pending_messages_across_partitions",
            70,
        ),
        ({"producer_name": "n"}, "name", "n"),
        ({"producer_name": ""}, "name", None),
        ({"initial_sequence_id": 5}, "initial_sequence_id", 6),
        ({"send_timeout_millis": 0}, "send_timeout_s", 0),
        ({"compression_type": compat.CompressionType.ZLib}, "compression", CompressionType.ZLIB),
        ({"block_if_queue_full": True}, "block_if_queue_full", True),
        ({"batching_enabled": True}, "batching", True),
        ({"batching_max_messages": 7}, "batch_messages_max", 7),
        ({"batching_max_allowed_size_in_bytes": 99}, "batch_bytes_max", 99),
        ({"batching_max_publish_delay_ms": 50}, "batch_delay_s", 0.05),
        ({"batching_type": compat.BatchingType.KeyBased}, "batch_by_key", True),
        ({"chunking_enabled": True}, "chunking", True),
        ({"properties": {"a": "b"}}, "properties", {"a": "b"}),
        ({}, "routing", RoutingMode.ROUND_ROBIN),
        (
            {"message_routing_mode": compat.PartitionsRoutingMode.UseSinglePartition},
            "routing",
            RoutingMode.SINGLE,
        ),
        (
            {"access_mode": compat.ProducerAccessMode.WaitForExclusive},
            "access_mode",
            ProducerAccessMode.WAIT_FOR_EXCLUSIVE,
        ),
    ],
)
def test_a_producer_is_set_up(given, name, expected):
    assert getattr(producer(**given), name) == expected


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({}, "type", SubscriptionType.EXCLUSIVE),
        ({}, "negative_ack_delay_s", 60.0),
        ({}, "chunked_messages_max", 10),
        ({}, "topics_refresh_s", 60),
        ({"consumer_type": compat.ConsumerType.KeyShared}, "type", SubscriptionType.KEY_SHARED),
        ({"receiver_queue_size": 0}, "receiver_queue_size", 0),
        (
            {"max_total_receiver_queue_size_across_partitions": 5},
            "total_receiver_queue_size",
            5,
        ),
        ({"consumer_name": "c"}, "name", "c"),
        ({"unacked_messages_timeout_ms": 10_000}, "ack_timeout_s", 10),
        ({"negative_ack_redelivery_delay_ms": 50}, "negative_ack_delay_s", 0.05),
        ({"is_read_compacted": True}, "read_compacted", True),
        ({"properties": {"a": "b"}}, "properties", {"a": "b"}),
        ({"pattern_auto_discovery_period": 5}, "topics_refresh_s", 5),
        (
            {"initial_position": compat.InitialPosition.Earliest},
            "initial_position",
            InitialPosition.EARLIEST,
        ),
        ({"replicate_subscription_state_enabled": True}, "replicate_subscription_state", True),
        ({"max_pending_chunked_message": 0}, "chunked_messages_max", 2**31 - 1),
        ({"auto_ack_oldest_chunked_message_on_queue_full": True}, "ack_oldest_incomplete", True),
        ({"batch_index_ack_enabled": True}, "batch_index_ack", True),
        (
            {"regex_subscription_mode": compat.RegexSubscriptionMode.AllTopics},
            "regex_subscription_mode",
            RegexSubscriptionMode.ALL_TOPICS,
        ),
        (
            {
                "consumer_type": compat.ConsumerType.KeyShared,
                "key_shared_policy": compat.ConsumerKeySharedPolicy(
                    compat.KeySharedMode.Sticky, True, [(0, 5)]
                ),
            },
            "key_shared_policy",
            KeySharedPolicy(sticky_ranges=[(0, 5)], allow_out_of_order_delivery=True),
        ),
    ],
)
def test_a_consumer_is_set_up(given, name, expected):
    assert getattr(consumer(**given), name) == expected


def test_dead_letters_are_for_shared_subscriptions():
    policy = compat.ConsumerDeadLetterPolicy(3, "dead", "first")
    made = consumer(consumer_type=compat.ConsumerType.Shared, dead_letter_policy=policy)
    assert made.dead_letter_policy == DeadLetterPolicy(
        max_redeliver_count=3, dead_letter_topic="dead", initial_subscription_name="first"
    )
    with pytest.raises(InvalidValue, match="dead_letter_policy"):
        consumer(dead_letter_policy=policy)


def test_a_reader_is_set_up():
    config = reader(reader_name="r", receiver_queue_size=5, is_read_compacted=True)
    assert (config.name, config.receiver_queue_size, config.read_compacted) == ("r", 5, True)
    assert reader().name is None


def test_a_reader_s_subscription_begins_as_wanted():
    assert re.fullmatch(r"me-reader-[0-9a-f]{10}", reader_subscription("me"))
    assert reader_subscription(None) is None


def test_what_bears_on_speed_only_is_named_in_a_warning(caplog):
    producer(lazy_start_partitioned_producers=True)
    assert "name=lazy_start_partitioned_producers" in caplog.text


def test_a_router_is_asked_about_a_message_of_theirs():
    seen = []

    def router(message, partitions):
        seen.append((message.data(), message.partition_key(), partitions))
        return True  # What it returns is made a number.

    routing = producer(message_router=router).routing
    assert type(routing(OutgoingMessage(b"x", key="k"), 3)) is int
    assert seen == [(b"x", "k", 3)]
    custom = compat.PartitionsRoutingMode.CustomPartition
    assert callable(producer(message_router=router, message_routing_mode=custom).routing)
    with pytest.raises(ValueError, match="message_router"):
        producer(message_routing_mode=custom)


def test_keys_are_read_from_files():
    keys = compat.CryptoKeyReader("public", "private")
    made = producer(encryption_key="k", crypto_key_reader=keys)
    assert (made.encryption_keys, made.crypto_key_reader) == (("k",), keys.cryptoKeyReader)
    failing = compat.ConsumerCryptoFailureAction.CONSUME
    for config in (
        consumer(crypto_key_reader=keys, crypto_failure_action=failing),
        reader(crypto_key_reader=keys, crypto_failure_action=failing),
    ):
        assert config.crypto_key_reader is keys.cryptoKeyReader
        assert config.crypto_failure_action.name == "CONSUME"


@pytest.mark.parametrize("make", [producer, consumer, reader])
def test_every_argument_is_checked_by_its_name(make):
    call = {producer: "create_producer", consumer: "subscribe", reader: "create_reader"}[make]
    unchecked = {"message_router"}  # Theirs does not look at it either.
    for name in names(getattr(compat.Client, call)) - unchecked:
        with pytest.raises(ValueError, match=re.escape(name)):
            make(**{name: object()})


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        (producer, {"batching_enabled": True, "chunking_enabled": True}, "together"),
        (producer, {"max_pending_messages": -1}, "max_pending_messages"),
        (producer, {"batching_max_messages": 1}, "batching_max_messages"),
        (consumer, {"unacked_messages_timeout_ms": 9_999}, "10 seconds"),
        (consumer, {"unacked_messages_timeout_ms": -1}, "10 seconds"),
    ],
)
def test_what_is_out_of_range_is_refused(make, given, said):
    with pytest.raises(ValueError, match=said):
        make(**given)


def test_partitions_have_full_names():
    assert partition_names("t", 0) == ["persistent://public/default/t"]
    assert partition_names("t", 2) == [
        "persistent://public/default/t-partition-0",
        "persistent://public/default/t-partition-1",
    ]


URL = "pulsar://a:1"


def config(service_url=URL, **given):
    made = client_options(checked(compat.Client, {"service_url": service_url, **given}))
    return ClientConfig(service_url=service_url, **made)


def test_the_defaults_are_theirs():
    made = config()
    assert (made.operation_timeout_s, made.connection_timeout_s) == (30, 10)
    assert made.authentication is None
    assert (made.memory_limit_bytes, made.stats_interval_s) == (0, 600)
    assert not made.tls_verify_hostname, "as insecure as theirs"


def test_a_client_is_set_up():
    token = compat.AuthenticationToken("secret")
    made = config(
        "pulsar+ssl://a:1",
        authentication=token,
        message_listener_threads=3,
        operation_timeout_seconds=5,
        connection_timeout_ms=500,
        listener_name="external",
        tls_trust_certs_file_path="/trusted",
        tls_allow_insecure_connection=True,
        tls_validate_hostname=True,
        tls_certificate_file_path="/cert",
        tls_private_key_file_path="/key",
    )
    assert made.authentication is token.auth
    assert (made.operation_timeout_s, made.connection_timeout_s) == (5, 0.5)
    assert (made.listener_name, made.listener_threads) == ("external", 3)
    assert (made.tls_trust_certs_file, made.tls_allow_insecure) == ("/trusted", True)
    assert made.tls_verify_hostname
    assert (made.tls_certificate_file, made.tls_key_file) == ("/cert", "/key")


def test_several_clusters_are_watched():
    primary = compat.ServiceInfo("pulsar://a:1", compat.AuthenticationToken("secret"))
    other = compat.ServiceInfo("pulsar+ssl://b:1", tls_trust_certs_file_path="/x")
    given = compat.AutoClusterFailover(primary, [other], 500, 3, 5)
    ours = clusters(given)
    assert ours.primary.authentication is primary._authentication.auth
    assert [each.tls_trust_certs_file for each in ours.secondaries] == ["/x"]
    assert (ours.check_interval_s, ours.failover_delay_s, ours.switch_back_delay_s) == (0.5, 1, 2)
    with pytest.raises(ValueError, match="authentication is not supported"):
        config(given, authentication=primary._authentication)
    assert clusters(primary).authentication is primary._authentication.auth


def test_what_bears_on_speed_only_of_a_client_is_named_too(caplog):
    config(io_threads=4, concurrent_lookup_requests=5)
    assert "name=io_threads" in caplog.text
    assert "name=concurrent_lookup_requests" in caplog.text
    caplog.clear()
    config(log_conf_file_path="/x", use_tls=True)  # They do nothing in theirs either.
    assert caplog.text == ""


def test_every_argument_of_the_client_is_checked_by_its_name():
    for name in set(inspect.signature(compat.Client).parameters) - {"service_url", "logger"}:
        with pytest.raises(ValueError, match=re.escape(name)):
            config(**{name: object()})


@pytest.mark.parametrize("url", [5, "nowhere"])
def test_a_url_has_a_protocol(url):
    with pytest.raises(ValueError, match=r"service_url|scheme"):
        config(url)


@pytest.mark.parametrize(
    ("name", "value"),
    [("operation_timeout_seconds", 0), ("io_threads", 0), ("stats_interval_in_seconds", -1)],
)
def test_a_number_of_the_client_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        config(**{name: value})

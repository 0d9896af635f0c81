"""Every argument has one row, and every row is a setting of ours."""

import inspect

import pytest

from magnetar import compat
from magnetar.client.config import ClientOptions
from magnetar.client.consumers.config import ConsumerOptions, ReaderOptions
from magnetar.client.producers.config import ProducerOptions
from magnetar.compat import asyncio as compat_asyncio
from magnetar.compat.settings import CLIENT, CONSUMER, PRODUCER, READER, Setting, converted

# Arguments that are no setting of ours: those of the call, and those that options.py takes.
APART = {"self", "topic", "schema", "subscription_name", "start_message_id", "service_url"}
APART |= {"message_listener", "reader_listener", "is_pattern_topic", "logger"}
APART |= {"message_router", "message_routing_mode", "lazy_start_partitioned_producers"}
APART |= {"io_threads", "concurrent_lookup_requests", "log_conf_file_path", "use_tls"}
APART |= {"start_message_id_inclusive", "batch_receive_policy", "subscription_role_prefix"}
APART |= {"broker_consumer_stats_cache_time_ms"}
CALLS = [
    (compat.Client, CLIENT),
    (compat.Client.create_producer, PRODUCER),
    (compat.Client.subscribe, CONSUMER),
    (compat.Client.create_reader, READER),
    (compat_asyncio.Client.create_producer, PRODUCER),
    (compat_asyncio.Client.subscribe, CONSUMER),
    (compat_asyncio.Client.create_reader, READER),
]


@pytest.mark.parametrize(("call", "rows"), CALLS)
def test_an_argument_has_a_row(call, rows):
    arguments = set(inspect.signature(call).parameters)
    assert arguments - rows.keys() <= APART
    not_asked = rows.keys() - arguments
    assert not_asked <= {"pattern_auto_discovery_period"}, "which the asyncio client does not take"


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (CLIENT, ClientOptions),
        (PRODUCER, ProducerOptions),
        (CONSUMER, ConsumerOptions),
        (READER, ReaderOptions),
    ],
)
def test_a_row_is_a_setting_of_ours(rows, options):
    ours = [row.ours for row in rows.values()]
    assert set(ours) <= set(options.__annotations__)
    assert len(set(ours)) == len(ours)


def test_a_value_is_checked_converted_and_divided():
    rows = {"period_ms": Setting("period_s", abs, factor=1000, least=-500)}
    assert converted(rows, {"period_ms": -250}) == {"period_s": 0.25}
    with pytest.raises(ValueError, match="period_ms is -501; it must be from -500"):
        converted(rows, {"period_ms": -501})

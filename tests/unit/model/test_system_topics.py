import pytest

from magnetar.model.names import TopicName
from magnetar.model.system_topics import is_hidden, is_of_transactions, is_system_topic


@pytest.mark.parametrize(
    ("name", "hidden", "system", "of_transactions"),
    [
        ("persistent://t/n/__change_events", 1, 1, 0),
        ("non-persistent://t/n/__change_events", 1, 1, 0),
        ("persistent://t/n/__change_events-partition-2", 1, 1, 0),
        ("persistent://t/n/__transaction_buffer_snapshot", 1, 1, 0),
        ("persistent://t/n/__transaction_buffer_snapshot_segments", 1, 1, 0),
        ("persistent://t/n/__transaction_buffer_snapshot_indexes", 1, 1, 0),
        ("persistent://t/n/orders-sub__transaction_pending_ack", 1, 1, 1),
        ("persistent://t/n/orders-sub__transaction_pending_ack-partition-0", 1, 1, 1),
        ("persistent://t/n/orders-partition-1__transaction_buffer_snapshot", 1, 1, 1),
        ("persistent://pulsar/system/transaction_coordinator_assign-partition-3", 1, 1, 1),
        ("persistent://pulsar/system/__transaction_log_0", 1, 1, 1),
        ("non-persistent://pulsar/system/resource-usage", 1, 1, 0),
        ("persistent://pulsar/system/mine", 1, 0, 0),
        ("persistent://t/n/__transaction_log_0", 0, 0, 0),
        ("persistent://t/n/resource-usage", 0, 0, 0),
        ("persistent://t/n/my__change_events", 0, 0, 0),
        ("persistent://t/n/x", 0, 0, 0),
    ],
)
def test_system_topics_are_known_by_their_names(name, hidden, system, of_transactions):
    topic = TopicName.parse(name)
    assert is_hidden(topic) == hidden
    assert is_system_topic(topic) == system
    assert is_of_transactions(topic) == of_transactions

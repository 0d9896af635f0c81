"""What says that nothing has happened at a topic, for a tenth of what its stats cost."""

from typing import TypeAlias

from magnetar.broker.topics.topic import Topic

Mark: TypeAlias = tuple[object, ...]


def topic_mark(topic: Topic) -> Mark | None:
    """What is another as soon as a figure of ``topic_stats`` is; None: look at those each time.

    Those change where it has a backlog, which grows older by itself, or a feature that counts.
    Whoever attaches asks the registry for the topic, so ``used_at`` tells of one that has come,
    and gone again, since.
    """
    stored = topic.stored
    if stored is None or stored.has_counting_features:
        return None
    mark: list[object] = [
        topic.used_at,
        topic.message_count,
        topic.storage_bytes,
        len(topic.producers),
        stored.policies,
    ]
    for name, each in stored.subscriptions.items():
        if each.backlog:
            return None
        closed = each.closed_totals
        moved_ms = each.cursor.mark_moved_ms
        mark += name, id(each), closed.message_count, closed.acked_count, moved_ms
        for consumer in each.consumers:
            its = consumer.totals
            mark += (
                id(consumer),
                its.message_count,
                its.acked_count,
                its.last_flow_ms,
                consumer.permits,
            )
    return tuple(mark)

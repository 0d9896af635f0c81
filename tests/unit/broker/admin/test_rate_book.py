from magnetar.broker.admin.rates import (
    NO_RATES,
    THE_COMPACTION,
    THE_TOPIC,
    RateBook,
    Rates,
    consumer_key,
    publisher_key,
    subscription_key,
)
from magnetar.model.counts import LogCounts, WriteCounts
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats


def snapshot(published: int, delivered: int, *, consumer: int = 1) -> TopicStats:
    """A topic with one of each part, whose totals follow from the messages that went through."""
    return TopicStats(
        msg_in_counter=published,
        bytes_in_counter=published * 100,
        publishers=[
            PublisherStats(7, "p", msg_in_counter=published, bytes_in_counter=published * 100)
        ],
        subscriptions={
            "s": SubscriptionStats(
                msg_out_counter=delivered,
                bytes_out_counter=delivered * 100,
                redelivered_counter=delivered // 2,
                acknowledged_counter=delivered,
                consumers=[
                    ConsumerStats(
                        consumer,
                        f"c{consumer}",
                        msg_out_counter=delivered,
                        chunk_out_counter=delivered // 10,
                    )
                ],
            )
        },
    )


def consumer_rates(book, stats):
    return book.of("t").get(consumer_key("s", stats.subscriptions["s"].consumers[0]), NO_RATES)


def test_a_rate_is_the_growth_between_two_ticks_per_second():
    book = RateBook()
    book.tick("t", snapshot(100, 0), now=10.0)
    book.tick("t", snapshot(700, 0), now=70.0)
    assert book.of("t")[THE_TOPIC].messages == 10.0
    book.tick("t", snapshot(700, 0), now=130.0)
    assert book.of("t")[THE_TOPIC].messages == 0.0


def test_a_total_that_began_again_grew_from_0():
    book = RateBook()
    book.tick("t", snapshot(1000, 0), now=0.0)
    book.tick("t", snapshot(60, 0), now=60.0)
    assert book.of("t")[THE_TOPIC].messages == 1.0


def test_two_ticks_at_once_change_nothing():
    book = RateBook()
    book.tick("t", snapshot(0, 0), now=0.0)
    book.tick("t", snapshot(60, 0), now=60.0)
    book.tick("t", snapshot(99, 0), now=60.0)
    assert book.of("t")[THE_TOPIC].messages == 1.0


def test_rates_are_unknown_until_two_ticks():
    book = RateBook()
    assert book.of("t") == {}
    book.tick("t", snapshot(60, 60), now=0.0)
    assert book.of("t") == {}


def test_every_part_of_a_topic_gets_its_rates():
    book = RateBook()
    book.tick("t", snapshot(0, 0), now=0.0)
    stats = snapshot(600, 1200)
    book.tick("t", stats, now=60.0)
    rates = book.of("t")
    assert rates == {
        THE_TOPIC: Rates(messages=10, size_bytes=1000),
        publisher_key(stats.publishers[0]): Rates(messages=10, size_bytes=1000),
        subscription_key("s"): Rates(20, 2000, redelivered=10, acknowledged=20),
        consumer_key("s", stats.subscriptions["s"].consumers[0]): Rates(messages=20, chunks=2),
    }
    assert rates[THE_TOPIC].average_size == 100
    assert NO_RATES.average_size == 0


def test_who_came_between_two_ticks_counts_from_the_first_of_them():
    book = RateBook()
    book.tick("t", snapshot(0, 0), now=0.0)
    stats = snapshot(0, 600, consumer=2)
    book.tick("t", stats, now=60.0)
    assert consumer_rates(book, stats).messages == 10


def test_the_totals_of_a_new_topic_began_when_the_last_round_was():
    book = RateBook()
    book.tick("t", snapshot(600, 1200), now=60.0, since=0.0)
    assert book.of("t")[THE_TOPIC].messages == 10
    assert book.of("t")[subscription_key("s")].messages == 20


def test_who_left_is_forgotten():
    book = RateBook()
    book.tick("t", snapshot(0, 0), now=0.0)
    book.tick("t", TopicStats(), now=60.0)
    assert book.of("t").keys() == {THE_TOPIC}
    stats = snapshot(0, 600)
    book.tick("t", stats, now=120.0)
    assert consumer_rates(book, stats).messages == 10


def test_topics_that_are_gone_are_forgotten_when_the_others_were_ticked():
    book = RateBook()
    for name in ("stays", "goes"):
        book.tick(name, snapshot(60, 0), now=60.0, since=0.0)
    book.ticked_all(60.0)
    assert book.of("goes")[THE_TOPIC].messages == 1.0
    book.tick("stays", snapshot(180, 0), now=120.0)
    book.ticked_all(120.0)
    assert book.of("stays")[THE_TOPIC].messages == 2.0
    assert book.of("goes") == {}


def test_what_all_topics_stored_is_added_up():
    book, busy, idle = RateBook(), WriteCounts(), WriteCounts()
    idle.note(1, 10, 0.001)
    for now, entries in ((60.0, 2), (120.0, 3), (180.0, 0)):
        if entries:
            busy.note(entries, entries * 100, 0.001)
        for name, writes in (("busy", busy), ("idle", idle)):
            book.tick(name, TopicStats(writes=writes), now)
        book.ticked_all(now)
        assert book.written_by_all.entries == entries + (now == 60.0)
    assert book.written_since_start.entries == 6
    assert book.written("busy").entries == book.written("idle").entries == 0


def test_what_compaction_read_and_stored_has_rates():
    book, writes = RateBook(), WriteCounts()
    for now, read_bytes in ((0.0, 1_000), (60.0, 7_000)):
        writes.note(10, read_bytes // 2, 0.003)
        book.tick("t", TopicStats(compaction_read_bytes=read_bytes, compaction_writes=writes), now)
    assert book.of("t")[THE_COMPACTION].size_bytes == 100.0
    compacted = book.compacted("t")
    assert (compacted.entries, compacted.size_bytes) == (10, 3_500)
    book.tick("t", TopicStats(compaction_read_bytes=7_000, compaction_writes=writes), 120.0)
    assert (book.of("t")[THE_COMPACTION].size_bytes, book.compacted("t").entries) == (0, 0)


def test_what_logs_count_is_told_of_the_last_period():
    book, logs = RateBook(), {"public/default": LogCounts()}
    logs["public/default"].reads_failed = 2
    book.tick_logs(logs)
    assert book.logs["public/default"].reads_failed == 2
    logs["public/default"].reads_failed += 1
    logs["a/b"] = LogCounts()
    book.tick_logs(logs)
    assert {name: its.reads_failed for name, its in book.logs.items()} == {
        "public/default": 1,
        "a/b": 0,
    }

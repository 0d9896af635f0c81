import pytest

from magnetar.model.stats import (
    ConsumerStats,
    PublisherStats,
    RateBook,
    RateCounter,
    SubscriptionStats,
    TopicStats,
)


def snapshot(published: int, delivered: int, *, consumer: int = 1) -> TopicStats:
    """A topic with one of everything, whose totals are multiples of what passed through."""
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


def test_a_rate_is_the_growth_between_two_ticks_per_second():
    counter = RateCounter(100, now=10.0)
    counter.tick(700, now=70.0)
    assert counter.rate == 10.0
    counter.tick(700, now=130.0)
    assert counter.rate == 0.0


def test_a_total_that_began_again_grew_from_0():
    counter = RateCounter(1000, now=0.0)
    counter.tick(60, now=60.0)
    assert counter.rate == 1.0


def test_two_ticks_at_once_change_nothing():
    counter = RateCounter(0, now=0.0)
    counter.tick(60, now=60.0)
    counter.tick(99, now=60.0)
    assert counter.rate == 1.0


def test_rates_are_unknown_until_two_ticks():
    book = RateBook()
    stats = snapshot(60, 60)
    book.fill("t", stats)
    assert stats.msg_rate_in == 0.0
    book.tick("t", stats, now=0.0)
    book.fill("t", stats)
    assert stats == snapshot(60, 60)


def test_every_part_of_a_topic_gets_its_rates():
    book = RateBook()
    book.tick("t", snapshot(0, 0), now=0.0)
    book.tick("t", snapshot(600, 1200), now=60.0)
    stats = snapshot(601, 1201)
    book.fill("t", stats)
    assert (stats.msg_rate_in, stats.msg_throughput_in, stats.average_msg_size) == (10, 1000, 100)
    publisher = stats.publishers[0]
    assert (publisher.msg_rate_in, publisher.msg_throughput_in) == (10, 1000)
    assert publisher.average_msg_size == 100
    subscription = stats.subscriptions["s"]
    assert (subscription.msg_rate_out, subscription.msg_throughput_out) == (20, 2000)
    assert (subscription.msg_rate_redeliver, subscription.message_ack_rate) == (10, 20)
    consumer = subscription.consumers[0]
    assert (consumer.msg_rate_out, consumer.chunked_message_rate) == (20, 2)


def test_who_came_between_two_ticks_counts_from_the_first_of_them():
    book = RateBook()
    book.tick("t", snapshot(0, 0), now=0.0)
    book.tick("t", snapshot(0, 600, consumer=2), now=60.0)
    stats = snapshot(0, 600, consumer=2)
    book.fill("t", stats)
    assert stats.subscriptions["s"].consumers[0].msg_rate_out == 10


def test_the_totals_of_a_new_topic_began_when_the_last_round_was():
    book = RateBook()
    book.tick("t", snapshot(600, 1200), now=60.0, since=0.0)
    stats = snapshot(600, 1200)
    book.fill("t", stats)
    assert stats.msg_rate_in == 10
    assert stats.subscriptions["s"].msg_rate_out == 20


def test_who_left_is_forgotten():
    book = RateBook()
    book.tick("t", snapshot(0, 0), now=0.0)
    book.tick("t", TopicStats(), now=60.0)
    book.tick("t", snapshot(0, 600), now=120.0)
    stats = snapshot(0, 600)
    book.fill("t", stats)
    assert stats.subscriptions["s"].msg_rate_out == 10


def test_topics_that_are_gone_can_be_dropped():
    book = RateBook()
    for name in ("stays", "goes"):
        book.tick(name, snapshot(0, 0), now=0.0)
        book.tick(name, snapshot(60, 0), now=60.0)
    book.keep({"stays", "new"})
    rates = {}
    for name in ("stays", "goes"):
        stats = snapshot(60, 0)
        book.fill(name, stats)
        rates[name] = stats.msg_rate_in
    assert rates == {"stays": 1.0, "goes": 0.0}


@pytest.mark.parametrize(("removed", "expected"), [(0, 30), (5, 35)])
def test_what_a_topic_delivered_is_what_its_subscriptions_did_and_those_that_are_gone(
    removed, expected
):
    stats = TopicStats(
        msg_out_of_removed=removed,
        bytes_out_of_removed=removed * 10,
        subscriptions={
            name: SubscriptionStats(msg_out_counter=count, bytes_out_counter=count * 10)
            for name, count in (("a", 10), ("b", 20))
        },
    )
    assert stats.msg_out_counter == expected
    assert stats.bytes_out_counter == expected * 10

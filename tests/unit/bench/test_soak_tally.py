"""The soak's bookkeeping: losses, damage and disorder are noticed; repetition is counted."""

from bench.soak.tally import Tally


def tally_with(*, lanes=1, ordered=True):
    tally = Tally()
    stream = tally.stream("t.0", (100, 300), {"s": ordered}, lanes=lanes)
    stream.sent = 10
    return tally, stream


def deliver(tally, stream, numbers):
    for number in numbers:
        tally.take("s", stream.body(number), "t")


def test_what_was_answered_and_not_delivered_is_missing():
    tally, stream = tally_with()
    for number in (0, 1, 2, 5):
        stream.on_answer(number)
    deliver(tally, stream, [0, 2])
    assert tally.missing() == {("t.0", "s"): [1, 5]}
    deliver(tally, stream, [5])
    assert tally.missing() == {("t.0", "s"): [1]}


def test_what_was_never_answered_may_be_lost():
    tally, stream = tally_with()
    stream.on_answer(0)
    deliver(tally, stream, [0])
    assert tally.missing() == {}


def test_a_repetition_is_counted_and_is_no_disorder():
    tally, stream = tally_with()
    deliver(tally, stream, [0, 1, 2, 0, 1, 2, 3])
    assert tally.complaints.counts == {}
    assert (tally.delivered, tally.repeated) == (7, 3)


def test_first_deliveries_out_of_order_are_noticed_where_order_was_promised():
    for ordered, counts in ((True, {"out of order": 1}), (False, {})):
        tally, stream = tally_with(ordered=ordered)
        deliver(tally, stream, [0, 2, 1, 3])
        assert tally.complaints.counts == counts


def test_with_keys_order_holds_within_each_key():
    tally, stream = tally_with(lanes=2)
    deliver(tally, stream, [1, 0, 3, 2])
    assert tally.complaints.counts == {}
    deliver(tally, stream, [6, 4])
    assert tally.complaints.counts == {"out of order": 1}


def test_other_bytes_than_were_sent_are_damage():
    tally, stream = tally_with()
    body = stream.body(1)
    tally.take("s", body[:-1] + bytes([body[-1] ^ 1]), "t")
    tally.take("s", body[:-1], "t")
    tally.take("s", b"who/3|knows", "t")
    assert tally.complaints.counts == {"damaged message": 2, "foreign message": 1}


def test_bodies_have_the_sizes_of_their_turn():
    _, stream = tally_with()
    assert [len(stream.body(number)) for number in range(4)] == [100, 300, 100, 300]


def test_others_who_look_are_checked_for_damage_alone():
    tally, stream = tally_with()
    assert tally.take("reader", stream.body(4), "t") == (stream, 4)
    assert tally.missing() == {}

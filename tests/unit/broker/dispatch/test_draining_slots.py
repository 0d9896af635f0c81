"""Which slots drain when owners change."""

from collections import Counter

from magnetar.broker.dispatch.draining_slots import DrainingSlots


def moved_to(owner):
    return lambda _slot: owner


def test_a_slot_drains_while_its_old_owner_holds_messages_of_it():
    draining = DrainingSlots()
    draining.owners_changed(moved_to("new"), [("old", Counter({7: 2})), ("new", Counter({9: 1}))])
    assert 7 in draining
    assert 9 not in draining
    assert draining.of("old") == [(7, 2, 0)]
    assert draining.of("new") == []


def test_a_slot_is_free_when_the_last_awaited_message_is_released():
    draining = DrainingSlots()
    draining.owners_changed(moved_to("new"), [("old", Counter({7: 2}))])
    assert not draining.released("old", 7)
    assert draining.released("old", 7)
    assert 7 not in draining
    assert draining.cleared_by("old") == 1
    draining.forget("old")
    assert draining.cleared_by("old") == 0


def test_releases_by_somebody_else_do_not_count():
    draining = DrainingSlots()
    draining.owners_changed(moved_to("new"), [("old", Counter({7: 1}))])
    assert not draining.released("new", 7)
    assert 7 in draining


def test_a_slot_that_moves_back_to_its_holder_stops_draining():
    draining = DrainingSlots()
    draining.owners_changed(moved_to("new"), [("old", Counter({7: 1}))])
    draining.owners_changed(moved_to("old"), [("old", Counter({7: 1}))])
    assert 7 not in draining


def test_what_a_consumer_held_is_forgotten_when_it_is_gone():
    draining = DrainingSlots()
    draining.owners_changed(moved_to("new"), [("old", Counter({7: 1}))])
    draining.owners_changed(moved_to("new"), [])
    assert len(draining) == 0


def test_refusals_are_counted_per_slot():
    draining = DrainingSlots()
    draining.owners_changed(moved_to("new"), [("old", Counter({7: 1}))])
    assert draining.refuse(7)
    assert not draining.refuse(8)
    assert draining.of("old") == [(7, 1, 1)]

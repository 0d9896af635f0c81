import pytest

from magnetar.broker.topics.places import Places
from magnetar.errors import Conflict

FULL = Conflict("full")


def fits(places, present, who="x"):
    try:
        with places.one_more(present, FULL, who=who):
            return True
    except Conflict:
        return False


def test_there_are_so_many_places():
    assert [fits(Places(2), present) for present in range(4)] == [True, True, False, False]


def test_none_is_no_limit():
    assert fits(Places(0), 10**6)


def test_who_is_on_the_way_holds_a_place_until_it_is_there_or_has_failed():
    places = Places(2)
    with places.one_more(0, FULL, who="a"), places.one_more(0, FULL, who="b"):
        assert not fits(places, 0, "c")
    assert fits(places, 1, "c")
    with pytest.raises(ZeroDivisionError), places.one_more(1, FULL, who="a"):
        raise ZeroDivisionError
    assert fits(places, 1, "c")


def test_many_who_are_one_hold_one_place():
    places = Places(1)
    with places.one_more(0, FULL, who="a"):
        with places.one_more(0, FULL, who="a"):
            pass
        assert fits(places, 0, "a")
        assert not fits(places, 0, "b")
    assert fits(places, 0, "b")

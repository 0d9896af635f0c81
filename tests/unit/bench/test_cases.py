"""Cases: what may be asked for."""

import pytest

from bench.cases import ALL, SYNCED, Case, custom, named


def test_names_are_different():
    assert len({case.name for case in ALL}) == len(ALL)


def test_what_is_compared_with_fsync_is_compared_without():
    assert all(case in ALL for case in SYNCED)


def test_cases_are_chosen_by_part_of_their_names():
    assert [case.name for case in named(["64 KiB"])] == ["publish 64 KiB"]
    assert named([]) == ALL


def test_an_unknown_name_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="publish 100 B"):
        named(["nonsense"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"connections": 3, "topics": 4},
        {"connections": 2, "topics": 2, "consumers": 1},
        {"connections": 2, "topics": 2, "rate": 100},
    ],
)
def test_a_case_that_cannot_be_run_is_refused(wrong):
    with pytest.raises(ValueError, match="wrong one: "):
        Case("wrong one", **wrong)


def test_topics_are_shared_out_among_connections():
    assert Case("many", connections=100, topics=1000).topics_per_connection == 10


def test_a_case_of_ones_own_is_as_usual_but_for_what_it_says():
    case = custom("size=1024, in_flight=5000")
    assert (case.size, case.in_flight, case.connections) == (1024, 5000, 1)


@pytest.mark.parametrize("wrong", ["size", "size=big", "speed=3"])
def test_a_custom_case_that_says_something_else_is_refused(wrong):
    with pytest.raises(ValueError, match="NAME=NUMBER"):
        custom(wrong)

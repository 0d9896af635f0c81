import pytest

from magnetar.broker.topics.diagnosis.facts import age, counted, duration, times


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (7.25, "7.2 s"),
        (61, "61 s"),
        (120, "2 minutes"),
        (7200, "2 hours"),
        (200_000, "2 days"),
    ],
)
def test_times_as_people_say_them(seconds, said):
    assert duration(seconds) == said
    assert age(seconds) == f", the oldest for {said}"


def test_one_and_many():
    assert [counted(1, "entry"), counted(2, "entry"), counted(2, "range")] == [
        "1 entry",
        "2 entries",
        "2 ranges",
    ]
    assert (times(1), times(3)) == ("once", "3 times")
    assert age(None) == ""

from magnetar.broker.tracing.traced_entries import FOLLOWED_MAX, TracedEntries


def test_entries_are_found_among_others():
    followed = TracedEntries()
    followed.add(1, 5, "a")
    followed.add(2, 5, "b")
    assert list(followed.among(1, range(4, 7))) == [(5, "a")]
    assert list(followed.among(2, [5, 9])) == [(5, "b")]
    assert list(followed.among(1, [6])) == []
    assert list(followed.among(3, [5])) == []


def test_so_many_are_followed_and_the_oldest_is_forgotten():
    followed = TracedEntries()
    followed.add(1, 0, "oldest")
    for number in range(FOLLOWED_MAX):
        followed.add(2, number, number)
    assert list(followed.among(1, [0])) == []
    assert len(list(followed.among(2, range(FOLLOWED_MAX)))) == FOLLOWED_MAX

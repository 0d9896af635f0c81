from magnetar.tools.perf.names import names_of


def test_topics_are_named_as_by_pulsar_perf():
    assert names_of("p", 1) == ["p"]
    assert names_of("p", 2) == names_of("p-", 2) == ["p-0", "p-1"]

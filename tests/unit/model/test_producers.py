from magnetar.model.producers import ProducerAccessMode


def test_modes_print_as_in_pulsar():
    assert [mode.printed for mode in ProducerAccessMode] == [
        "Shared",
        "Exclusive",
        "WaitForExclusive",
        "ExclusiveWithFencing",
    ]

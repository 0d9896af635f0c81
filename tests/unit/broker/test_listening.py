from magnetar.broker.listening import Hold, Listening


def test_reading_goes_on_when_the_last_hold_is_lifted():
    calls = []
    listening = Listening(
        pause=lambda: calls.append("pause"), resume=lambda: calls.append("resume")
    )
    listening.hold(Hold.SENDS)
    listening.hold(Hold.SENDS)
    listening.hold(Hold.ANSWERS)
    assert (calls, listening.held) == (["pause"], True)
    listening.lift(Hold.SENDS)
    listening.lift(Hold.REQUESTS)
    assert (calls, listening.held) == (["pause"], True)
    listening.lift(Hold.ANSWERS)
    assert (calls, listening.held) == (["pause", "resume"], False)
    listening.lift(Hold.ANSWERS)
    assert calls == ["pause", "resume"]

from magnetar.broker.listening import Hold, Listening


def test_only_a_client_that_waits_for_us_is_excused_for_its_silence():
    listening = Listening(pause=lambda: None, resume=lambda: None)
    for why, excused in ((Hold.ANSWERS, False), (Hold.SENDS, True), (Hold.REQUESTS, True)):
        listening.hold(why)
        assert listening.waits_for_us is excused
        listening.lift(why)
    assert not listening.waits_for_us


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

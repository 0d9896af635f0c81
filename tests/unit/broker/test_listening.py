import pytest

from magnetar.broker.listening import Hold, Listening


class Transport:
    """Knows when it is not listened to."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


@pytest.fixture
def transport() -> Transport:
    return Transport()


def test_reading_goes_on_when_the_last_hold_is_lifted(transport):
    listening = Listening(transport)
    listening.hold(Hold.SENDS)
    listening.hold(Hold.SENDS)
    listening.hold(Hold.ANSWERS)
    assert transport.calls == ["pause"]
    listening.lift(Hold.SENDS)
    listening.lift(Hold.REQUESTS)
    assert transport.calls == ["pause"]
    listening.lift(Hold.ANSWERS)
    assert transport.calls == ["pause", "resume"]
    listening.lift(Hold.ANSWERS)
    assert transport.calls == ["pause", "resume"]


def test_the_transport_of_a_connection_that_ends_is_left_alone(transport):
    listening = Listening(transport)
    listening.hold(Hold.SENDS)
    listening.close()
    listening.lift(Hold.SENDS)
    listening.hold(Hold.REQUESTS)
    assert transport.calls == ["pause"]


def test_only_a_client_that_waits_for_us_is_excused_for_its_silence(transport):
    listening = Listening(transport)
    for why, excused in ((Hold.ANSWERS, False), (Hold.SENDS, True), (Hold.REQUESTS, True)):
        listening.hold(why)
        assert listening.waits_for_us is excused
        listening.lift(why)
    assert not listening.waits_for_us

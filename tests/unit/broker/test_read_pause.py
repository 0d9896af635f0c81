import pytest

from magnetar.broker.read_pause import PauseReason, ReadPause


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


def test_reading_resumes_when_the_last_reason_is_gone(transport):
    read_pause = ReadPause(transport)
    read_pause.pause(PauseReason.PENDING_SENDS)
    read_pause.pause(PauseReason.PENDING_SENDS)
    read_pause.pause(PauseReason.UNREAD_ANSWERS)
    assert transport.calls == ["pause"]
    read_pause.resume(PauseReason.PENDING_SENDS)
    read_pause.resume(PauseReason.PENDING_REQUESTS)
    assert transport.calls == ["pause"]
    read_pause.resume(PauseReason.UNREAD_ANSWERS)
    assert transport.calls == ["pause", "resume"]
    read_pause.resume(PauseReason.UNREAD_ANSWERS)
    assert transport.calls == ["pause", "resume"]


def test_the_transport_of_a_connection_that_ends_is_left_alone(transport):
    read_pause = ReadPause(transport)
    read_pause.pause(PauseReason.PENDING_SENDS)
    read_pause.close()
    read_pause.resume(PauseReason.PENDING_SENDS)
    read_pause.pause(PauseReason.PENDING_REQUESTS)
    assert transport.calls == ["pause"]


def test_only_a_client_that_waits_for_the_broker_is_excused_for_its_silence(transport):
    read_pause = ReadPause(transport)
    for why, excused in (
        (PauseReason.UNREAD_ANSWERS, False),
        (PauseReason.PENDING_SENDS, True),
        (PauseReason.PENDING_REQUESTS, True),
    ):
        read_pause.pause(why)
        assert read_pause.caused_by_broker is excused
        read_pause.resume(why)
    assert not read_pause.caused_by_broker

"""message/send_run.py: what a run counts."""

from magnetar.message.send_run import SendRun


def test_a_run_counts_its_sends_and_their_bytes():
    run = SendRun(1, [b"\0", b"\1"], [b"four", b"sixsix"], [0, 0], [1, 1])
    assert (len(run), run.size_bytes) == (2, 10)

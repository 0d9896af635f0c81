from magnetar.broker.admin.messages.redrive_progress import (
    REASONS_MAX,
    Progress,
    SourceProgress,
)
from magnetar.errors import NotAllowed
from magnetar.model.names import TopicName
from magnetar.model.process_status import ProcessStatus

TOPIC = TopicName.parse("t")
DONE, RUNS, WAITS = ProcessStatus.SUCCESS, ProcessStatus.RUNNING, ProcessStatus.NOT_RUN


def progress(*parts):
    found = Progress(messages=sum(count for _, count in parts))
    for index, (status, count) in enumerate(parts):
        found.sources[TOPIC.partition(index)] = SourceProgress(status, count)
    return found


def test_so_many_reasons_are_counted_apart():
    found = Progress()
    for number in range(REASONS_MAX + 2):
        found.skip(str(number))
    assert len(found.skipped) == REASONS_MAX + 1
    assert found.skipped["other reasons"] == 2


def test_a_topic_without_partitions_tells_of_none():
    found = Progress()
    assert "partitions" not in found.shown()
    assert found.said(NotAllowed("no")) == "no"


def test_an_error_says_what_was_sent_back_and_what_was_not():
    found = progress((DONE, 4), (DONE, 0), (RUNS, 2), (WAITS, 0))
    assert found.said(NotAllowed("no")) == (
        "persistent://public/default/t-partition-2: no. Sent back before that: 2 of this "
        "partition, 6 in all. Done: partitions 0 to 1; not begun: partition 3. What was not sent "
        "back is where it was"
    )
    assert "Done: none; not begun: none" in progress((RUNS, 0)).said(NotAllowed("no"))
    assert [each["messages"] for each in found.shown()["partitions"]] == [4, 0, 2, 0]

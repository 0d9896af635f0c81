import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.update_mode import write_batch

OPTIONS = {"service.url": "pulsar://localhost:6650", "topic": "t"}
ONCE = {**OPTIONS, "admin.url": "http://localhost:8080", "guarantee": "exactly-once"}


@pytest.mark.parametrize(
    ("options", "sort_by", "says"),
    [
        ({**OPTIONS, "topics": "t"}, (), "unknown option 'topics'"),
        (ONCE, ["key"], "txnAppId"),
        ({**ONCE, "txnAppId": "a"}, (), "sort_by"),
        ({**OPTIONS, "txnAppId": "a"}, (), "needs guarantee"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_the_query_begins(options, sort_by, says):
    with pytest.raises(InvalidValue, match=says):
        write_batch(options, sort_by=sort_by)


def test_a_writer_takes_the_options_of_the_sink():
    assert callable(write_batch(OPTIONS))
    assert callable(write_batch({**ONCE, "txnAppId": "a"}, sort_by=["key"]))

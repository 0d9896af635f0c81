import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.read_options import ReadOptions

URL = "pulsar://localhost:6650"


def read(*, streaming=True, **given):
    return ReadOptions.parse({"service.url": URL, "topic": "orders", **given}, streaming=streaming)


def test_a_stream_needs_a_url_and_a_topic_and_starts_at_the_latest_message():
    options = read()
    assert options.service_url == URL
    assert options.topics == ("persistent://public/default/orders",)
    assert options.starting_offsets == "latest"
    assert options.fail_on_data_loss
    assert options.messages_per_trigger_max is None
    assert options.rows_per_batch == 10_000
    assert options.partitions_min is None


def test_a_batch_read_is_of_everything_by_default():
    options = read(streaming=False)
    assert (options.starting_offsets, options.ending_offsets) == ("earliest", "latest")


def test_offsets_are_by_topic_under_its_full_name():
    options = read(
        startingOffsets='{"orders-partition-0": "7:4:0", "orders-partition-1": "latest"}'
    )
    assert options.starting_offsets == {
        "persistent://public/default/orders-partition-0": "7:4:0",
        "persistent://public/default/orders-partition-1": "latest",
    }


@pytest.mark.parametrize(
    "text", ["1779010200000", "2026-05-17T09:30:00Z", "2026-05-17T09:30", "2026-05-17 11:30+02:00"]
)
@pytest.mark.parametrize("name", ["startingTime", "startingTimestamp"])
def test_a_time_is_in_milliseconds_or_as_people_write_it(name, text):
    assert read(**{name: text}).starting_offsets == "@1779010200000"
    by_topic = read(**{name: f'{{"orders": "{text}"}}'}).starting_offsets
    assert by_topic == {"persistent://public/default/orders": "@1779010200000"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"service.url": "localhost:6650"}, "pulsar://localhost:6650"),
        ({"topics": "b"}, "exactly one"),
        ({"startingOffset": "earliest"}, "did you mean 'startingOffsets'"),
        ({"subscribe": "t"}, "unknown option 'subscribe': .* topic, or topics"),
        ({"maxoffsetspertrigger": "5"}, "option 'maxOffsetsPerTrigger': .*maxMessagesPerTrigger"),
        ({"startingofsets": "5"}, r"'startingofsets' \(Spark hands names on in lower case\): did"),
        ({"startingOffsets": '{"orders": "7:4"}'}, "option startingOffsets: '7:4' is not"),
        ({"startingOffsets": '{"a/b": "7:4:0"}'}, "option startingOffsets: "),
        ({"compression": "zstd"}, "unknown option 'compression' .*: there are service.url, topic"),
        ({"startingOffsets": "beginning"}, "write earliest, latest, or JSON"),
        ({"startingOffsets": "[1]"}, "object"),
        ({"startingOffsets": '{"orders": "7:4"}'}, "ledger:entry:batch"),
        ({"endingOffsets": "latest"}, "batch reads only"),
        ({"endingTime": "5"}, "batch reads only"),
        ({"startingTime": "5", "startingTimestamp": "5"}, "give one of"),
        ({"startingTime": "5", "startingOffsets": "latest"}, "give one of"),
        ({"startingTime": "yesterday"}, "'yesterday' is no time: write it as 2026"),
        ({"startingTime": '{"orders": "7:4:0"}'}, "is no time"),
        ({"startingTime": '{"orders": 5'}, "not JSON"),
        ({"startingOffsetsByTimestamp": "{}"}, "startingTime"),
        ({"columns": "flink"}, "pulsar-spark, .* or kafka"),
        ({"includeHeaders": "true"}, "is for columns=kafka"),
        ({"triggerOrder": "eventTime"}, "is for a limit"),
        ({"triggerOrder": "oldest", "maxBytesPerTrigger": "5"}, "backlog, .* or eventTime"),
        ({"maxMessagesPerTrigger": "0"}, "whole number above 0"),
        ({"maxMessagesPerTrigger": "many"}, "whole number above 0"),
        ({"rowsPerBatch": "-3"}, "whole number above 0"),
        ({"failOnDataLoss": "no"}, "true or false"),
        ({"timeoutSeconds": "nan"}, "seconds above 0"),
        ({"timeoutSeconds": "soon"}, "seconds above 0"),
        ({"topic": "non-persistent://public/default/x"}, "persistent topic"),
        ({"topic": "a/b"}, "option topic"),
        ({"subscription": "a", "predefinedSubscription": "a"}, "give one of"),
        ({"subscription": "none", "subscriptionPrefix": "a"}, "give one of"),
        ({"subscription": " "}, "subscription is empty"),
    ],
)
def test_what_is_wrong_with_an_option_is_said_with_the_remedy(given, says):
    with pytest.raises(InvalidValue, match=says):
        read(**given)


@pytest.mark.parametrize(
    "name",
    ["subscription", "predefinedSubscription", "subscriptionPrefix", "maxMessagesPerTrigger"],
)
def test_options_of_streams_are_refused_in_a_batch_read(name):
    with pytest.raises(InvalidValue, match="readStream only"):
        read(streaming=False, **{name: "5"})


def test_no_topic_at_all_is_refused():
    with pytest.raises(InvalidValue, match="none of them"):
        ReadOptions.parse({"service.url": URL}, streaming=True)


def test_a_pattern_is_of_full_names():
    options = ReadOptions.parse(
        {"service.url": URL, "topicsPattern": "public/default/orders-.*"}, streaming=True
    )
    assert options.topics == ()
    assert options.topics_pattern == "persistent://public/default/orders-.*"
    with pytest.raises(InvalidValue, match="<expression>"):
        ReadOptions.parse({"service.url": URL, "topicsPattern": "a/("}, streaming=True)


def test_history_needs_the_admin_api():
    asked = {"service.url": "pulsar://h:1", "topic": "t", "history": "auto"}
    with_admin = {**asked, "admin.url": "http://h:2"}
    parsed = ReadOptions.parse({**with_admin, "columns": "pulsar-spark"}, streaming=True)
    assert (parsed.history, parsed.admin_url) == (True, "http://h:2")
    parsed = ReadOptions.parse({**with_admin, "history": "none"}, streaming=False)
    assert (parsed.history, parsed.admin_url) == (False, "http://h:2")
    for options, said in ((asked, "set admin.url"), ({**asked, "history": "all"}, "auto, or none")):
        with pytest.raises(InvalidValue, match=said):
            ReadOptions.parse(options, streaming=False)

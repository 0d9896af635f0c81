import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.options import ReadOptions, Write, WriteOptions

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
    assert options.rows_per_batch == 2_000


def test_a_batch_read_is_of_everything_by_default():
    options = read(streaming=False)
    assert (options.starting_offsets, options.ending_offsets) == ("earliest", "latest")


def test_names_compare_without_case_as_spark_hands_them_over():
    options = ReadOptions.parse(
        {"SERVICE.URL": URL, "topics": "a, t/n/b ,a", "maxmessagespertrigger": "5"}, streaming=True
    )
    assert options.topics == ("persistent://public/default/a", "persistent://t/n/b")
    assert options.messages_per_trigger_max == 5


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
        ({"maxOffsetsPerTrigger": "5"}, "maxMessagesPerTrigger"),
        ({"compression": "zstd"}, "unknown option 'compression': there are service.url, topic"),
        ({"startingOffsets": "beginning"}, "write earliest, latest, or JSON"),
        ({"startingOffsets": "[1]"}, "object"),
        ({"startingOffsets": '{"orders": "7:4"}'}, "ledger:entry:batch"),
        ({"endingOffsets": "latest"}, "batch reads only"),
        ({"endingTime": "5"}, "batch reads only"),
        ({"minPartitions": "5"}, "batch reads only"),
        ({"startingTime": "5", "startingTimestamp": "5"}, "give one of"),
        ({"startingTime": "5", "startingOffsets": "latest"}, "give one of"),
        ({"startingTime": "yesterday"}, "'yesterday' is no time: write it as 2026"),
        ({"startingTime": '{"orders": "7:4:0"}'}, "is no time"),
        ({"startingTime": '{"orders": 5'}, "not JSON"),
        ({"startingOffsetsByTimestamp": "{}"}, "startingTime"),
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


def test_sparks_own_options_pass():
    assert read(path="/x", checkpointLocation="/y").subscription is None


def test_a_pattern_is_of_full_names():
    options = ReadOptions.parse(
        {"service.url": URL, "topicsPattern": "public/default/orders-.*"}, streaming=True
    )
    assert options.topics == ()
    assert options.topics_pattern == "persistent://public/default/orders-.*"
    with pytest.raises(InvalidValue, match="<expression>"):
        ReadOptions.parse({"service.url": URL, "topicsPattern": "a/("}, streaming=True)


def test_a_sink_may_leave_the_topic_to_its_rows():
    assert WriteOptions.parse({"service.url": URL}, streaming=True).topic is None
    assert WriteOptions.parse({"service.url": URL, "topic": "x"}, streaming=True).topic == (
        "persistent://public/default/x"
    )


def write(**given):
    return WriteOptions.parse({"service.url": URL, "topic": "orders", **given}, streaming=True)


@pytest.mark.parametrize("parse", [read, write])
def test_how_to_connect_is_the_same_for_sources_and_sinks(parse):
    options = parse(
        **{
            "service.url": "pulsar+ssl://localhost:6651",
            "timeoutSeconds": "5",
            "pulsar.client.tlsTrustCertsFilePath": "/ca.pem",
        }
    )
    assert options.service_url == "pulsar+ssl://localhost:6651"
    assert options.timeout_s == 5.0
    assert not options.retry_forever
    assert options.client.options() == {"tls_trust_certs_file": "/ca.pem"}
    with pytest.raises(InvalidValue, match=r"unknown option 'pulsar\.client\.zzz'"):
        parse(**{"pulsar.client.zzz": "1"})


def test_only_a_source_waits_for_a_broker_without_end():
    assert read(retryForever="TRUE").retry_forever
    with pytest.raises(InvalidValue, match="unknown option 'retryForever'"):
        write(retryForever="true")


def test_a_sink_without_a_url_is_refused():
    with pytest.raises(InvalidValue, match=r"service\.url"):
        WriteOptions.parse({"topic": "x"}, streaming=True)


ONCE = {"service.url": URL, "admin.url": "http://localhost:8080", "guarantee": "exactly-once"}


def test_a_sink_writes_at_least_once_unless_it_is_told_and_can_ask_for_deduplication():
    assert not WriteOptions.parse({"service.url": URL}, streaming=True).exactly_once
    assert WriteOptions.parse(ONCE, streaming=True).exactly_once
    without = {name: value for name, value in ONCE.items() if name != "admin.url"}
    with pytest.raises(InvalidValue, match=r"set admin\.url"):
        WriteOptions.parse(without, streaming=True)
    with pytest.raises(InvalidValue, match="at-least-once or exactly-once"):
        WriteOptions.parse({**ONCE, "guarantee": "twice"}, streaming=True)
    with pytest.raises(InvalidValue, match="http://localhost:8080"):
        WriteOptions.parse({**ONCE, "admin.url": "localhost"}, streaming=True)


def test_a_batch_write_may_have_a_name_and_a_version():
    named = {**ONCE, "txnAppId": "nightly", "txnVersion": "7"}
    assert WriteOptions.parse(named, streaming=False).write == Write("nightly", 7)
    assert WriteOptions.parse(ONCE, streaming=False).write is None
    for wrong, says in (
        ({"txnVersion": "-1"}, "belong together"),
        ({"txnAppId": ""}, "belong together"),
        ({"txnVersion": str(2**31)}, "below"),
        ({"guarantee": "at-least-once"}, "needs guarantee=exactly-once"),
    ):
        with pytest.raises(InvalidValue, match=says):
            WriteOptions.parse({**named, **wrong}, streaming=False)
    with pytest.raises(InvalidValue, match="batch writes only"):
        WriteOptions.parse(named, streaming=True)


def test_a_sink_tells_of_no_schema_unless_it_is_told():
    assert not WriteOptions.parse({"service.url": URL}, streaming=True).text
    assert WriteOptions.parse({"service.url": URL, "schema": "string"}, streaming=True).text
    with pytest.raises(InvalidValue, match="none or string"):
        WriteOptions.parse({"service.url": URL, "schema": "avro"}, streaming=True)

import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.write_options import Encryption, IdempotentWrite, WriteOptions

URL = "pulsar://localhost:6650"


def read(*, streaming=True, **given):
    return ReadOptions.parse({"service.url": URL, "topic": "orders", **given}, streaming=streaming)


def write(**given):
    return WriteOptions.parse({"service.url": URL, "topic": "orders", **given}, streaming=True)


def test_a_sink_may_leave_the_topic_to_its_rows():
    assert WriteOptions.parse({"service.url": URL}, streaming=True).topic is None
    assert WriteOptions.parse({"service.url": URL, "topic": "x"}, streaming=True).topic == (
        "persistent://public/default/x"
    )


def test_source_and_sink_wait_for_a_broker_without_end_where_they_are_told():
    assert read(retryForever="TRUE").retry_forever
    assert write(retryForever="true").retry_forever
    assert not write().retry_forever


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
    assert WriteOptions.parse(named, streaming=False).write == IdempotentWrite("nightly", 7)
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
    def parse(**options):
        return WriteOptions.parse({"service.url": URL, **options}, streaming=True)

    assert parse().schema == "none"
    assert not parse(schema="string").typed
    assert parse(schema="INT64").typed
    like_streamnatives = parse(columns="pulsar-spark")
    assert like_streamnatives.typed
    assert like_streamnatives.schema == "registry"
    for none in ("protobuf", "key_value", "auto_consume", "xml"):
        with pytest.raises(InvalidValue, match="registry, for that of the topic, or one of none"):
            parse(schema=none)


def test_a_null_is_an_error_unless_it_is_to_be_a_tombstone():
    assert not write().tombstones
    assert write(nullValue="tombstone").tombstones
    with pytest.raises(InvalidValue, match="option nullValue is 'skip'"):
        write(nullValue="skip")


def test_who_may_read_what_is_written_is_named_with_the_keys():
    keys = {"encryption.keys": "a, b", "encryption.publicKey": "/keys/{name}.pem"}
    assert write(**keys).encryption == Encryption(("a", "b"), "/keys/{name}.pem")
    for name, value in keys.items():
        with pytest.raises(InvalidValue, match="belong together"):
            write(**{name: value})


def test_in_a_transaction_a_write_is_once_by_itself():
    given = {"service.url": "pulsar://localhost:6650", "topic": "t", "delivery": "transaction"}
    assert WriteOptions.parse(given, streaming=True).in_transaction
    named = {**given, "txnAppId": "a", "txnVersion": "3"}
    assert WriteOptions.parse(named, streaming=False).write == IdempotentWrite("a", 3)
    del given["topic"]
    with pytest.raises(InvalidValue, match="set topic"):
        WriteOptions.parse(given, streaming=True)

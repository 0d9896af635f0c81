import re
from pathlib import Path

import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.read_options import READ_OPTIONS, ReadOptions
from magnetar.spark.write_options import WRITE_OPTIONS, WriteOptions

URL = "pulsar://localhost:6650"


def read(*, streaming=True, **given):
    return ReadOptions.parse({"service.url": URL, "topic": "orders", **given}, streaming=streaming)


def write(**given):
    return WriteOptions.parse({"service.url": URL, "topic": "orders", **given}, streaming=True)


def test_names_compare_without_case_as_spark_hands_them_over():
    options = ReadOptions.parse(
        {"SERVICE.URL": URL, "topics": "a, t/n/b ,a", "maxmessagespertrigger": "5"}, streaming=True
    )
    assert options.topics == ("persistent://public/default/a", "persistent://t/n/b")
    assert options.messages_per_trigger_max == 5


def test_sparks_own_options_pass():
    assert read(path="/x", checkpointLocation="/y").subscription is None


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


def test_every_option_is_in_the_table_of_the_document():
    page = Path(__file__).parents[3].joinpath("docs/spark.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall("`([^`]+)`", row)}
    assert {*READ_OPTIONS, *WRITE_OPTIONS} <= told

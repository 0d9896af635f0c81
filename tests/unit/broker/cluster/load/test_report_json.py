"""Reports in Pulsar's words, and back."""

import json

import pytest

from magnetar.broker.cluster.load.report import BundleLoad, Report, Resource, Traffic
from magnetar.broker.cluster.load.report_json import read, shown
from magnetar.errors import InvalidValue
from magnetar.model.bundles import RING_END, Bundle
from magnetar.model.names import NamespaceName

REPORT = Report(
    cpu=Resource(12.5, 100.0),
    memory=Resource(100.0, 2000.0),
    bundles={
        Bundle(NamespaceName("t", "n"), 0, RING_END): BundleLoad(
            Traffic(1.0, 2.0, 3.0, 4.0), 5, 6, 7
        )
    },
    updated_ms=8,
)


def test_a_report_is_read_as_it_was_written():
    assert read(json.loads(json.dumps(shown(REPORT)))) == REPORT


def test_it_has_the_sums_of_its_bundles():
    value = shown(REPORT)
    assert (value["numTopics"], value["numProducers"], value["msgThroughputOut"]) == (5, 6, 4.0)
    assert value["bundles"] == ["t/n/0x00000000_0xffffffff"]


@pytest.mark.parametrize("key", ["cpu", "lastStats", "lastUpdate"])
def test_what_is_no_report_is_refused(key):
    with pytest.raises(InvalidValue, match="no report of load"):
        read(shown(REPORT) | {key: "?"})

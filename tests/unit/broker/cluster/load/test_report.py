"""How much of a broker its load takes, and when that has changed."""

import pytest

from magnetar.broker.cluster.load.report import (
    BundleLoad,
    Report,
    Resource,
    Traffic,
    Weights,
    averaged,
)
from magnetar.model.bundles import Bundle
from magnetar.model.names import NamespaceName

BUNDLE = Bundle(NamespaceName("t", "n"), 0, 1)


def busy(messages):
    return Report(bundles={BUNDLE: BundleLoad(Traffic(messages, messages * 100))})


def test_the_resource_that_ends_first_is_what_counts():
    report = Report(cpu=Resource(30, 100), bandwidth_in=Resource(60, 100))

    assert report.usage(Weights()) == 0.6
    assert report.usage(Weights(bandwidth_in=0.25)) == 0.3


def test_memory_counts_when_it_is_said():
    report = Report(cpu=Resource(30, 100), memory=Resource(90, 100))

    assert report.usage(Weights()) == 0.3
    assert report.usage(Weights(memory=1)) == 0.9


def test_what_has_no_limit_is_not_used_up():
    assert Report(bandwidth_out=Resource(1e9, 0)).usage(Weights()) == 0


def test_most_of_the_usage_is_history():
    now = averaged({"a": 0.5, "gone": 1.0}, {"a": 1.0, "new": 0.7}, 0.9)

    assert now == {"a": pytest.approx(0.55), "new": pytest.approx(0.7)}


@pytest.mark.parametrize(("messages", "differs"), [(109, False), (111, True), (89, True)])
def test_a_report_differs_by_more_than_a_tenth(messages, differs):
    assert busy(messages).differs(busy(100), 10) is differs


def test_a_broker_that_had_nothing_differs_with_its_first_bundle():
    assert busy(0).differs(Report(), 10)
    assert not Report().differs(Report(), 10)


@pytest.mark.parametrize("what", ["topics", "producers", "consumers"])
def test_a_bundle_that_grows_differs_without_traffic(what):
    def having(count):
        return Report(bundles={BUNDLE: BundleLoad(**{what: count})})

    assert having(8).differs(having(5), 10)
    assert not having(105).differs(having(100), 10)


def test_a_resource_differs_by_its_share():
    assert Report(cpu=Resource(15, 100)).differs(Report(cpu=Resource(4, 100)), 10)
    assert not Report(cpu=Resource(8, 100)).differs(Report(cpu=Resource(4, 100)), 10)


def test_sessions_are_producers_and_consumers():
    assert BundleLoad(producers=2, consumers=3).sessions == 5

from prometheus_client.parser import text_string_to_metric_families

from magnetar.broker.admin.sibling_metrics import labelled, merged

ONE = """\
# HELP up about it
# TYPE up gauge
up 1
# TYPE in gauge
in{cluster="c",topic="a \\"x\\" {b}"} 5
# TYPE lag histogram
lag_bucket{le="1.0"} 2
lag_sum 3
"""
OTHER = """\
# HELP up about it
# TYPE up gauge
up 0
# TYPE in gauge
in{cluster="c",topic="b"} 6
# TYPE only gauge
only{cluster="c"} 7
"""


def test_what_is_not_of_a_topic_has_its_process():
    found = labelled(ONE, "3").splitlines()
    assert found[2] == 'up{process="3"} 1'
    assert found[4] == 'in{cluster="c",topic="a \\"x\\" {b}"} 5'
    assert found[6] == 'lag_bucket{le="1.0",process="3"} 2'


def test_each_metric_stands_once_with_the_samples_of_all():
    text = merged([labelled(ONE, "0"), "", labelled(OTHER, "1")])
    families = {each.name: each for each in text_string_to_metric_families(text)}
    assert list(families) == ["up", "in", "lag", "only"]
    assert [(each.labels, each.value) for each in families["up"].samples] == [
        ({"process": "0"}, 1),
        ({"process": "1"}, 0),
    ]
    assert [each.labels["topic"] for each in families["in"].samples] == ['a "x" {b}', "b"]
    assert text.count("# HELP up") == 1


def test_openmetrics_ends_once():
    text = merged(["# TYPE a gauge\na 1\n# EOF\n", "# TYPE a gauge\na 2\n# EOF\n"])
    assert text == "# TYPE a gauge\na 1\na 2\n# EOF\n"

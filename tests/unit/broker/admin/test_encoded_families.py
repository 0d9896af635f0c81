"""A family is written again only where something of it has changed."""

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest

from magnetar.broker.admin.encoded_families import SMALL, encoded


class Encoder:
    """The library's, which counts."""

    def __init__(self):
        self.count = 0

    def __call__(self, collector):
        self.count += 1
        return generate_latest(collector)


def gauge(name, *values):
    family = GaugeMetricFamily(name, "about it", labels=["n"])
    for n, value in enumerate(values):
        family.add_metric([str(n)], value)
    return family


def test_what_has_not_changed_is_not_written_again():
    known, encode = {}, Encoder()
    first = list(encoded([gauge("a", 1), gauge("b", 2, 3)], known, encode))
    assert list(encoded([gauge("a", 1), gauge("b", 2, 3)], known, encode)) == first
    assert encode.count == 2
    assert first[1].splitlines()[-2:] == [b'b{n="0"} 2.0', b'b{n="1"} 3.0']


def test_what_has_changed_is_told():
    known, encode = {}, Encoder()
    for values in ((1,), (2,), (2, 0), (2,)):
        (text,) = encoded([gauge("a", *values)], known, encode)
        assert [text] == list(encoded([gauge("a", *values)], {}, encode))
    assert encode.count == 8


def test_a_family_without_samples_is_told_of():
    (text,) = encoded([gauge("a")], {}, Encoder())
    assert b"# TYPE a gauge" in text


def test_a_large_family_is_not_kept():
    known, encode = {}, Encoder()
    for _ in range(2):
        list(encoded([gauge("a", *range(SMALL + 1))], known, encode))
    assert encode.count == 2
    assert not known

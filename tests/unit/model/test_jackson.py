"""Held to what Apache Pulsar 4.0.7 reads: its own mapper of JSON wrote ``jackson.tsv``."""

import csv
import json
from functools import partial
from pathlib import Path

import pytest

from magnetar.errors import InvalidValue
from magnetar.model import jackson

RECORDED = Path(__file__).parents[2] / "golden/jackson.tsv"
READERS = {
    "Integer": partial(jackson.whole, bits=32),
    "Long": jackson.whole,
    "Boolean": jackson.truth,
    "Double": jackson.number,
    "String": jackson.text,
    "List<String>": jackson.texts,
    "Map<String,String>": jackson.text_map,
}
# Pulsar takes these: a rate that is no number, and a role that is none.
REFUSED_HERE = {
    *((sent, "Double") for sent in ('"NaN"', '"INF"', '"Infinity"', "1e400")),
    ('[1,true,null,1.50,"x"]', "List<String>"),
}


def recorded():
    with RECORDED.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) > 50
    return [
        pytest.param(row["sent"], kind, row[kind], id=f"{row['sent']}-{kind}")
        for row in rows
        for kind in READERS
    ]


def read(sent, kind):
    """What a field with this value becomes; a caller leaves out a collection that is null."""
    value = jackson.loads(sent)
    if value is None:
        return None
    try:
        return READERS[kind](value, "it")
    except InvalidValue:
        return "refused"


@pytest.mark.parametrize(("sent", "kind", "pulsar"), recorded())
def test_a_value_is_what_pulsar_reads(sent, kind, pulsar):
    found = read(sent, kind)
    if (sent, kind) in REFUSED_HERE:
        assert pulsar != "refused"
        pulsar = "refused"
    expected = "refused" if pulsar == "refused" else json.loads(pulsar)
    assert (found, type(found)) == (expected, type(expected))


def test_a_refusal_says_what_of_which_type_it_is():
    with pytest.raises(InvalidValue, match=r'^limitTime is not a whole number: "soon"$'):
        jackson.whole("soon", "limitTime")
    with pytest.raises(InvalidValue, match=r"^limitTime is out of range: 2147483648 does not fit"):
        jackson.whole("2147483648", "limitTime", bits=32)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_is_not_read(constant):
    with pytest.raises(ValueError, match="is no JSON"):
        jackson.loads(f'{{"rate": {constant}}}')

"""Which Avro schema reads the data of which, as Apache Pulsar 4.0.7 answered (``record.py``)."""

import json
from pathlib import Path
from random import Random

from golden.avro.pairs import pair

from magnetar.broker.schema.avro import AvroDefinition

RECORDED = Path(__file__).parent / "resolver.jsonl"


def clashes(reader, writer):
    return AvroDefinition.parse(reader).unreadable(AvroDefinition.parse(writer))


def test_each_pair_is_answered_as_pulsar_did():
    wrong = []
    recorded = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    for reads, reader, writer in recorded:
        found = clashes(json.dumps(reader).encode(), json.dumps(writer).encode())
        if reads is bool(found):
            wrong.append((reads, found, reader, writer))
    assert not wrong, f"{len(wrong)} of {len(recorded)} pairs, the first: {wrong[0]}"


def test_every_schema_reads_what_was_written_by_it():
    for seed in range(500):
        for definition in pair(Random(seed)):
            if "aliases" not in definition:  # An alias may be the name of another field, too.
                assert clashes(definition.encode(), definition.encode()) == [], definition

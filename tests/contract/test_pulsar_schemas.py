"""Schemas of topics that a broker of Pulsar's and one of ours keep for each other."""

import json

import pytest
from contract.pulsar_logs import client_of, our_stores
from pulsar.schema import AvroSchema, Integer, Record, String
from support.admin import ask

from bench.pulsar_on_cluster import PulsarBroker
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.storage.schemas.in_ledgers import SchemasInLedgers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

NAMED = TopicName.parse("persistent://public/default/two words ~*")
OF = "schemas/public/default/two%20words%20~%2A"
AT = f"{OF}/schema"
A_FIELD = {"name": "a", "type": ["null", "int"], "default": None}


def definition(*names):
    fields = [dict(A_FIELD, name=name) for name in names]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def post(broker, text, kind="AVRO"):
    """Give the topic a schema; return its version."""
    body = {"type": kind, "schema": text, "properties": {"by": "them"}}
    return ask(broker, "POST", AT, body)["version"]["version"]


class Reading(Record):
    a = Integer()
    b = String()


async def test_versions_are_read_and_added_by_either(pulsar_cluster, tmp_path):
    with PulsarBroker(tmp_path, pulsar_cluster) as theirs:
        texts = [definition("a"), definition("a", "b")]
        assert [post(theirs, text) for text in (*texts, texts[0])] == [0, 1, 0]
        async with our_stores(pulsar_cluster) as (metadata, ledgers):
            ours = SchemasInLedgers(metadata, ledgers)
            told = ask(theirs, "GET", f"{OF}/schemas")
            found = await ours.versions(NAMED)
            assert [each.number for each in found] == [0, 1]
            assert [each.schema.data.decode() for each in found] == texts
            assert [each.schema.timestamp_ms for each in found] == [
                each["timestamp"] for each in told["getSchemaResponses"]
            ]
            assert found[0].schema.type is SchemaType.AVRO
            assert found[0].schema.properties == {"by": "them"}

            third = SchemaInfo(
                SchemaType.AVRO, definition("a", "b", "c").encode(), {"by": "us"}, 1_800_000_000_000
            )
            assert await ours.add(NAMED, 2, third)
            assert not await ours.add(NAMED, 2, third)
            seen = ask(theirs, "GET", AT)
            assert (seen["version"], seen["timestamp"]) == (2, 1_800_000_000_000)
            assert seen["properties"] == {"by": "us"}
            assert post(theirs, definition("a", "b", "c")) == 2
            assert post(theirs, definition("a")) == 0
            assert post(theirs, definition("a", "b", "c", "d")) == 3
            assert [each.number for each in await ours.versions(NAMED)] == [0, 1, 2, 3]

            assert ask(theirs, "DELETE", AT)["version"] == 4
            assert (await ours.versions(NAMED))[-1].schema.deleted
            assert post(theirs, "", "STRING") == 5
            latest = (await ours.versions(NAMED))[-1]
            assert (latest.number, latest.schema.type) == (5, SchemaType.STRING)
            await ours.forget(NAMED)
            assert post(theirs, definition("b")) == 0
            ask(theirs, "DELETE", f"{AT}?force=true")
            assert await ours.versions(NAMED) == []

            first = TopicName.parse("persistent://public/default/readings")
            avro = AvroSchema(Reading)
            text = avro.schema_info().schema().encode()
            assert await ours.add(first, 0, SchemaInfo(SchemaType.AVRO, text, {}, 1))
            client = client_of(theirs)
            consumer = client.subscribe("readings", "s", schema=avro)
            client.create_producer("readings", schema=avro).send(Reading(a=1, b="x"))
            message = consumer.receive(10_000)
            assert (message.value().a, message.schema_version()) == (1, "\0" * 8)
            client.close()

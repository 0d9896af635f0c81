import json

import pytest
from unit.broker.schema.samples import A_TEXT, AB, A

ONE = "/admin/v2/schemas/public/default/orders"


def payload(schema, **properties):
    return {"type": schema.type.name, "schema": schema.data.decode(), "properties": properties}


async def test_a_schema_is_added_shown_and_found(world):
    for number, schema in enumerate((A, AB)):
        answer = await world.ask("POST", f"{ONE}/schema", payload(schema, k="v"))
        assert (answer.status, answer.json) == (200, {"version": {"version": number}})
    shown = (await world.ask("GET", f"{ONE}/schema")).json
    assert (shown["version"], shown["type"], shown["properties"]) == (1, "AVRO", {"k": "v"})
    assert (await world.ask("GET", f"{ONE}/schema/0")).json["data"] == A.data.decode()
    assert (await world.ask("POST", f"{ONE}/version", payload(A))).json == {"version": 0}
    assert (await world.ask("POST", f"{ONE}/version", payload(A_TEXT))).json == {"version": -1}


async def test_what_clashes_is_named(world):
    await world.ask("POST", f"{ONE}/schema", payload(A))
    for path in ("schema", "compatibility"):
        answer = await world.ask("POST", f"{ONE}/{path}", payload(A_TEXT))
        assert answer.status == 409
        assert "field a is string for the reader and int in the data" in answer.reason


async def test_the_schema_goes_with_its_topic(world):
    await world.topic("persistent://public/default/orders")
    await world.ask("POST", f"{ONE}/schema", payload(A))
    await world.ask("DELETE", "/admin/v2/persistent/public/default/orders")
    assert (await world.ask("GET", f"{ONE}/schema")).status == 404
    answer = await world.ask("POST", f"{ONE}/schema", payload(A_TEXT))
    assert answer.json == {"version": {"version": 0}}


async def test_the_schema_goes_with_the_last_of_the_partitions(world):
    topic = "/admin/v2/persistent/public/default/orders"
    await world.ask("PUT", f"{topic}/partitions", 2)
    await world.ask("POST", f"{ONE}/schema", payload(A))
    await world.ask("DELETE", f"{topic}-partition-1")
    assert (await world.ask("GET", f"{ONE}-partition-0/schema")).status == 200
    await world.ask("DELETE", f"{topic}/partitions")
    assert (await world.ask("GET", f"{ONE}/schema")).status == 404


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (None, 400, "Send a schema"),
        ({"type": "AVRO"}, 400, "schema is a definition as a text"),
        ({"type": "ZZZ", "schema": ""}, 400, "There is no schema type 'ZZZ'"),
        ({"type": ["AVRO"], "schema": ""}, 400, "There is no schema type"),
        ({"type": "AUTO_PUBLISH", "schema": ""}, 422, "client-side"),
        ({"type": "KEY_VALUE", "schema": "zz"}, 422, "key"),
        ({"type": "KEY_VALUE", "schema": '{"key":""}'}, 422, "key"),
    ],
)
async def test_what_is_no_schema_is_refused(world, body, status, reason):
    answer = await world.ask("POST", f"{ONE}/schema", body)
    assert answer.status == status
    assert reason in answer.reason


async def test_what_is_not_text_is_shown_all_the_same(world):
    kv = {
        "type": "KEY_VALUE",
        "schema": json.dumps({"key": "", "value": json.loads(A.data)}),
        "properties": {"key.schema.type": "INT32", "value.schema.type": "AVRO"},
    }
    await world.ask("POST", f"{ONE}/schema", kv)
    shown = (await world.ask("GET", f"{ONE}/schema")).json
    assert json.loads(shown["data"]) == {"key": "", "value": json.loads(A.data)}

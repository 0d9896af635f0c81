"""Values of registry schemas in Spark: how many a core decodes and encodes, and what a read takes.

    python -m bench.spark_values            # the steps alone, in seconds of CPU
    python -m bench.spark_values --spark    # reads by a session of two cores, half a minute

Flat records of six fields. ``old Avro`` was written with another version of the schema, so that
each record is resolved. The broker of ``--spark`` is ours, on the same cores; each figure is the
best of three, as rows a second.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.primitives import Int64Schema
from magnetar.spark.session import session, shut_down
from magnetar.spark.values.arrays import binary_array
from magnetar.spark.values.decoding import decoder
from magnetar.spark.values.encoding import encoder
from magnetar.spark.values.types import value_type
from magnetar.testing.processes import BrokerProcess

ROWS: Final = 10_000
STORED: Final = 400_000
STORED_CASES: Final = ("Avro", "JSON")
ROUNDS: Final = 3

FIELDS: Final = [
    {"name": "number", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "price", "type": "double"},
    {"name": "count", "type": "int"},
    {"name": "paid", "type": "boolean"},
    {"name": "note", "type": ["null", "string"], "default": None},
]
RECORD: Final = {"type": "record", "name": "Order", "fields": FIELDS}
OLD: Final = {**RECORD, "fields": FIELDS[:-1]}


def order(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "customer": f"customer-{number % 1000}",
        "price": number / 7,
        "count": number % 100,
        "paid": number % 2 == 0,
        "note": None if number % 3 else "a note",
    }


def info(definition: Any, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return SchemaInfo(kind, json.dumps(definition).encode())


@dataclass
class Case:
    """Payloads of one kind, what they are read as, and what they were written with."""

    reader: SchemaInfo
    writer: SchemaInfo
    payloads: list[bytes]


def cases() -> dict[str, Case]:
    rows = [order(number) for number in range(ROWS)]
    avro, old = map(AvroSchema.from_definition, (RECORD, OLD))
    encoded = [avro.encode(row) for row in rows]
    without = [{name: each for name, each in row.items() if name != "note"} for row in rows]
    in_json = [json.dumps(row).encode() for row in rows]
    as_json = info(RECORD, SchemaType.JSON)
    number = SchemaInfo(SchemaType.INT64)
    return {
        "INT64": Case(number, number, [Int64Schema().encode(each) for each in range(ROWS)]),
        "Avro": Case(info(RECORD), info(RECORD), encoded),
        "old Avro": Case(info(RECORD), info(OLD), [old.encode(row) for row in without]),
        "JSON": Case(as_json, as_json, in_json),
    }


def rate(work: Callable[[], Any], count: int, clock: Callable[[], float]) -> float:
    best = 0.0
    for _ in range(ROUNDS):
        start = clock()
        work()
        best = max(best, count / (clock() - start))
    return best


def alone() -> None:
    print("rows for a second of one core's CPU")
    for name, case in cases().items():
        kind = value_type(case.reader)
        arrow = to_arrow_type(kind.spark, timezone="UTC")
        decode = decoder(case.reader, kind, arrow, case.writer)
        payloads = binary_array(case.payloads)
        read = rate(partial(decode, payloads, None), ROWS, time.process_time)
        values: pa.Array = decode(payloads, None)
        encode = encoder(case.reader, kind.spark)

        def write(encode: Any = encode, values: Any = values) -> None:
            binary_array(encode(values.to_pylist()).payloads)

        print(
            f"{name:9} decode {read:12,.0f}   encode {rate(write, ROWS, time.process_time):12,.0f}"
        )


def in_spark() -> None:
    with TemporaryDirectory() as folder, BrokerProcess(Path(folder) / "data") as broker:
        with blocking.Client(broker.service_url) as client:
            for name in STORED_CASES:
                case = cases()[name]
                with client.create_producer(name) as producer:
                    producer.register_schema(case.reader)
                    for _ in range(STORED // ROWS):
                        producer.send_many(case.payloads)
        spark = session("values", master="local[2]", log_file=Path(folder) / "spark.log")
        print(f"rows a second from a topic of {STORED:,} to noop, by two cores")
        for name in STORED_CASES:
            rates = {}
            for schema in ("none", "registry"):
                reader = spark.read.format("pulsar").option("service.url", broker.service_url)
                reader = reader.options(topic=name, schema=schema)
                columns: StructType = reader.load().schema
                found = reader.schema(StructType([columns["value"]])).load()

                def read(rows: Any = found) -> None:
                    rows.write.format("noop").mode("overwrite").save()

                read()
                rates[schema] = rate(read, STORED, time.perf_counter)
            print(f"{name:9} bytes {rates['none']:12,.0f}   typed {rates['registry']:12,.0f}")
        shut_down(spark)


if __name__ == "__main__":
    in_spark() if "--spark" in sys.argv else alone()

"""Asks Apache Pulsar's own classes which Avro schema reads the data of which.

PYTHONPATH=tests:. python -m golden.avro.record    # Writes resolver.jsonl; needs Maven and Java.
"""

import json
from pathlib import Path
from random import Random

from golden.avro.pairs import pair
from py4j import java_gateway

from bench.pulsar_standalone import fetch

RECORDED = Path(__file__).parent / "resolver.jsonl"
PAIRS = 2000
SIZE_MAX = 450  # Of both definitions.


def main() -> None:
    port = java_gateway.launch_gateway(classpath=f"{fetch()}/*", die_on_exit=True)
    gateway = java_gateway.JavaGateway(gateway_parameters=java_gateway.GatewayParameters(port=port))
    org = gateway.jvm.org
    schema_type = org.apache.pulsar.common.schema.SchemaType.AVRO
    backward = org.apache.pulsar.common.policies.data.SchemaCompatibilityStrategy.BACKWARD
    service = org.apache.pulsar.broker.service.schema
    check = service.AvroSchemaCompatibilityCheck()
    validator = service.validator.SchemaDataValidator

    def stored(definition):
        data = org.apache.pulsar.common.protocol.schema.SchemaData.builder()
        return data.type(schema_type).data(definition.encode()).user("").build()

    def valid(definition):
        try:
            validator.validateSchemaData(stored(definition))
        except java_gateway.Py4JJavaError:
            return False
        return True

    def reads(reader, writer):
        try:
            check.checkCompatible(stored(writer), stored(reader), backward)
        except java_gateway.Py4JJavaError:
            return False
        return True

    random, seen = Random(20), set()
    with RECORDED.open("w") as out:
        while len(seen) < PAIRS:
            made = pair(random)
            reader, writer = made
            if reader == writer or made in seen or len(reader) + len(writer) > SIZE_MAX:
                continue
            if valid(reader) and valid(writer):
                seen.add(made)
                line = [reads(reader, writer), json.loads(reader), json.loads(writer)]
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
    gateway.shutdown()


if __name__ == "__main__":
    main()

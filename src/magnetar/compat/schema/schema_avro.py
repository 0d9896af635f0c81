"""Records, or dicts, as Avro."""

import enum
import io
import json
import logging
from collections.abc import Callable
from typing import Any

from magnetar.compat.enums import SchemaType

from .definition import Record
from .schema import Received, Schema

log = logging.getLogger(__name__)


class AvroSchema(Schema):
    """Records of a class, or dicts with a schema of the application's own."""

    def __init__(self, record_cls: Any, schema_definition: Any = None) -> None:
        """Give one of the two; the class goes first. Raises AssertionError without any."""
        if record_cls is None and schema_definition is None:
            raise AssertionError(
                "The param record_cls and schema_definition shouldn't be both None."
            )
        self._schema = schema_definition if record_cls is None else record_cls.schema()
        super().__init__(record_cls, SchemaType.AVRO, self._schema, "AVRO")

    def encode(self, obj: Any) -> bytes | None:
        import fastavro  # noqa: PLC0415 - only who uses it pays for it.

        if self._record_cls is not None:
            self._validate_object_type(obj)
            values = self.encode_dict(vars(obj))
        elif isinstance(obj, dict):
            values = obj
        else:
            raise ValueError("If using the custom schema, the record data should be dict type.")
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, self._schema, values)
        return buffer.getvalue()

    def encode_dict(self, d: dict[str, Any]) -> dict[str, Any]:
        """The dict with what Avro can write in place of records and enumerations."""
        return {key: self._get_serialized_value(value) for key, value in d.items()}

    def _get_serialized_value(self, x: Any) -> Any:
        if isinstance(x, enum.Enum):
            return x.name
        if isinstance(x, Record):
            return self.encode_dict(vars(x))
        if isinstance(x, list):
            return [self._get_serialized_value(item) for item in x]
        return self.encode_dict(x) if isinstance(x, dict) else x

    def decode(self, data: bytes) -> Any:
        return self._decode_bytes(data, self._schema)

    def decode_message(self, msg: Received) -> Any:
        """The record of a message, by the schema it was written with where that can be had."""
        try:
            return msg.decoded()
        except Exception as error:  # noqa: BLE001 - as theirs: the reader's schema may do.
            log.warning(
                "schema.not_decoded message=%s topic=%s version=%d error=%r: trying the "
                "consumer's own schema",
                msg.message_id(),
                msg.topic_name(),
                msg.int_schema_version(),
                error,
            )
            return self.decode(msg.data())

    def decoder(self, definition: bytes) -> Callable[[bytes], Any]:
        """What decodes records that were written with another schema."""
        writer_schema = json.loads(definition)
        return lambda data: self._decode_bytes(data, writer_schema)

    def _decode_bytes(self, data: bytes, writer_schema: Any) -> Any:
        import fastavro  # noqa: PLC0415 - only who uses it pays for it.

        # Avro wants both records to have one name, and applications rename their classes.
        writer_schema["name"] = self._schema["name"]
        values = fastavro.schemaless_reader(io.BytesIO(data), writer_schema, self._schema)
        return values if self._record_cls is None else self._record_cls(**values)  # type: ignore[arg-type]

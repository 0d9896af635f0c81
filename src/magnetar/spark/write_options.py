"""The options of writing: Spark's strings, checked, with their defaults. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaType
from magnetar.spark.client_settings import ClientSettings, Connection
from magnetar.spark.option_values import (
    admin_url,
    known,
    service_url,
    timeout_s,
    topic_name,
    truth,
)
from magnetar.spark.read_options import PULSAR_SPARK, columns_of
from magnetar.spark.values.options import NONE, REGISTRY

AT_LEAST_ONCE = "at-least-once"
EXACTLY_ONCE = "exactly-once"
VERSIONS_MAX = 1 << 31
"""The highest number of a write or micro-batch: sequence ids are 63 bits, rows take 32."""

_NOT_DERIVED = ("PROTOBUF", "PROTOBUF_NATIVE", "KEY_VALUE", "AUTO_CONSUME")
SCHEMAS = tuple(kind.name.lower() for kind in SchemaType if kind.name not in _NOT_DERIVED)
"""Types of a column that can be a value by itself."""

WRITE_OPTIONS = (
    "service.url",
    "admin.url",
    "topic",
    "guarantee",
    "delivery",
    "columns",
    "includeHeaders",
    "schema",
    "nullValue",
    "txnAppId",
    "txnVersion",
    "encryption.keys",
    "encryption.publicKey",
    "timeoutSeconds",
    "retryForever",
)


@dataclass(frozen=True, slots=True)
class WriteOptions(Connection):
    """Where to write, and how surely; ``topic`` may be left to a column of the rows."""

    admin_url: str | None
    topic: str | None
    schema: str  # A type of schemas in lower case, or the registry's.
    pulsar_spark_columns: bool
    tombstones: bool  # A row without a value is a message without one, else an error.
    exactly_once: bool
    in_transaction: bool
    write: "IdempotentWrite | None"  # None: a batch write is one that nobody repeats.
    encryption: "Encryption | None"

    @property
    def typed(self) -> bool:
        """Values are to be encoded: they are not just bytes or text in a column."""
        return self.pulsar_spark_columns or self.schema not in (NONE, "string")

    @staticmethod
    def parse(options: Mapping[str, str], *, streaming: bool) -> "WriteOptions":
        """Read Spark's options, whose names compare without case. Raises InvalidValue."""
        given = known(options, WRITE_OPTIONS)
        topic = given.get("topic")
        columns = columns_of(options) == PULSAR_SPARK
        exactly_once = _guarantee(given) == EXACTLY_ONCE
        in_transaction = _in_transaction(given, topic, exactly_once=exactly_once)
        if exactly_once and "admin.url" not in given:
            raise InvalidValue(
                f"option guarantee is {EXACTLY_ONCE}: set admin.url, for example "
                "http://localhost:8080, where the sink asks whether the broker deduplicates"
            )
        return WriteOptions(
            service_url=service_url(given),
            admin_url=admin_url(given),
            topic=None if topic is None else topic_name(topic, "topic"),
            schema=_schema(given, REGISTRY if columns else NONE),
            pulsar_spark_columns=columns,
            tombstones=_tombstones(given),
            exactly_once=exactly_once,
            in_transaction=in_transaction,
            write=_write(given, streaming=streaming, once=exactly_once or in_transaction),
            encryption=_encryption(given),
            timeout_s=timeout_s(given),
            retry_forever=truth(given, "retryForever", default=False),
            client=ClientSettings.parse(options),
        )


@dataclass(frozen=True, slots=True)
class IdempotentWrite:
    """A write that is stored once, however often it is tried: ``version`` rises within ``app_id``.

    Of a stream they are its query's id and the micro-batch's; of a batch write they are the
    options that Delta Lake calls so.
    """

    app_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Encryption:
    """Who may read what is written, by the names of their keys, and where their public keys are."""

    names: tuple[str, ...]
    public_key: str  # The path of a file, with the name of the key for ``{name}`` in it.


def _encryption(given: Mapping[str, str]) -> Encryption | None:
    names, public_key = (given.get(f"encryption.{name}") for name in ("keys", "publicKey"))
    if not names and not public_key:
        return None
    if not names or not public_key:
        raise InvalidValue(
            "options encryption.keys and encryption.publicKey belong together: the names of keys, "
            "with commas between, and the path of the public key, with {name} in it for several"
        )
    return Encryption(tuple(name.strip() for name in names.split(",")), public_key)


def _guarantee(given: Mapping[str, str]) -> str:
    value = given.get("guarantee", AT_LEAST_ONCE)
    if value not in (AT_LEAST_ONCE, EXACTLY_ONCE):
        raise InvalidValue(
            f"option guarantee is '{value}': it has to be {AT_LEAST_ONCE} or {EXACTLY_ONCE}"
        )
    return value


def _schema(given: Mapping[str, str], default: str) -> str:
    value = given.get("schema", default).lower()
    if value not in (REGISTRY, *SCHEMAS):
        raise InvalidValue(
            f"option schema is '{value}': it has to be {REGISTRY}, for that of the topic, or one "
            f"of {', '.join(SCHEMAS)}"
        )
    return value


def _tombstones(given: Mapping[str, str]) -> bool:
    value = given.get("nullValue", "error")
    if value not in ("error", "tombstone"):
        raise InvalidValue(
            f"option nullValue is '{value}': a row without a value is an error, or a tombstone, "
            "which removes its key where the topic is compacted"
        )
    return value == "tombstone"


def _in_transaction(given: Mapping[str, str], topic: str | None, *, exactly_once: bool) -> bool:
    value = given.get("delivery", "direct")
    if value not in ("direct", "transaction"):
        raise InvalidValue(f"option delivery is '{value}': it has to be direct or transaction")
    if value == "direct":
        return False
    if exactly_once:
        raise InvalidValue(
            f"delivery=transaction writes once by itself: leave guarantee={EXACTLY_ONCE} out"
        )
    if topic is None:
        raise InvalidValue("delivery=transaction keeps its commits beside a topic: set topic")
    return True


def _write(given: Mapping[str, str], *, streaming: bool, once: bool) -> IdempotentWrite | None:
    """The write that the options name. Raises InvalidValue where it has a name already, or half."""
    names = [name for name in ("txnAppId", "txnVersion") if name in given]
    if not names:
        return None
    if streaming:
        raise InvalidValue(
            f"option {names[0]} is for batch writes only: a stream has its query's id; remove it"
        )
    if not once:
        raise InvalidValue(
            f"option {names[0]} needs guarantee={EXACTLY_ONCE} or delivery=transaction: set one"
        )
    version = given.get("txnVersion", "")
    if len(names) < 2 or not given["txnAppId"] or not version.isdecimal():
        raise InvalidValue(
            "options txnAppId and txnVersion belong together: a name, and a whole number that "
            "is higher with each write under this name"
        )
    if int(version) >= VERSIONS_MAX:
        raise InvalidValue(f"option txnVersion is {version}: it has to be below {VERSIONS_MAX}")
    return IdempotentWrite(given["txnAppId"], int(version))

"""The options for typed values in reading, and for rows that have none. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from magnetar.errors import InvalidValue
from magnetar.spark.option_values import topic_name, truth

NONE: Final = "none"
REGISTRY: Final = "registry"
FAILFAST: Final = "FAILFAST"
PERMISSIVE: Final = "PERMISSIVE"
CORRUPT_COLUMN: Final = "_corrupt_record"  # As Spark's setting for it has by default.

VALUE_OPTIONS: Final = (
    "schema",
    "allowDifferentTopicSchemas",
    "mode",
    "columnNameOfCorruptRecord",
    "deadLetterTopic",
)


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """Whether values become columns, and what becomes of a message that has no such value."""

    registry: bool
    corrupt_column: str | None = None  # Its value is null, and its payload is here.
    dead_letter_topic: str | None = None  # It goes there. Neither: the query fails.

    @staticmethod
    def parse(options: Mapping[str, str], *, registry_by_default: bool) -> "ValueOptions":
        """Read options under their own names or in any case. Raises InvalidValue."""
        spelling = {name.lower(): name for name in VALUE_OPTIONS}
        given = {
            spelling[name.lower()]: value.strip()
            for name, value in options.items()
            if name.lower() in spelling
        }
        registry = _registry(given, registry_by_default)
        if not registry:
            for name in VALUE_OPTIONS[2:]:
                if name in given:
                    raise InvalidValue(f"option {name} is for schema={REGISTRY}: set it")
        return ValueOptions(registry, _corrupt_column(given), _dead_letter_topic(given))


def _registry(given: Mapping[str, str], default: bool) -> bool:  # noqa: FBT001 - one of two
    name = "allowDifferentTopicSchemas"
    if truth(given, name, default=False):
        if given.get("schema") == REGISTRY:
            raise InvalidValue(f"option {name} leaves values as they are: remove schema={REGISTRY}")
        return False
    value = given.get("schema", REGISTRY if default else NONE)
    if value not in (NONE, REGISTRY):
        raise InvalidValue(
            f"option schema is '{value}': reading it has to be {NONE}, for values in binary, or "
            f"{REGISTRY}, for values of the types that the topic's schema says"
        )
    return value == REGISTRY


def _corrupt_column(given: Mapping[str, str]) -> str | None:
    mode = given.get("mode", FAILFAST).upper()
    if mode == "DROPMALFORMED":
        raise InvalidValue(
            "option mode is DROPMALFORMED, which would lose messages: set deadLetterTopic instead, "
            "a topic that gets them"
        )
    if mode not in (FAILFAST, PERMISSIVE):
        raise InvalidValue(f"option mode is '{mode}': it has to be {FAILFAST} or {PERMISSIVE}")
    if mode == PERMISSIVE:
        return given.get("columnNameOfCorruptRecord", CORRUPT_COLUMN)
    if "columnNameOfCorruptRecord" in given:
        raise InvalidValue(f"option columnNameOfCorruptRecord is for mode={PERMISSIVE}: set it")
    return None


def _dead_letter_topic(given: Mapping[str, str]) -> str | None:
    topic = given.get("deadLetterTopic")
    if topic is not None and "mode" in given:
        raise InvalidValue("give one of the options mode and deadLetterTopic")
    return None if topic is None else topic_name(topic, "deadLetterTopic")

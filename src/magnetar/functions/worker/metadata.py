"""What the worker keeps of a function: its configuration, its package, whether it shall run. Pure.

A record is JSON, under the function's full name, in the topic ``persistent://public/functions/
metadata``, which is compacted: the last one of a name counts, and one without a value deletes it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from magnetar.errors import InvalidValue
from magnetar.functions.config import FunctionConfig

NAMESPACE: Final = "public/functions"
TOPIC: Final = f"persistent://{NAMESPACE}/metadata"


@dataclass(frozen=True, slots=True)
class FunctionMetaData:
    """A function as it is kept."""

    config: FunctionConfig
    package: str  # The name of its package; empty: the code is installed where the worker runs.
    file_name: str = ""  # What the package was called where it came from.
    version: int = 0  # One more with each change.
    running: bool = True  # What it shall do.
    deleted: bool = False  # What it had is being removed; the record goes last.
    created_ms: int = 0

    def encode(self) -> bytes:
        """As it is kept."""
        return json.dumps(
            {
                "functionConfig": self.config.to_json(),
                "package": self.package,
                "originalFileName": self.file_name,
                "version": self.version,
                "running": self.running,
                "deleted": self.deleted,
                "createTime": self.created_ms,
            },
            ensure_ascii=False,
        ).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read what ``encode`` wrote. Raises InvalidValue."""
        try:
            kept = json.loads(data)
            return cls(
                config=FunctionConfig.parse(kept["functionConfig"]),
                package=kept["package"],
                file_name=kept["originalFileName"],
                version=kept["version"],
                running=kept["running"],
                deleted=kept["deleted"],
                created_ms=kept["createTime"],
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidValue(f"a record of {TOPIC} cannot be read: {error!r}") from error

    def changed(self, **fields: Any) -> Self:
        """With other fields, as a new version."""
        return replace(self, version=self.version + 1, **fields)


_FIXED: Final = {
    "outputSerdeClassName": "Output Serde mismatch",
    "outputSchemaType": "Output Schema mismatch",
    "processingGuarantees": "Processing Guarantees cannot be altered",
    "retainOrdering": "Retain Ordering cannot be altered",
    "retainKeyOrdering": "Retain Key Ordering cannot be altered",
    "runtime": "Runtime cannot be altered",
    "autoAck": "AutoAck cannot be altered",
    "subName": "Subscription Name cannot be altered",
}
"""What an update may repeat and not change, and what Pulsar says then."""
_INPUTS: Final = ("inputs", "topicsPattern", "customSerdeInputs", "customSchemaInputs")


def updated(existing: FunctionConfig, given: Mapping[str, Any]) -> FunctionConfig:
    """A function with the keys that an update gives. Raises InvalidValue for one that is fixed."""
    wanted = FunctionConfig.parse({"className": existing.class_name, **_present(given)})
    before, after = existing.to_json(), wanted.to_json()
    for key, said in _FIXED.items():
        if given.get(key) not in (None, "") and after.get(key) != before.get(key):
            now = before.get(key)
            raise InvalidValue(f"{said}: it is {now}; leave it out, or delete the function")
    for topic, spec in wanted.input_specs.items():
        known = existing.input_specs.get(topic)
        if known is None:
            raise InvalidValue(
                f"Input Topics cannot be altered: {topic} is none of "
                f"{', '.join(existing.input_specs)}; leave it out, or delete the function"
            )
        if known.is_regex_pattern != spec.is_regex_pattern:
            raise InvalidValue(f"isRegexPattern for input topic {topic} cannot be altered")
    changed = {key: after[key] for key in _present(given) if key in after}
    if wanted.input_specs:
        changed["inputSpecs"] = {**before["inputSpecs"], **after["inputSpecs"]}
    if "batchBuilder" in given:
        changed["producerConfig"] = after["producerConfig"]
    return FunctionConfig.parse({**before, **changed})


def _present(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None and value != ""}

"""Lets this package stand in for ``pulsar-client`` under its own name."""

import importlib
import sys
from typing import Final

MODULES: Final = (
    "",
    ".asyncio",
    ".exceptions",
    ".functions",
    ".functions.context",
    ".functions.function",
    ".functions.serde",
    ".schema",
    ".schema.definition",
    ".schema.schema",
    ".schema.schema_avro",
    ".schema.schema_protobuf",
    ".tableview",
)


def stand_in() -> None:
    """From now on ``import pulsar`` brings ``magnetar.compat``, installed or not.

    Call it before anything imports the official client; who has it already keeps it.
    """
    for name in MODULES:
        sys.modules[f"pulsar{name}"] = importlib.import_module(f"magnetar.compat{name}")

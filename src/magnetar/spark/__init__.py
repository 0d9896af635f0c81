"""Pulsar in Spark: the ``pulsar`` format for batch and streams, as a Python data source.

``magnetar.spark.session(...)`` starts Spark; nothing of Spark is imported before it is asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magnetar.spark.session import session

__all__ = ["session"]


def __getattr__(name: str) -> Any:
    if name == "session":  # The module, which can be called as the function in it.
        return importlib.import_module("magnetar.spark.session")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The configuration of a function of ``user_code.py``."""

from pathlib import Path

from magnetar.functions.config import FunctionConfig

CODE = Path(__file__).with_name("user_code.py")


def configured(class_name, **keys):
    """By Pulsar's keys, beginning with what is there; read whole unless told otherwise."""
    given = {
        "py": str(CODE),
        "className": f"user_code.{class_name}" if class_name else "user_code",
        "name": (class_name or "plain").lower(),
        "inputs": ["numbers"],
        "output": "results",
        "subscriptionPosition": "Earliest",
    }
    return FunctionConfig.parse({**given, **keys})

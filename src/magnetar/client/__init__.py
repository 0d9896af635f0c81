"""The Python client: asyncio-native, typed, pure Python."""

import logging

# Quiet by default: a program that sets up no logging is told by exceptions alone.
logging.getLogger("magnetar").addHandler(logging.NullHandler())

"""The Python client: asyncio-native, typed, pure Python."""

from typing import Final

from .plain import *  # noqa: F403 - the same loops

SOURCES: Final[str]

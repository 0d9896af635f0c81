"""The inner loops: what is done once per entry, compiled where a compiler was at hand.

Bytes and lists in, bytes and lists out; no I/O, no state. ``plain`` has every loop as anybody can
read it, ``compiled`` the same in C, and tests hold the two equal. ``MAGNETAR_INNER=plain`` in the
environment switches the compiled ones off, ``MAGNETAR_INNER=compiled`` insists on them.
"""

import os
from typing import TYPE_CHECKING, Final

from magnetar.errors import InvalidValue

if TYPE_CHECKING:
    from .plain.loops import *  # noqa: F403 - its loops are listed once, there

_VARIABLE: Final = "MAGNETAR_INNER"
_wanted = os.environ.get(_VARIABLE, "")
if _wanted not in {"", "plain", "compiled"}:
    raise InvalidValue(f"{_VARIABLE}={_wanted!r} (environment): say plain or compiled, or nothing")

BUILD = "plain" if _wanted == "plain" else "compiled"
"""Which loops these are: "compiled" or "plain"."""
if BUILD == "compiled":
    try:
        from ._compiled import *  # noqa: F403 - the same names
    except ImportError as error:
        if _wanted:
            raise InvalidValue(
                f"{_VARIABLE}=compiled, but the inner loops are not compiled here ({error}): "
                "`make setup` does it where there is a C compiler and Python.h"
            ) from error
        BUILD = "plain"
if BUILD == "plain":
    from .plain.loops import *  # noqa: F403 - a start with the compiled ones goes without

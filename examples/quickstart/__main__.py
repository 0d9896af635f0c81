"""``python examples/quickstart``, which is what ``make run`` does."""

import sys
from pathlib import Path

from magnetar.errors import MagnetarError

sys.path.insert(0, str(Path(__file__).parents[1]))

from quickstart.command import quickstart

try:
    quickstart(prog_name="quickstart")
except MagnetarError as error:
    sys.exit(f"quickstart: {error}")

"""``bench`` is run from a checkout, not installed: let tests find it."""

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

# The extra that `make bench` installs.
collect_ignore_glob = [] if find_spec("hdrh") else ["test_*.py"]

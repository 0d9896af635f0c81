"""For all tests: the fixtures we give our users, and each other's helpers by folder name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `from golden.frames import ...`

pytest_plugins = ["magnetar.testing.plugin"]

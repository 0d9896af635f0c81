"""Tests and fuzzes the compiled loops, built with sanitizers of addresses and undefined behaviour.

    python generate/sanitized.py [FRAMES]     10,000 by default; some minutes, with gcc on Linux

The build is in a folder of its own, which goes again. Python's own allocator is off, so that what
is read or written beside an object of any size is noticed: the run ends there, with its place in C.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FLAGS: Final = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g"
TESTED: Final = (
    "tests/unit/inner",
    "tests/unit/wire",
    "tests/unit/message",
    "tests/properties/test_inner.py",
    "tests/properties/test_wire_runs.py",
    "tests/properties/test_wire_frames.py",
    "tests/properties/test_wire_acks.py",
    "tests/properties/test_message_entries.py",
)
FUZZED: Final = ("decoder", "client", "entries")  # Not "live", which bounds memory and time.
FRAMES: Final = 10_000


def sanitized(frames: int) -> None:
    """Build the loops and run all of it. Raises CalledProcessError where anything is found."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("*.so", "build"))
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, tree)
        _python("setup.py", "-q", "build_ext", "--inplace", at=tree, CFLAGS=FLAGS, LDFLAGS=FLAGS)
        compiler = sysconfig.get_config_var("CC").split()[0]
        found = subprocess.run(
            [compiler, "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
        )
        watched = {
            "LD_PRELOAD": found.stdout.strip(),
            "PYTHONMALLOC": "malloc",
            # Python itself keeps much until it ends; and what was freed is not kept for long.
            "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "MAGNETAR_INNER": "compiled",
            "PYTHONPATH": f"{tree / 'src'}:{ROOT / 'tests'}",
        }
        used = f"import magnetar.inner._compiled as c; assert c.__file__.startswith({folder!r}), c"
        _python("-c", used, **watched)
        _python(
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            "--timeout=900",
            *TESTED,
            **watched,
        )
        only = (part for target in FUZZED for part in ("--only", target))
        _python("-m", "fuzz.run", "--frames", str(frames), *only, **watched)


def _python(*arguments: str, at: Path = ROOT, **environment: str) -> None:
    subprocess.run(
        [sys.executable, *arguments], cwd=at, env={**os.environ, **environment}, check=True
    )


if __name__ == "__main__":
    sanitized(int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES)

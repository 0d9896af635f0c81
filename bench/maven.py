"""Jars from Maven Central: fetched once, into a cache folder outside the repository.

The folder is ``$XDG_CACHE_HOME/magnetar-bench``, or ``~/.cache/magnetar-bench``.
"""

import os
import shutil
import subprocess
from pathlib import Path

FETCH_TIMEOUT_S = 1200
SETTINGS = Path(__file__).parent / "pulsar" / "settings.xml"


class Missing(Exception):
    """It cannot be had here: the message says why."""


def cached(name: str, *, jars_min: int, remedy: str) -> Path:
    """The folder with jars that were fetched before. Raises Missing."""
    jars = _folder(name)
    if not _complete(jars, jars_min):
        raise Missing(f"{name} was not fetched: {remedy}")
    return jars


def _folder(name: str) -> Path:
    if shutil.which("java") is None:
        raise Missing("there is no java: apt-get install openjdk-17-jre-headless")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "magnetar-bench"
    return cache / name / "lib"


def _complete(jars: Path, jars_min: int) -> bool:
    return len(list(jars.glob("*.jar"))) >= jars_min and (jars.parent / "complete").exists()


def fetched(name: str, pom: Path, *, jars_min: int, size: str, **properties: str) -> Path:
    """The folder with the jars of ``pom``, filled by Maven if it is not yet. Raises Missing.

    ``properties`` are the pom's, with ``_`` for a dot. Far fewer than ``jars_min`` jars: an
    earlier fetch did not end.
    """
    jars = _folder(name)
    if _complete(jars, jars_min):
        return jars
    if shutil.which("mvn") is None:
        raise Missing("there is no Maven: apt-get install maven")
    print(f"fetching {name} with Maven to {jars} ({size})", flush=True)
    jars.mkdir(parents=True, exist_ok=True)
    command = ["mvn", "-B", "-q", "-s", str(SETTINGS), "-f", str(pom)]
    command += [f"-D{key.replace('_', '.')}={value}" for key, value in properties.items()]
    command += ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    command += [f"-DoutputDirectory={jars}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"Maven did not end within {FETCH_TIMEOUT_S} s") from error
    if done.returncode:
        raise Missing(f"Maven could not fetch it: {(done.stdout + done.stderr)[-1500:]}")
    (jars.parent / "complete").touch()
    return jars

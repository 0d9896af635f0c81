"""``pulsar-admin``, the command line of Apache Pulsar itself, run against any broker in one JVM.

    python -m bench.pulsar_admin    # Fetch its jars; exit with 1 and the reason when that fails.

The jars, 82 MB, go to a cache folder outside the repository (``maven.py``).
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Self

from py4j import java_gateway

from bench.maven import Missing, cached, fetched

VERSION = "4.0.6"
JARS_MIN = 120  # 136 belong to it.
POM = Path(__file__).parent / "pulsar" / "admin-pom.xml"
_NAME = f"pulsar-admin-{VERSION}"


class Answer(NamedTuple):
    """What a command came to: whether it succeeded, and what it printed."""

    done: bool
    said: str


def fetch() -> Path:
    """The folder with its jars; filled by Maven if it is not yet. Raises Missing."""
    return fetched(_NAME, POM, jars_min=JARS_MIN, size="82 MB", pulsar_version=VERSION)


def jars() -> Path:
    """The folder with its jars, where they were fetched. Raises Missing."""
    return cached(_NAME, jars_min=JARS_MIN, remedy="python -m bench.pulsar_admin")


class PulsarAdmin:
    """A JVM that runs commands one after the other. Leaving the ``with`` block ends it."""

    def __init__(self, jars: Path, web_url: str) -> None:
        self._jars = jars
        self._web_url = web_url

    def __enter__(self) -> Self:
        port = java_gateway.launch_gateway(
            classpath=f"{self._jars}/*",
            die_on_exit=True,
            redirect_stderr=subprocess.DEVNULL,
            javaopts=["-XX:TieredStopAtLevel=1"],
        )
        self._gateway = java_gateway.JavaGateway(
            gateway_parameters=java_gateway.GatewayParameters(port=port, auto_convert=True)
        )
        jvm = self._gateway.jvm
        self._printed = jvm.java.io.ByteArrayOutputStream()
        stream = jvm.java.io.PrintStream(self._printed, True)
        jvm.java.lang.System.setOut(stream)
        jvm.java.lang.System.setErr(stream)
        properties = jvm.java.util.Properties()
        properties.setProperty("webServiceUrl", f"{self._web_url}/")
        self._tool = jvm.org.apache.pulsar.admin.cli.PulsarAdminTool(properties)
        return self

    def __exit__(self, *_: object) -> None:
        self._gateway.shutdown()

    def run(self, *words: str) -> Answer:
        """Run ``pulsar-admin`` with these words."""
        self._printed.reset()
        arguments = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(words))
        for at, word in enumerate(words):
            arguments[at] = word
        done = self._tool.run(arguments)
        return Answer(bool(done), str(self._printed.toString()))


if __name__ == "__main__":
    try:
        print(fetch())
    except Missing as error:
        sys.exit(f"pulsar-admin cannot be had: {error}")

"""Apache Pulsar itself in place of our broker, with ``MAGNETAR_WITH_PULSAR=1``.

Maven fetches it (``bench/pulsar_standalone.py``); tests are skipped with the reason where it
cannot be had.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

WITH_PULSAR = bool(os.environ.get("MAGNETAR_WITH_PULSAR"))


def ours_alone(reason):
    """Marks tests that need our own broker: against Apache Pulsar they are skipped."""
    return pytest.mark.skipif(WITH_PULSAR, reason=f"of our broker alone: {reason}")


@contextmanager
def apache_pulsar(request, folder, settings=""):
    """A standalone with ``service_url`` and ``web_url``."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from bench.maven import Missing  # noqa: PLC0415
    from bench.pulsar_standalone import PulsarStandalone, fetch  # noqa: PLC0415

    try:
        jars = fetch()
    except Missing as error:
        pytest.skip(f"no Apache Pulsar to test against: {error}")
    say = request.config.get_terminal_writer().line
    say("starting Apache Pulsar, which takes about 20 s")
    with PulsarStandalone(jars, folder, fsync=False, settings=settings) as pulsar:
        say(f"Apache Pulsar is at {pulsar.url}")
        pulsar.service_url = pulsar.url
        yield pulsar

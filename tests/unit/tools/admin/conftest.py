import json

import pytest
from click.testing import CliRunner

from magnetar.errors import MagnetarError
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.admin.command import admin


@pytest.fixture(scope="package")
def broker():
    with BrokerThread() as running:
        yield running


@pytest.fixture(scope="package")
def pulsar_admin(broker):
    """Runs a command line of ``magnetar admin``: what it prints, or the error that it raises."""

    def run(line, *more, code=0, answer=""):
        words = [*line.split(), *more]
        done = CliRunner().invoke(admin, ["--admin-url", broker.web_url, *words], input=answer)
        if isinstance(done.exception, MagnetarError):
            raise done.exception
        assert done.exit_code == code, (words, done.output, done.exception)
        return done.output.rstrip("\n")

    return run


@pytest.fixture(scope="package")
def value(pulsar_admin):
    """The same, for the value that is printed as JSON."""

    def run(line, *more):
        printed = pulsar_admin(line, *more, "-o", "json")
        return json.loads(printed) if printed else None

    return run

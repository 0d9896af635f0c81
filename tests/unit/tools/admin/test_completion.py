import click
import pytest

from magnetar.tools.admin.command import admin
from magnetar.tools.admin.completion import complete


@pytest.fixture(scope="module", autouse=True)
def _topic(pulsar_admin):
    pulsar_admin("tenants create complete")
    pulsar_admin("namespaces create complete/all")
    pulsar_admin("topics create persistent://complete/all/t")


@pytest.mark.parametrize(
    ("verb", "incomplete", "found"),
    [
        ("tenants get", "comp", ["complete"]),
        ("namespaces policies", "comp", ["complete/"]),
        ("namespaces policies", "complete/", ["complete/all"]),
        ("topics stats", "comp", ["complete/"]),
        ("topics stats", "complete/all/", ["complete/all/t"]),
        ("topics stats", "persistent://complete/all/", ["persistent://complete/all/t"]),
        ("clusters get", "stand", ["standalone"]),
        ("bookies get-bookie-rack", "", []),
    ],
)
def test_names_are_asked_of_the_broker(broker, verb, incomplete, found):
    group, name = verb.split()
    with click.Context(admin) as context:
        context.params["admin_url"] = broker.web_url
        command = admin.get_command(context, group).get_command(context, name)
        param = next(iter(command.params))
        completed = param.type.shell_complete(context, param, incomplete)
    assert [one.value for one in completed] == found


def test_nobody_there_completes_nothing():
    with click.Context(admin) as context:
        context.params["admin_url"] = "http://127.0.0.1:1"
        command = admin.get_command(context, "tenants").get_command(context, "get")
        assert complete(context, command.params[0], "") == []

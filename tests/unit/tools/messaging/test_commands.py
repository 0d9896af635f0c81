"""produce, consume, read and peek, on a real broker."""

import json

import pytest
from click.testing import CliRunner
from support.admin import ask
from support.keys import write_keys

from magnetar.errors import ConnectionLost, InvalidValue, NotFound, TopicTerminated
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port
from magnetar.tools.cli import magnetar

RECORD = '{"type": "record", "name": "R", "fields": [{"name": "name", "type": "string"}]}'


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running:
        yield running


@pytest.fixture
def run(broker):
    def called(*words, code=0):
        environment = {
            "PULSAR_SERVICE_URL": broker.service_url,
            "PULSAR_ADMIN_URL": broker.web_url,
        }
        done = CliRunner().invoke(magnetar, words, env=environment, catch_exceptions=False)
        assert done.exit_code == code, done.output
        return done.output

    return called


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def test_what_is_produced_is_consumed(run):
    run("consume", "x", "-s", "s", "--wait", "0.01")
    assert run("produce", "x", "-m", "a,b", "-k", "key", "-p", "c=d,e=f", "-n", "2") == (
        "4 messages successfully produced\n"
    )
    shown = run("consume", "x", "-s", "s", "-n", "4", "-t", "Shared")
    message = "----- got message -----\nkey:[key], properties:[c=d, e=f], content:"
    assert shown == "".join(f"{message}{each}\n" for each in "abab") + (
        "4 messages successfully consumed\n"
    )
    assert run("consume", "x", "-s", "s", "-n", "0", "--wait", "0.05") == (
        "0 messages successfully consumed\n"
    )


def test_ids_and_messages_are_json_where_that_is_asked_for(run):
    [told] = lines(run("produce", "j", "-m", "a,b", "-s", "", "-o", "json"))
    [read] = lines(run("read", "j", "-m", "earliest", "-o", "json"))
    assert read["id"] == told["id"]
    assert (read["value"], read["topic"]) == ("a,b", "persistent://public/default/j")
    place = f"{told['id']['ledgerId']}:{told['id']['entryId']}"
    assert run("read", "j", "-m", place, "-i", "--hide-content") == (
        "1 messages successfully read\n"
    )
    assert run("read", "j", "-m", place, "--wait", "0.02").startswith("0 messages")


def test_files_and_large_messages_are_sent(run, tmp_path):
    for name, data in (("a", b"x" * 5_300_000), ("b", b"\xff\x00")):
        (tmp_path / name).write_bytes(data)
    files = f"{tmp_path}/a,{tmp_path}/b"
    assert run("produce", "f", "-f", files, "-c") == "2 messages successfully produced\n"
    found = lines(run("read", "f", "-m", "earliest", "-n", "2", "-o", "json"))
    assert [each["size"] for each in found] == [5_300_000, 2]
    run("produce", "hex", "-f", f"{tmp_path}/b")
    assert "\n00000000 FF 00 " in run("read", "hex", "-m", "earliest", "--hex")


def test_a_terminal_obeys_no_message(run, tmp_path):
    (tmp_path / "m").write_bytes(b"\x1b[2Jred\xff\tend\xc2\x9b")
    run("produce", "esc", "-f", f"{tmp_path}/m", "-k", "\x07")
    shown = "key:[\\x07], properties:[], content:\\x1b[2Jred\\xff\tend\\x9b\n"
    assert shown in run("read", "esc", "-m", "earliest")
    assert "\x1b" not in run("peek", "esc")


def test_no_broker_and_an_ended_topic_are_named(run, broker):
    with pytest.raises(ConnectionLost, match="refused, nothing listens there: start a broker with"):
        run("produce", "t", "-m", "a", "--url", f"pulsar://127.0.0.1:{free_port()}")
    ask(broker, "PUT", "persistent/public/default/ended")
    ask(broker, "POST", "persistent/public/default/ended/terminate")
    with pytest.raises(TopicTerminated, match=r"^ended: Topic was already terminated"):
        run("produce", "ended", "-m", "a")


def test_values_go_by_their_schema(run):
    sent = ("produce", "v", "-s", "", "-vs", f"avro:{RECORD}", "-m")
    run(*sent, '{"name": "pen"}')
    assert 'content:{"name":"pen"}\n' in run("read", "v", "-m", "earliest", "-st", "auto_consume")
    with pytest.raises(InvalidValue, match="does not fit"):
        run(*sent, '{"nome": "pen"}')
    [found] = lines(run("peek", "v", "-o", "json"))
    assert found["value"] == {"name": "pen"}


def test_pairs_have_their_key_beside_or_within(run):
    for encoding in ("separated", "inline"):
        run("produce", encoding, "-m", "v", "-vs", "string", "-kvk", "k", "-kvet", encoding)
        [found] = lines(run("peek", encoding, "-o", "json"))
        assert found["value"] == {"key": "k", "value": "v"}
    run("produce", "p", "-m", "v", "-kvet", "inline", code=2)


def test_messages_are_encrypted_for_who_is_named(run, tmp_path):
    write_keys(tmp_path, "alice")
    public, private = (f"file://{tmp_path}/alice.{kind}.pem" for kind in ("public", "private"))
    run("produce", "e", "-m", "secret", "-ekn", "alice", "-ekv", public)
    assert "content:secret" in run("read", "e", "-m", "earliest", "-ekv", private)
    [found] = lines(run("peek", "e", "-o", "json"))
    assert (found["encryptionKeys"], found["valueError"]) == (["alice"], "encrypted for alice")
    run("produce", "e", "-m", "secret", "-ekn", "alice", code=2)


def test_a_pattern_is_of_many_topics(run):
    for name in ("many-1", "many-2"):
        run("produce", name, "-m", "x")
    pattern = "persistent://public/default/many-.*"
    shown = run("consume", pattern, "--regex", "-s", "s", "-p", "Earliest", "-n", "2")
    assert shown.endswith("2 messages successfully consumed\n")


def test_peek_consumes_nothing(run, broker):
    run("consume", "k", "-s", "s", "--wait", "0.01")
    run("produce", "k", "-m", "a,b,c", "-db", "-r", "1000")
    run("consume", "k", "-s", "s")
    path = "persistent/public/default/k/stats"
    before = ask(broker, "GET", path)["subscriptions"]["s"]["msgBacklog"]
    shown = run("peek", "k", "-s", "s", "-n", "9")
    assert [line[-1] for line in shown.splitlines()[1::2]] == ["b", "c"]
    shown = run("peek", "k", "--backwards", "-n", "2", "--filter", "c")
    assert shown.count("got message") == 1
    assert "id:[" in shown
    after = ask(broker, "GET", path)["subscriptions"]
    assert (after.keys(), after["s"]["msgBacklog"]) == ({"s"}, before)


def test_nothing_to_peek_at_is_said(broker, run):
    ask(broker, "PUT", "persistent/public/default/empty/subscription/s")
    assert run("peek", "empty") == "empty has no message\n"
    assert run("peek", "empty", "-s", "s") == "empty has no message that s has not acknowledged\n"
    assert run("peek", "empty", "--key", "k", "-o", "json") == "empty has no such message\n"


def test_mistakes_are_named(run):
    assert "with -m or -f" in run("produce", "x", code=2)
    assert "neither latest" in run("read", "x", "-m", "yesterday", code=2)
    assert "name=value" in run("produce", "x", "-m", "a", "-p", "b", code=2)
    assert "none: No such file" in run("produce", "x", "-f", "none", code=2)
    with pytest.raises(NotFound, match=r"^Namespace not found: persistent://no/such/topic$"):
        run("produce", "no/such/topic", "-m", "a")


@pytest.mark.parametrize("command", ["produce", "consume", "read", "peek"])
def test_help_stands_by_itself(run, command):
    assert "--help" in run(command, "--help")

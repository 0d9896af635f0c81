"""The verbs against a real broker, as an operator goes through them."""

import json

import pytest
from click.testing import CliRunner

from magnetar.client.blocking import Client
from magnetar.errors import Conflict, MagnetarError, NotFound, NotReady, Refused
from magnetar.tools.admin.command import GROUPS, admin
from magnetar.tools.admin.table import verbs_of

T = "persistent://shop/orders/new"


@pytest.fixture(scope="module", autouse=True)
def _shop(pulsar_admin):
    pulsar_admin("tenants create shop --admin-roles a,b")
    pulsar_admin("namespaces create shop/orders --bundles 4")


def publish(broker, topic, count, **options):
    with Client(broker.service_url) as client, client.create_producer(topic, **options) as producer:
        for number in range(count):
            producer.send(b"m%d" % number, key="k", properties={"n": str(number)})


def test_clusters_and_brokers(pulsar_admin, value):
    assert value("clusters list") == ["standalone"]
    assert "serviceUrl" in value("clusters get standalone")
    pulsar_admin("clusters create west --url http://west:8080 --broker-url pulsar://west:6650")
    pulsar_admin("clusters update west --url http://west:8081")
    assert value("clusters get west")["serviceUrl"] == "http://west:8081"
    pulsar_admin("clusters delete west")
    assert pulsar_admin("brokers healthcheck") == "ok"
    assert value("brokers version")
    assert len(value("brokers list standalone")) == 1
    assert "brokerId" in value("brokers leader-broker")


def test_the_configuration_of_a_running_broker(pulsar_admin, value):
    assert pulsar_admin("clusters list --current") == "standalone(*)"
    assert value("brokers get-runtime-config")["clusterName"] == "standalone"
    key = "allowAutoSubscriptionCreation"
    assert key in value("brokers list-dynamic-config")
    pulsar_admin(f"brokers update-dynamic-config -c {key} --value false")
    assert value("brokers get-all-dynamic-config")[key] == "false"
    pulsar_admin(f"brokers delete-dynamic-config -c {key}")
    assert key not in value("brokers get-all-dynamic-config")


def test_bundles_and_properties_of_a_namespace(pulsar_admin, value):
    pulsar_admin("namespaces create shop/split --bundles 1")
    pulsar_admin("namespaces split-bundle shop/split -b 0x00000000_0xffffffff")
    assert value("namespaces bundles shop/split")["numBundles"] == 2
    pulsar_admin("namespaces unload shop/split")
    first = "_".join(value("namespaces bundles shop/split")["boundaries"][:2])
    pulsar_admin(f"namespaces unload shop/split -b {first}")
    pulsar_admin("namespaces set-properties shop/split -p a=b,c=d")
    assert value("namespaces get-properties shop/split") == {"a": "b", "c": "d"}
    pulsar_admin("namespaces set-property shop/split -k a -v e")
    assert value("namespaces get-property shop/split -k a") == "e"
    pulsar_admin("namespaces set-anti-affinity-group shop/split -g apart")
    assert value("namespaces get-anti-affinity-group shop/split") == "apart"
    pulsar_admin("namespaces delete shop/split")


def test_tenants(pulsar_admin, value):
    assert "shop" in value("tenants list")
    pulsar_admin("tenants update shop --admin-roles c")
    found = value("tenants get shop")
    assert found == {"adminRoles": ["c"], "allowedClusters": ["standalone"]}
    pulsar_admin("tenants create brief")
    pulsar_admin("tenants delete brief")
    with pytest.raises(NotFound, match="Tenant does not exist"):
        pulsar_admin("tenants get brief")
    with pytest.raises(Conflict, match="Tenant already exist"):
        pulsar_admin("tenants create shop")
    assert "shop" in pulsar_admin("properties list").splitlines()


def test_namespaces(pulsar_admin, value):
    assert value("namespaces list shop") == ["shop/orders"]
    assert value("namespaces bundles shop/orders")["numBundles"] == 4
    assert "auth_policies" in value("namespaces policies shop/orders")
    pulsar_admin("namespaces grant-permission shop/orders --role app --actions produce,consume")
    assert set(value("namespaces permissions shop/orders")["app"]) == {"consume", "produce"}
    pulsar_admin("namespaces revoke-permission shop/orders --role app")
    assert value("namespaces permissions shop/orders") == {}
    pulsar_admin("namespaces create shop/brief")
    pulsar_admin("namespaces delete shop/brief")


def test_a_topic_from_its_creation_to_its_end(broker, pulsar_admin, value):
    pulsar_admin(f"topics create {T} -m colour=blue")
    assert value("topics list shop/orders") == [T]
    assert value(f"topics get-properties {T}") == {"colour": "blue"}
    pulsar_admin(f"topics update-properties {T} -p size=big")
    assert value(f"topics get-properties {T}") == {"colour": "blue", "size": "big"}
    pulsar_admin(f"topics create-subscription {T} -s audit -m earliest")
    publish(broker, T, 5)
    assert value(f"topics subscriptions {T}") == ["audit"]
    assert value(f"topics stats {T}")["subscriptions"]["audit"]["msgBacklog"] == 5
    assert value(f"topics stats-internal {T}")["numberOfEntries"] == 5
    assert value(f"topics last-message-id {T}")["entryId"] == 4
    peeked = value(f"topics peek-messages {T} -s audit -n 2")
    assert [one["data"] for one in peeked] == ["m0", "m1"]
    assert peeked[1]["properties"] == {"n": "1"}
    ledger, entry = peeked[0]["messageId"].split(":")[:2]
    found = value(f"topics get-message-by-id {T} -l {ledger} -e {entry}")
    assert (found[0]["data"], found[0]["key"]) == ("m0", "k")
    assert value(f"topics examine-messages {T} -i earliest -m 2")[0]["data"] == "m1"
    pulsar_admin(f"topics skip {T} -s audit -n 2")
    assert value(f"topics stats {T}")["subscriptions"]["audit"]["msgBacklog"] == 3
    pulsar_admin(f"topics reset-cursor {T} -s audit -m earliest")
    pulsar_admin(f"topics clear-backlog {T} -s audit")
    assert value(f"topics stats {T}")["subscriptions"]["audit"]["msgBacklog"] == 0
    pulsar_admin(f"topics reset-cursor {T} -s audit -t 3h")
    assert value(f"topics stats {T}")["subscriptions"]["audit"]["msgBacklog"] == 5
    assert value(f"topics get-message-id {T} -d 2021-06-28T16:53:08Z")["entryId"] == 0
    assert "pulsar://" in value(f"topics lookup {T}")["brokerUrl"]
    assert pulsar_admin(f"topics bundle-range {T}").startswith("0x")
    pulsar_admin(f"topics compact {T}")
    assert value(f"topics compaction-status {T} -w")["status"] in {"SUCCESS", "NOT_RUN"}
    pulsar_admin(f"topics unload {T}")
    assert value(f"topics terminate {T}")["entryId"] == 4
    pulsar_admin(f"topics unsubscribe {T} -s audit --force")
    pulsar_admin(f"topics delete {T} --force")
    assert value("topics list shop/orders") == []


def test_a_partitioned_topic(broker, pulsar_admin, value):
    topic = "persistent://shop/orders/parts"
    pulsar_admin(f"topics create-partitioned-topic {topic} -p 2 --metadata a=b")
    pulsar_admin(f"topics update-partitioned-topic {topic} -p 3")
    found = value(f"topics get-partitioned-topic-metadata {topic}")
    assert (found["partitions"], found["properties"]) == (3, {"a": "b"})
    assert value("topics list-partitioned-topics shop/orders") == [topic]
    assert len(value(f"topics partitioned-lookup {topic}")) == 3
    (broker_url,) = value(f"topics partitioned-lookup {topic} --sort-by-broker")
    assert broker_url == broker.service_url
    publish(broker, topic, 3)
    assert value(f"topics partitioned-stats {topic} --per-partition")["msgInCounter"] == 3
    pulsar_admin(f"topics delete-partitioned-topic {topic} --force")


def test_several_topics_are_deleted_by_a_pattern_or_a_file(pulsar_admin, value, tmp_path):
    for name in ("a1", "a2", "b1"):
        pulsar_admin(f"topics create persistent://shop/orders/{name}")
    deleted = value("topics delete -r persistent://shop/orders/a.")
    assert deleted == [f"persistent://shop/orders/{name}" for name in ("a1", "a2")]
    file = tmp_path / "topics"
    file.write_text("persistent://shop/orders/b1\n\n")
    pulsar_admin(f"topics delete --from-file {file}")
    assert value("topics list shop/orders") == []


def test_schemas(pulsar_admin, value, tmp_path):
    file = tmp_path / "schema.json"
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    file.write_text(json.dumps({"type": "JSON", "schema": json.dumps(record), "properties": {}}))
    pulsar_admin(f"topics create {T}-s")
    pulsar_admin(f"schemas upload {T}-s -f {file}")
    assert value(f"schemas get {T}-s")["type"] == "JSON"
    assert value(f"schemas get {T}-s -v 0")["type"] == "JSON"
    assert len(value(f"schemas get {T}-s --all-version")["getSchemaResponses"]) == 1
    assert value(f"schemas compatibility {T}-s -f {file}")["compatibility"] is True
    pulsar_admin(f"schemas delete {T}-s -f")
    with pytest.raises(NotFound, match="Schema not found"):
        pulsar_admin(f"schemas get {T}-s")
    pulsar_admin(f"topics delete {T}-s")


def test_resource_groups(pulsar_admin, value):
    pulsar_admin("resourcegroups create slow --msg-publish-rate 10")
    pulsar_admin("resourcegroups update slow -bp 100")
    assert value("resourcegroups get slow")["publishRateInMsgs"] == 10
    assert value("resourcegroups list") == ["slow"]
    pulsar_admin("namespaces set-resource-group shop/orders -rgn slow")
    assert value("namespaces get-resource-group shop/orders") == "slow"
    pulsar_admin("namespaces remove-resource-group shop/orders")
    pulsar_admin("resourcegroups delete slow")


def test_a_backlog_is_cleared_when_asked_twice(broker, pulsar_admin, value):
    pulsar_admin(f"topics create-subscription {T}-b -s s -m earliest")
    publish(broker, f"{T}-b", 2)
    with pytest.raises(Refused, match="Nobody answers: say so with --force"):
        pulsar_admin("namespaces clear-backlog shop/orders")
    with pytest.raises(Refused, match="nothing was done"):
        pulsar_admin("namespaces clear-backlog shop/orders", answer="n\n")
    assert value(f"topics stats {T}-b")["subscriptions"]["s"]["msgBacklog"] == 2
    pulsar_admin("namespaces clear-backlog shop/orders -s s -force")
    assert value(f"topics stats {T}-b")["subscriptions"]["s"]["msgBacklog"] == 0
    pulsar_admin(f"topics delete {T}-b --force")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("sources list", "connectors of Pulsar IO are Java"),
        ("sink create --archive x", "connectors of Pulsar IO are Java"),
        ("schemas extract t -j x.jar", "it reads a class of Java"),
        ("clusters delete standalone --all", "--all is not done"),
        ("topicPolicies set-backlog-quota t -p producer_exception", "needs --limit"),
        ("namespaces unload shop/orders -d other:8080", "needs --bundle"),
        ("resource-quotas get -n shop/orders", "go together"),
        ("namespaces list-cluster x", "before Pulsar 2"),
    ],
)
def test_what_is_not_done_is_refused_by_name(pulsar_admin, line, says):
    with pytest.raises(MagnetarError, match=says):
        pulsar_admin(line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("topics lst public/default", "No such command 'lst'. Did you mean list"),
        ("topic list public/default", "Did you mean topics"),
        ("topics list", "Missing argument 'NAMESPACE'"),
        ("topics list public", "tenant/namespace"),
        ("namespaces set-retention shop/orders -t 3x -s 1", "'3x' has to be a time as 90s"),
        ("namespaces set-retention shop/orders -t 3h", "Missing option"),
        ("namespaces set-deduplication shop/orders", "give either --enable or --disable"),
        ("namespaces set-deduplication shop/orders -e -d", "give either --enable or --disable"),
        ("topics skip t -s s -n many", "has to be a whole number"),
        ("topics reset-cursor t -s s", "give either --time or --messageId"),
        ("namespaces grant-permission shop/orders --role r --actions fly", "not fly"),
    ],
)
def test_a_mistake_is_named_with_exit_code_2(pulsar_admin, line, says):
    assert says in " ".join(pulsar_admin(line, code=2).split())


def test_options_of_the_connection_stand_behind_the_verb_too(broker):
    words = ["tenants", "list", "--admin-url", broker.web_url, "-o", "yaml"]
    assert "- shop" in CliRunner().invoke(admin, words).output


def test_every_verb_helps_with_an_example():
    for group in GROUPS:
        for verb in verbs_of(group):
            said = CliRunner().invoke(admin, [group, verb.name, "--help"])
            assert said.exit_code == 0, said.output
            assert "Usage:" in said.output
            assert "Example: magnetar admin" in said.output or verb.refused, said.output


def test_what_is_not_set_is_said_beside_the_answer(pulsar_admin, value):
    assert value("namespaces get-message-ttl shop/orders") is None
    with pytest.raises(Refused, match="connectors"):
        pulsar_admin("sinks list")


@pytest.mark.parametrize(
    "line",
    ["coordinators-list", "abort-transaction -m 0 -l 1", "scale-transactionCoordinators -r 2"],
)
def test_where_transactions_are_off_a_line_says_so(pulsar_admin, line):
    with pytest.raises(
        NotReady, match=r"^This Broker is not .*transactionCoordinatorEnabled=true.*\)$"
    ):
        pulsar_admin(f"transactions {line}")


def test_arguments_have_names_and_files_that_are_not_there_are_named(pulsar_admin):
    assert "admin brokers list [OPTIONS] CLUSTER" in pulsar_admin("brokers list --help")
    with pytest.raises(MagnetarError, match=r"^cannot read no\.json: No such file or directory$"):
        pulsar_admin("schemas upload t -f no.json")


def test_what_replicates_has_an_effect(pulsar_admin):
    pulsar_admin("clusters create west --url http://west:8080")
    pulsar_admin("tenants create both --allowed-clusters standalone,west")
    said = pulsar_admin("namespaces create both/here --clusters standalone,west")
    assert "Without effect" not in said
    assert pulsar_admin("namespaces set-clusters both/here --clusters standalone") == ""
    pulsar_admin("topics create-subscription persistent://both/here/t -s s")
    said = pulsar_admin(
        "topics set-replicated-subscription-status persistent://both/here/t -s s -e"
    )
    assert "Without effect" not in said


def test_what_the_broker_does_nothing_about_is_named(pulsar_admin):
    pulsar_admin("clusters create peer --url http://peer:8080")
    said = pulsar_admin("clusters update-peer-clusters standalone --peer-clusters peer")
    assert said.startswith("Without effect here: peers")


def test_the_help_is_written_as_markdown():
    said = CliRunner().invoke(admin, ["documents", "generate", "tenants"]).output
    assert said.startswith("# tenants\n")
    assert "## create" in said
    assert "- `--admin-roles, -r` Its admins" in said or "- `-r, --admin-roles` Its admins" in said
    everything = CliRunner().invoke(admin, ["documents", "generate"]).output
    assert "# topicPolicies" in everything
    assert CliRunner().invoke(admin, ["documents", "generate", "x"]).exit_code == 2

"""Every file is short, has its test, and says what it is."""

import ast
import tomllib
from pathlib import Path

from architecture.source import SOURCE, TESTS, files, lines, tree

LINES_MAX = 500
WRITTEN_BY_PROGRAMS = {"client/blocking.py"}  # It is as long as the classes it is made from.

# Tested elsewhere than in a unit test of their own name, and where.
TESTED_ELSEWHERE = {
    "callbacks.py": "tests/unit/broker/topics/test_closed.py",
    "broker/admin/broker_metrics.py": "tests/golden/metrics",
    "broker/admin/metric_families.py": "tests/golden/metrics",
    "broker/admin/cluster_metrics.py": "tests/cluster/test_stores_seen.py, on a real cluster",
    "model/cluster_stores.py": "values; tests/cluster/test_stores_seen.py",
    "broker/admin/transaction_metrics.py": "tests/golden/metrics",
    "broker/admin/metrics.py": "tests/golden/metrics, routes/test_metrics.py",
    "broker/topics/topic_mark.py": "tests/unit/broker/admin/test_topic_rows.py",
    "broker/admin/messages/redrive.py": "tests/client/test_operator_letters.py, as the next ones",
    "broker/admin/routes/redrive.py": "tests/client/test_operator_letters.py",
    "broker/admin/routes/replay.py": "tests/client/test_operator_letters.py",
    "broker/admin/owners.py": "tests/cluster/test_admin_requests.py, with two brokers",
    "broker/cluster/served_along.py": "a contract; test_topic_registry.py has one that is served",
    "broker/cluster/topic_logs.py": "test_topic_registry.py, as what opens topics",
    "broker/cluster/topic_opener.py": "test_topic_registry.py, as what opens topics",
    "broker/load_manager.py": "tests/cluster/test_load.py, with two brokers",
    "broker/settings/load.py": "values; tests/cluster/test_load.py",
    "broker/peers.py": "tests/cluster/test_peers.py",
    "broker/remote_clusters.py": "tests/replication, with two brokers, as the next ones",
    "broker/replicated_topics.py": "tests/replication",
    "broker/settings/replication.py": "values; tests/replication",
    "broker/topics/features/replicator.py": "tests/replication",
    "broker/topics/features/topic_replication.py": "tests/replication",
    "broker/topics/publishing/replicator_producer.py": "tests/replication",
    "broker/topics/remote_topic.py": "a contract; tests/replication",
    "broker/topics/replicated_subscriptions.py": "tests/replication",
    "tools/initialize_cluster_metadata.py": "tests/cluster/test_broker_on_cluster.py",
    "broker/assemble/new_cluster.py": "tests/cluster/test_broker_on_cluster.py",
    "tools/doctor/cluster.py": "tests/cluster/test_broker_on_cluster.py, on a real cluster",
    "broker/admin/heartbeat.py": "tests/cluster/test_brokers_shown.py",
    "broker/admin/routes/cluster_brokers.py": "tests/cluster/test_brokers_shown.py",
    "broker/admin/routes/replication_map.py": "tests/replication/test_replication_map.py",
    "broker/admin/routes/change_events.py": "tests/cluster/test_topic_policies.py",
    "broker/assemble/change_events.py": "tests/cluster/test_topic_policies.py",
    "broker/change_events/event_logs.py": "tests/cluster/test_topic_policies.py, with two brokers",
    "broker/topic_policies.py": "a contract; its records: tests/unit/broker/test_policies.py",
    "proxy/settings.py": "values; tests/unit/proxy/test_config.py",
    "proxy/counts.py": "tests/proxy/test_passing_on.py, with a broker, as the next ones",
    "proxy/connection.py": "tests/proxy",
    "proxy/lookups.py": "tests/proxy",
    "proxy/proxy.py": "tests/proxy",
    "proxy/sni_routing.py": "tests/proxy/test_tls.py",
    "proxy/splice.py": "tests/proxy",
    "proxy/upstream.py": "tests/proxy",
    "proxy/web.py": "tests/proxy/test_passing_on.py",
    "tools/processes.py": "tests/processes",
    "storage/ledger/many_logs/server.py": "many_logs/test_store.py, many_logs/test_remote.py",
    "tools/proxy.py": "tests/proxy/test_process.py",
    "broker/assemble/admin.py": "tests/unit/broker/admin/test_services.py",
    "broker/assemble/access.py": "tests/security, with a broker, as the next ones",
    "broker/assemble/commands.py": "tests/unit/broker/test_connection.py",
    "broker/assemble/services.py": "tests/unit/broker/assemble/test_broker.py",
    "broker/assemble/transactions.py": "tests/unit/broker/transactions/test_coordinators.py",
    "broker/transactions/participants.py": "tests/unit/broker/handlers/test_transaction.py",
    "broker/topics/transaction_logs.py": "features/test_topic_transactions.py",
    "broker/handlers/traced_consume.py": "tests/compatibility/test_traces.py, as the next ones",
    "broker/tracing/request_traces.py": "tests/compatibility/test_traces.py",
    "broker/tracing/traced_session.py": "tests/compatibility/test_traces.py",
    "broker/tracing/traces.py": "tests/compatibility/test_traces.py",
    "broker/topics/log/backlog_limits.py": "tests/unit/broker/topics/log/test_topic_upkeep.py",
    "spark/transactional_writer.py": "tests/spark/test_transactional_write.py, in Spark",
    "version.py": "a name; tests/unit/tools/test_cli.py",
    "errors.py": "classes only; tests/architecture/test_error_tables.py walks the tree",
    "schemas/schema.py": "a contract; tests/unit/schemas/test_primitives.py, and the others there",
    "storage/metadata/store.py": "a contract; tests/contract runs every implementation",
    "storage/ledger/offloader.py": "a contract; broker/offload/history_offloader.py satisfies it",
    **{
        f"storage/ledger/bookkeeper/{name}.py": "tests/contract, with real bookies"
        for name in [
            "bookie_watcher",
            "ledger_manager",
            "reader",
            "inspection",
            "store",
        ]
    },
    "storage/ledger/bookkeeper/janitor.py": "tests/cluster/test_janitor.py, with real bookies",
    "storage/ledger/bookkeeper/context.py": "values",
    "storage/ledger/bookkeeper/settings.py": "values",
    "storage/schemas/in_records.py": "tests/unit/storage/schemas/test_store.py",
    "storage/schemas/in_ledgers.py": "tests/unit/storage/schemas/test_store.py",
    "storage/ledger/capacity.py": "unit/storage/ledger/local/test_journal.py",
    "storage/metadata/recursive_watch.py": "tests/contract, with a real server",
    "storage/ledger/store.py": "a contract; tests/contract runs every implementation",
    "storage/managed_ledger/entries.py": "a contract; Entries and SendRun satisfy it",
    "storage/managed_ledger/context.py": "values; unit/.../test_managed_ledger_factory.py",
    "broker/dispatch/strategy.py": "a contract; the tests of single, shared and key_shared",
    "broker/topics/topic.py": "a contract; broker/topics/persistent_topic.py satisfies it",
    "broker/topics/subscriptions/dispatch.py": "a contract; dispatch_loop.py satisfies it",
    "broker/topics/client_connection.py": "a contract; broker/session.py satisfies it",
    "compat/async_sends.py": "tests/client/test_compat.py, with a broker, as the next ones",
    "compat/asyncio/client.py": "tests/client/test_compat_asyncio.py, as the next ones",
    "compat/asyncio/consumer.py": "tests/client/test_compat_asyncio.py",
    "compat/asyncio/exception.py": "tests/client/test_compat_asyncio.py",
    "compat/asyncio/producer.py": "tests/client/test_compat_asyncio.py",
    "compat/asyncio/reader.py": "tests/client/test_compat_asyncio.py",
    "compat/client.py": "tests/client/test_compat.py",
    "compat/consumer.py": "tests/client/test_compat.py",
    "compat/producer.py": "tests/client/test_compat.py",
    "compat/reader.py": "tests/client/test_compat.py",
    "compat/tableview.py": "tests/client/test_compat.py",
    "compat/functions/context.py": "names only; tests/compatibility/test_compat_names.py",
    "compat/functions/function.py": "names only; tests/compatibility/test_compat_names.py",
    "functions/job.py": "tests/spark/test_functions.py, in a Spark session, as the next one",
    "functions/source.py": "tests/spark/test_functions.py",
    "pipelines/json_values.py": "tests/spark/test_declared_pipelines.py, as the next ones",
    "pipelines/quality.py": "tests/spark/test_declared_pipelines.py",
    "pipelines/queries.py": "tests/spark/test_declared_pipelines.py",
    "pipelines/run.py": "tests/spark/test_declared_pipelines.py",
    "pipelines/set_aside.py": "tests/spark/test_declared_pipelines.py",
    "pipelines/supervision.py": "tests/spark/test_declared_pipelines.py",
    "pipelines/views.py": "tests/spark/test_declared_pipelines.py",
    "storage/codec/codec.py": "a contract: tests/contract/test_codec.py",
    "functions/worker/jobs.py": "a contract; functions/worker/spark_jobs.py satisfies it",
    "functions/worker/admin.py": "tests/functions/test_functions_api.py, with a broker",
    "functions/worker/cluster.py": "tests/functions/test_several_workers.py, test_leader.py",
    "functions/worker/members.py": "tests/functions/test_several_workers.py",
    "functions/worker/records_topic.py": "tests/functions/test_leader.py",
    "functions/worker/routes.py": "tests/functions/test_functions_api.py",
    "functions/worker/server.py": "tests/functions/test_functions_api.py",
    "functions/worker/trigger.py": "tests/functions/test_functions_api.py",
    "functions/worker/worker.py": "tests/functions/test_functions_api.py",
    "functions/worker/spark_jobs.py": "tests/spark/test_functions_worker.py, with a JVM",
    "broker/admin/functions_worker.py": "tests/functions/test_functions_of_a_broker.py",
    "tools/admin/call.py": "tests/golden/cli/test_pulsar_admin.py",
    "tools/admin/steps.py": "tests/unit/tools/admin/test_command.py, and as above",
    "tools/admin/verb.py": "values; tests/unit/tools/admin/test_table.py",
    "tools/messaging/peek.py": "tests/unit/tools/messaging/test_commands.py, as the next ones",
    "tools/messaging/produce.py": "tests/unit/tools/messaging/test_commands.py",
    "tools/messaging/receive.py": "tests/unit/tools/messaging/test_commands.py",
    "tools/messaging/shown.py": "tests/unit/tools/messaging/test_commands.py",
    "tools/perf/consuming.py": "tests/unit/tools/perf/test_command.py, as the next ones",
    "tools/perf/running.py": "tests/unit/tools/perf/test_command.py",
    "tools/functions/api.py": "tests/functions/test_functions_command.py, with a broker",
    "tools/functions/command.py": "tests/functions/test_functions_command.py",
    "tools/functions/localrun.py": "tests/security/test_localrun.py",
    "tools/functions/run.py": "tests/functions/test_functions_command.py",
    "wire/replies/connect.py": "tests/unit/wire/test_replies.py, byte for byte, as the next ones",
    "wire/replies/consume.py": "tests/unit/wire/test_replies.py",
    "wire/replies/lookup.py": "tests/unit/wire/test_replies.py",
    "wire/replies/message_id.py": "tests/unit/wire/test_replies.py",
    "wire/replies/produce.py": "tests/unit/wire/test_replies.py",
    "wire/replies/schema.py": "tests/unit/wire/test_replies.py",
    "wire/replies/transaction.py": "tests/unit/wire/test_replies.py",
    "wire/requests/connect.py": "tests/unit/wire/test_requests.py",
    "wire/requests/consume.py": "tests/unit/wire/test_requests.py",
    "wire/requests/fields.py": "tests/unit/wire/test_requests.py",
    "wire/requests/lookup.py": "tests/unit/wire/test_requests.py",
    "wire/requests/produce.py": "tests/unit/wire/test_requests.py",
    "wire/requests/schema.py": "tests/unit/wire/test_requests.py",
    "wire/requests/transaction.py": "tests/unit/wire/test_requests.py",
    **{
        f"testing/simulation/{name}.py": "tests/simulation, and tests/contract for the models"
        for name in [
            *("cluster", "machine", "messages", "servers", "zookeeper"),
        ]
    },
    "testing/simulation/processes.py": "unit/testing/simulation/test_loop.py",
    "testing/plugin.py": "tests/compatibility stands on its fixtures",
    "tools/entry.py": "tests/unit/test_extras.py",
}


def only_declares(name: str) -> bool:
    """No function anywhere: constants, types and records."""
    return not any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(tree(name))
    )


def unit_test_of(name: str) -> str:
    folder, _, file = name.rpartition("/")
    return (TESTS / "unit" / folder / f"test_{file}").relative_to(TESTS.parent).as_posix()


def has_unit_test(name: str) -> bool:
    return (TESTS.parent / unit_test_of(name)).exists()


def test_no_file_is_too_long():
    long = [
        f"{name}: {lines(name)} lines"
        for name in files()
        if lines(name) > LINES_MAX and name not in WRITTEN_BY_PROGRAMS
    ]
    assert not long, f"over {LINES_MAX} lines; split where a heading would stand"


def test_every_file_has_its_unit_test():
    missing = [
        unit_test_of(name)
        for name in files()
        if not has_unit_test(name)
        and name not in TESTED_ELSEWHERE
        and not name.endswith("__init__.py")
        and not only_declares(name)
    ]
    assert not missing, "write them, or say in TESTED_ELSEWHERE who tests the file"


# The compiled inner loops, which setup.py builds into a wheel, and what they are built from.
BUILT = {".c", ".h", ".so", ".pyd"}


def test_a_wheel_has_every_file_of_the_package():
    setup = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["tool"]["setuptools"]
    data = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*")
        if file.is_file() and file.suffix not in {".py", ".pyc", *BUILT}
    }
    missing = [
        name for name in data if not any(map(Path(name).match, setup["package-data"]["magnetar"]))
    ]
    assert not missing, "add them to package-data in pyproject.toml"


def test_exceptions_name_files_that_exist_and_need_them():
    gone = [name for name in TESTED_ELSEWHERE if not (SOURCE / name).exists()]
    assert not gone, "take them out of TESTED_ELSEWHERE"
    tested = [name for name in TESTED_ELSEWHERE if has_unit_test(name)]
    assert not tested, "they have unit tests now: take them out of TESTED_ELSEWHERE"


def test_every_file_says_what_it_is():
    silent = [name for name in files() if not ast.get_docstring(tree(name))]
    assert not silent, "begin with a docstring of one line"

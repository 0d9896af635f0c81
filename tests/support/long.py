"""Tests that take long, and go further into what others show: ``make test`` leaves them out.

``make test-long`` runs them, and CI runs both. An entry is how a test's id begins: a folder,
a file, or some of its tests. A new one belongs here only where others show that it works at all.
"""

import pytest

LONG = (
    "tests/client/test_bad_messages.py",
    "tests/client/test_cancelled.py",
    "tests/client/test_compat_failures.py",
    "tests/client/test_lost_at_close.py",
    "tests/client/test_open_close.py",
    "tests/cluster/test_stores_seen.py",
    "tests/cluster/test_topic_policies.py::test_changes_hold_while_bundles_move",
    "tests/cluster/test_two_brokers.py::test_sessions_that_are_lost_at_random",
    "tests/compatibility/test_delays.py",
    "tests/compatibility/test_idle_topics.py",
    "tests/compatibility/test_lost_connections.py",
    "tests/compatibility/test_rates.py",
    "tests/compatibility/test_transactions_of_other_clients.py",
    "tests/console/test_brokers_screen.py",
    "tests/console/test_console.py",
    "tests/console/test_functions_screen.py",
    "tests/contract/test_bookie_tls.py",
    "tests/contract/test_long_ids.py",
    "tests/crash/",
    "tests/documents/test_pages.py::test_a_reader_gets_through_the_page[docs/",
    "tests/documents/test_site.py",
    "tests/faults/",
    "tests/functions/test_functions_of_a_broker.py",
    "tests/functions/test_killed_worker.py",
    "tests/functions/test_several_workers.py",
    "tests/fuzz/test_admin_document.py",
    "tests/fuzz/test_bounded.py",
    "tests/limits/test_concurrent.py",
    "tests/limits/test_connections.py",
    "tests/limits/test_deaf_clients.py",
    "tests/limits/test_floods.py",
    "tests/limits/test_idle_and_broken.py",
    "tests/limits/test_many.py",
    "tests/limits/test_open_files.py",
    "tests/offload/test_reading_on.py",
    "tests/processes/test_deaths.py",
    "tests/processes/test_features.py",
    "tests/processes/test_folders.py",
    "tests/properties/test_ledger_crash_points.py",
    "tests/proxy/test_trust.py",
    "tests/replication/test_many_brokers.py",
    "tests/simulation/test_alone.py",
    "tests/simulation/test_planted.py",
    "tests/simulation/test_regions.py",
    "tests/spark/test_broker_away.py",
    "tests/spark/test_changing_topics.py",
    "tests/spark/test_chunks.py",
    "tests/spark/test_declared_pipelines.py",
    "tests/spark/test_documented.py",
    "tests/spark/test_examples.py",
    "tests/spark/test_functions.py",
    "tests/spark/test_functions_worker.py",
    "tests/spark/test_history.py",
    "tests/spark/test_missing_topic.py",
    "tests/spark/test_places.py",
    "tests/spark/test_quickstart.py",
    "tests/spark/test_schema_read.py",
    "tests/spark/test_schema_write.py",
    "tests/spark/test_sink_faults.py",
    "tests/spark/test_transactional_write.py",
    "tests/spark/test_two_brokers.py",
    "tests/transactions/test_bank.py",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.long)

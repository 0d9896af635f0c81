"""Tests that take long, and go further into what others show: ``make test`` leaves them out.

``make test-long`` runs them, and CI runs both. A new file belongs here only where others show that
what it is about works at all.
"""

import pytest

LONG = (
    "tests/client/test_cancelled.py",
    "tests/client/test_lost_at_close.py",
    "tests/client/test_open_close.py",
    "tests/cluster/test_stores_seen.py",
    "tests/compatibility/test_transactions_of_other_clients.py",
    "tests/console/test_brokers_screen.py",
    "tests/console/test_console.py",
    "tests/console/test_functions_screen.py",
    "tests/contract/test_bookie_tls.py",
    "tests/contract/test_long_ids.py",
    "tests/crash/test_transactions_killed.py",
    "tests/documents/test_site.py",
    "tests/faults/test_torn_tails.py",
    "tests/functions/test_functions_of_a_broker.py",
    "tests/functions/test_killed_worker.py",
    "tests/functions/test_several_workers.py",
    "tests/fuzz/test_admin_document.py",
    "tests/fuzz/test_bounded.py",
    "tests/limits/test_deaf_clients.py",
    "tests/limits/test_many.py",
    "tests/offload/test_reading_on.py",
    "tests/properties/test_ledger_crash_points.py",
    "tests/simulation/test_alone.py",
    "tests/simulation/test_planted.py",
    "tests/simulation/test_regions.py",
    "tests/spark/test_chunks.py",
    "tests/spark/test_declared_pipelines.py",
    "tests/spark/test_documented.py",
    "tests/spark/test_examples.py",
    "tests/spark/test_functions.py",
    "tests/spark/test_functions_worker.py",
    "tests/spark/test_history.py",
    "tests/spark/test_quickstart.py",
    "tests/spark/test_sink_faults.py",
    "tests/spark/test_two_brokers.py",
    "tests/transactions/test_bank.py",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.long)

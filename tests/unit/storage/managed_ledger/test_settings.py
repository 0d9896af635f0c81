from magnetar.model.policy_values import PersistencePolicies
from magnetar.storage.ledger.store import AS_THE_STORE_IS_SET, LedgerOptions
from magnetar.storage.managed_ledger.settings import ledger_metadata, ledger_options


def test_a_policy_says_how_many_copies_and_without_one_the_store_does():
    assert ledger_options(PersistencePolicies(3, 3, 2, 1.5)) == LedgerOptions(3, 3, 2)
    assert ledger_options(None) is AS_THE_STORE_IS_SET
    assert ledger_options(PersistencePolicies()) == AS_THE_STORE_IS_SET


def test_a_ledger_says_whose_it_is_as_pulsars_does():
    of_a_log = {
        "application": b"pulsar",
        "component": b"managed-ledger",
        "pulsar/managed-ledger": b"public/default/persistent/t",
    }
    assert ledger_metadata("public/default/persistent/t") == of_a_log
    of_a_cursor = {**of_a_log, "pulsar/cursor": b"s"}
    assert ledger_metadata("public/default/persistent/t", "s") == of_a_cursor

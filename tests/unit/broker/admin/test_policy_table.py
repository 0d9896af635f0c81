from magnetar.broker.admin.policy_table import KINDS, POLICY_ROWS
from magnetar.model.policies import PLACES, Level


def test_every_policy_has_one_row_and_each_path_one_policy():
    names = [row.name for row in POLICY_ROWS]
    assert len(names) == len(set(names))
    for level in ("namespace", "topic"):
        offers = [getattr(row, level) for row in POLICY_ROWS if getattr(row, level)]
        found = [offer.path for offer in offers]
        assert len(found) == len(set(found))


def test_what_is_offered_is_what_the_records_keep():
    kept = {level: {place.name for place in PLACES[level]} for level in PLACES}
    for row in POLICY_ROWS:
        assert row.name in KINDS
        assert row.namespace is None or row.name in kept[Level.NAMESPACE]
        assert (row.topic is not None) == (row.name in kept[Level.TOPIC])

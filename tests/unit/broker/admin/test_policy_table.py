from pathlib import Path

from magnetar.broker.admin.policy_table import KINDS, POLICY_ROWS
from magnetar.model.policies import IN_FORCE, PLACES, Level


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


def test_what_can_be_set_is_in_the_document():
    text = (Path(__file__).parents[4] / "docs" / "admin.md").read_text()
    offers = [
        (level, getattr(row, level).path)
        for level in ("namespace", "topic")
        for row in POLICY_ROWS
        if row.name in IN_FORCE and getattr(row, level)
    ]
    missing = [f"{path} of a {level}" for level, path in offers if f"`{path}`" not in text]
    assert not missing

from dataclasses import dataclass, fields
from pathlib import Path

from magnetar.model.policies import ROWS
from magnetar.model.policy_rows import Endpoint, Level, policy, rows_of


@dataclass(frozen=True, slots=True)
class Some:
    plain: int | None = None
    both: int | None = policy(Endpoint("a_key", "aPath"), Endpoint("topicKey"), acts=False)
    of_topics: bool | None = policy(topic=Endpoint("aFlag", "flag"))


def test_a_field_with_a_row_is_a_policy():
    rows = rows_of(fields(Some))
    assert list(rows) == ["both", "of_topics"]
    assert (rows["both"].name, rows["both"].kind, rows["both"].acts) == ("both", int | None, False)
    assert rows["of_topics"].at(Level.NAMESPACE) is None
    assert rows["of_topics"].at(Level.TOPIC) == Endpoint("aFlag", "flag")
    assert [row.json_name for row in rows.values()] == ["a_key", "aFlag"]


def test_each_path_and_each_key_is_of_one_policy():
    for level in (Level.NAMESPACE, Level.TOPIC):
        ends = [end for row in ROWS.values() if (end := row.at(level))]
        keys = [(end.key, end.part) for end in ends]
        assert len(keys) == len(set(keys))
        paths = [end.path for end in ends if end.path and not end.own_routes]
        assert len(paths) == len(set(paths))


def test_what_can_be_set_is_in_the_document():
    text = (Path(__file__).parents[3] / "docs" / "admin.md").read_text()
    ends = [(row, end) for row in ROWS.values() if row.acts for end in (row.namespace, row.topic)]
    missing = [(row.name, end.path) for row, end in ends if end and f"`{end.path}`" not in text]
    assert not [each for each in missing if each[1]]

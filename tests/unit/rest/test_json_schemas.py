from collections.abc import Mapping

import pytest

from magnetar.broker.admin import stats
from magnetar.model.policy_values import BacklogQuota, RetentionPolicies
from magnetar.rest.openapi import schema_like, schema_of


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int | None, {"type": "integer"}),
        (bool | None, {"type": "boolean"}),
        (float, {"type": "number"}),
        (tuple[str, ...] | None, {"type": "array", "items": {"type": "string"}}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            RetentionPolicies,
            {
                "type": "object",
                "properties": {
                    "retentionTimeInMinutes": {"type": "integer"},
                    "retentionSizeInMB": {"type": "integer"},
                },
            },
        ),
    ],
)
def test_a_type_has_the_schema_of_what_it_is_read_from(kind, expected):
    assert schema_of(kind) == expected


def test_words_are_named():
    policy = schema_of(BacklogQuota)["properties"]["policy"]
    assert "producer_exception" in policy["enum"]


def test_an_example_says_what_its_parts_are():
    example = {"a": [{"b": 1}], "c": {}, "d": [], "e": {"{name}": {"f": "x"}}}
    assert schema_like(example)["properties"] == {
        "a": {
            "type": "array",
            "items": {"type": "object", "properties": {"b": {"type": "integer"}}},
        },
        "c": {"type": "object"},
        "d": {"type": "array"},
        "e": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"f": {"type": "string"}}},
        },
    }


def test_the_example_of_stats_has_one_of_everything():
    shown = schema_like(stats.example())["properties"]
    one = shown["subscriptions"]["additionalProperties"]["properties"]
    assert one["consumers"]["items"]["properties"]["availablePermits"] == {"type": "integer"}
    assert shown["publishers"]["items"]["properties"]["producerName"] == {"type": "string"}

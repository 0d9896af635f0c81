import pytest

from magnetar.tools.admin import kinds


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.SECONDS, "90", 90),
        (kinds.SECONDS, "10m", 600),
        (kinds.SECONDS, "7d", 604_800),
        (kinds.SECONDS, "-1", -1),
        (kinds.MILLIS, "3h", 10_800_000),
        (kinds.MILLIS, "-1", -1),
        (kinds.MINUTES, "90s", 1),
        (kinds.BYTES, "10M", 10 << 20),
        (kinds.BYTES, "1t", 1 << 40),
        (kinds.MEBIBYTES, "2G", 2048),
        (kinds.MEBIBYTES, "-1", -1),
        (kinds.WORDS, "a, b,", ["a", "b"]),
        (kinds.PAIRS, "a=b,c=d=e", {"a": "b", "c": "d=e"}),
        (kinds.BOOLEAN, "TRUE", True),
        (kinds.DATETIME, "2021-06-28T16:53:08Z", 1_624_899_188_000),
        (kinds.PACKAGE, "function://t/n/f@v1", "function/t/n/f/v1"),
        (kinds.choice("None", "Prefix"), "prefix", "Prefix"),
        (
            kinds.MESSAGE_ID,
            "5:6",
            {"ledgerId": 5, "entryId": 6, "partitionIndex": -1, "batchIndex": -1},
        ),
    ],
)
def test_what_is_written_is_meant(kind, text, value):
    assert kind.read(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        (kinds.SECONDS, "3x", "a time as 90s"),
        (kinds.BYTES, "ten", "a size as 10M"),
        (kinds.INTEGER, "1.5", "a whole number"),
        (kinds.NUMBER, "x", "a number"),
        (kinds.BOOLEAN, "yes", "true or false"),
        (kinds.PAIRS, "a", "key=value"),
        (kinds.MESSAGE_ID, "first", "latest, earliest or"),
        (kinds.DATETIME, "2021-06-28T16:53:08", "with its zone"),
        (kinds.TOPIC, "t/n", "a topic"),
        (kinds.NAMESPACE, "n", "tenant/namespace"),
        (kinds.PACKAGE, "f@v1", "type://tenant"),
        (kinds.ANY_PACKAGE, "f", "type://tenant"),
        (kinds.choice("a", "b"), "c", "one of a, b"),
        (kinds.words_of("a"), "a,b", "not b"),
    ],
)
def test_what_cannot_be_meant_is_said(kind, text, says):
    with pytest.raises(ValueError, match=says):
        getattr(kind, "read", kind)(text)


def test_names_are_encoded_in_paths():
    topic = kinds.TOPIC.read("persistent://t/n/a/b c")
    assert kinds.TOPIC.path(topic) == "persistent/t/n/a%2Fb%20c"
    assert kinds.TOPIC_OF_SCHEMA.path(topic) == "t/n/a%2Fb%20c"
    assert kinds.SUBSCRIPTION.path("a/b") == "a%252Fb"
    assert kinds.TEXT.path("a/b") == "a%2Fb"

import pytest

from magnetar.model.names import NamespaceName
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
from magnetar.rest import arguments
from magnetar.rest.arguments import CursorPosition
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request


def named(**segments: str) -> Request:
    return Request("GET", "/", segments={"tenant": "t", "namespace": "n", **segments})


def carrying(body: bytes) -> Request:
    return Request("PUT", "/", body=body)


@pytest.mark.parametrize(
    ("segment", "local"),
    [
        ("x", "x"),
        ("dir%2Ffile%20x", "dir/file x"),
        ("%C3%A4%C3%B6", "äö"),
        ("a:b@c", "a:b@c"),
        ("a+b", "a b"),
        ("a%2Bb", "a+b"),
        ("a%252Fb", "a%2Fb"),
    ],
)
def test_a_topic_s_local_name_is_encoded_once(segment, local):
    topic = arguments.topic(named(topic=segment))
    assert str(topic) == f"persistent://t/n/{local}"


@pytest.mark.parametrize(
    ("segment", "name"),
    [
        ("s", "s"),
        ("a%2Fb%20c", "a/b c"),
        ("a%252Fb%2520c", "a/b c"),
        ("a+b", "a b"),
        ("a%2Bb", "a+b"),
        ("a%252Bb", "a+b"),
        ("100%25", "100%"),
    ],
)
def test_a_subscription_s_name_is_encoded_once_or_twice(segment, name):
    assert arguments.subscription(named(subscription=segment)) == name


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (named(topic="%20"), "Topic name is not valid"),
        (named(topic="x", tenant="bad$"), "Namespace name is not valid"),
        (named(topic="x", namespace="a%2Fb"), "Namespace name is not valid"),
    ],
)
def test_a_name_that_breaks_the_rules_is_refused_in_pulsar_s_words(request_, reason):
    with pytest.raises(Rejection, match=reason) as refused:
        arguments.topic(request_)
    assert refused.value.status == 412


def test_a_namespace_is_two_names():
    assert arguments.namespace(named()) == NamespaceName("t", "n")


def test_each_kind_of_entity_is_refused_by_its_kind():
    with pytest.raises(Rejection, match="Cluster name is not valid"):
        arguments.entity(named(cluster="a b"), "cluster", "Cluster")


@pytest.mark.parametrize(("segment", "number"), [("0", 0), ("-1", -1), ("17", 17)])
def test_a_number_in_the_path_is_read(segment, number):
    assert arguments.integer(named(count=segment), "count") == number


def test_a_path_with_words_for_a_number_does_not_exist():
    for text in ("abc", "", "1.0", " 1", "1_0", "٣", str(2**63), str(-(2**63) - 1), "9" * 5000):
        with pytest.raises(Rejection, match="count in the path is a whole number") as refused:
            arguments.check_numbers(named(count=text, topic="abc"))
        assert refused.value.status == 404
    assert arguments.integer(named(timestamp=str(2**63 - 1)), "timestamp") == 2**63 - 1
    for segment, text in (("count", str(2**31)), ("timestamp", str(2**63))):
        with pytest.raises(Rejection):
            arguments.integer(named(**{segment: text}), segment)


@pytest.mark.parametrize("body", [b"", b"  ", b"null"])
def test_a_body_may_be_left_out(body):
    assert arguments.body(carrying(body)) is None
    assert arguments.json_object(carrying(body)) is None
    assert arguments.position(carrying(body)) is None


@pytest.mark.parametrize("body", [b"{bad", b'{"a":', b"abc", b"\xff"])
def test_a_body_that_is_no_json_is_refused(body):
    with pytest.raises(Rejection, match="not JSON") as refused:
        arguments.body(carrying(body))
    assert refused.value.status == 400


@pytest.mark.parametrize("body", [b"[1]", b'""', b"1"])
def test_other_json_is_no_object(body):
    with pytest.raises(Rejection, match="not an object"):
        arguments.json_object(carrying(body))


@pytest.mark.parametrize(("body", "expected"), [(b"4", 4), (b'"4"', 4), (b"-1", -1), (b" 0 ", 0)])
def test_a_number_may_be_quoted(body, expected):
    assert arguments.number(carrying(body)) == expected


@pytest.mark.parametrize("body", [b'{"partitions": 2}', b"true", b'"1.5"', b'"x"', b"[1]"])
def test_other_json_is_no_number(body):
    with pytest.raises(Rejection, match="not a whole number"):
        arguments.number(carrying(body))


def test_a_number_left_out_is_answered_as_pulsar_does():
    with pytest.raises(Rejection, match=r"The request entity cannot be empty\.") as refused:
        arguments.number(carrying(b""))
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'"earliest"', CursorPosition(EARLIEST_MESSAGE)),
        (b'"latest"', CursorPosition(LATEST_MESSAGE)),
        (b'{"ledgerId": 20, "entryId": 3, "partitionIndex": -1}', CursorPosition(MessageId(20, 3))),
        (b'{"ledgerId": "20", "entryId": "3"}', CursorPosition(MessageId(20, 3))),
        (b'{"ledgerId": -1, "entryId": -1}', CursorPosition(EARLIEST_MESSAGE)),
        (
            b'{"ledgerId": 1, "entryId": 2, "partitionIndex": 3, "batchIndex": 4}',
            CursorPosition(MessageId(1, 2, 3, 4)),
        ),
        (
            b'{"ledgerId": 1, "entryId": 2, "excluded": true, "properties": {"k": "v"}}',
            CursorPosition(MessageId(1, 2), excluded=True, properties={"k": "v"}),
        ),
        (
            b'{"ledgerId": 1, "entryId": 2, "isExcluded": true, "z": 1}',
            CursorPosition(MessageId(1, 2)),
        ),
        (b'{"messageId": {"ledgerId": -1}}', CursorPosition(MessageId(0, 0))),
    ],
)
def test_a_place_is_an_end_or_a_message_id(body, expected):
    assert arguments.position(carrying(body)) == expected


@pytest.mark.parametrize(
    "body",
    [
        b'"zzz"',
        b"[1,2]",
        b'{"ledgerId": "x"}',
        b'{"entryId": true}',
        b"17",
        b'{"ledgerId": 9223372036854775808, "entryId": 0}',
        b'{"ledgerId": -2, "entryId": 0}',
        b'{"ledgerId": 0, "entryId": 0, "partitionIndex": 2147483648}',
        b'{"ledgerId": 0, "entryId": 0, "excluded": "yes"}',
    ],
)
def test_other_json_is_no_place(body):
    with pytest.raises(Rejection):
        arguments.position(carrying(body))


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"ledgerId": 1}', b'{"messageId": {}}'])
def test_where_to_go_is_not_left_to_a_default(body):
    with pytest.raises(Rejection, match="Say where to") as refused:
        arguments.required_position(carrying(body))
    assert refused.value.status == 400


def test_a_map_of_strings_takes_numbers_at_their_word():
    assert arguments.string_map({"a": "b", "n": 1, "t": True}, "properties") == {
        "a": "b",
        "n": "1",
        "t": "true",
    }
    assert arguments.string_map(None, "properties") is None


@pytest.mark.parametrize("value", [[1], "x", {"a": []}, {"a": {}}])
def test_other_json_is_no_map_of_strings(value):
    with pytest.raises(Rejection, match="properties"):
        arguments.string_map(value, "properties")


def test_a_list_of_strings_holds_nothing_else():
    assert arguments.string_list(["a", 1], "roles") == ["a", "1"]
    assert arguments.string_list(None, "roles") is None
    for value in ("a", [[1]], [None], {}):
        with pytest.raises(Rejection, match="roles"):
            arguments.string_list(value, "roles")

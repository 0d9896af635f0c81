import json

from hypothesis import given
from hypothesis import strategies as st

from magnetar.rest.exchange import shown
from magnetar.rest.long_answers import PARTS, json_pieces, shown_in_turns

LARGE = {
    "name": "ä",
    "none": None,
    "partitions": {f"p{n}": {"a": [1, 2], "b": {}} for n in range(3 * PARTS)},
    "names": [f"n{n}" for n in range(2 * PARTS + 1)],
}


async def test_a_long_answer_is_the_same_as_a_short_one():
    for value in (LARGE, {"deep": {"deeper": [LARGE]}}, list(LARGE), [], {}, 7):
        assert (await shown_in_turns(value)).body == shown(value).body


def test_no_piece_has_many_parts():
    pieces = list(json_pieces({"x": {"y": LARGE}}))
    assert max(map(len, pieces)) < 20 * PARTS
    assert json.loads("".join(pieces)) == {"x": {"y": LARGE}}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=9).map(lambda some: some * (PARTS // 4))
            | st.dictionaries(st.text(max_size=2), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_pieces_are_the_whole(value):
    assert json.loads("".join(json_pieces(value))) == value

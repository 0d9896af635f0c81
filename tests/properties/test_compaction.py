"""Compaction against a dictionary that is told every message in order."""

from hypothesis import given
from hypothesis import strategies as st
from unit.message.test_compaction import batched, compacted, entry, messages_in

from magnetar.message.compression import CompressionType
from magnetar.message.entry import split

messages = st.tuples(st.sampled_from([*"abcde", None]), st.sampled_from([b"", b"x", b"yy"]))
entries = st.one_of(messages, st.lists(messages, min_size=1, max_size=5))


def written(said, kind):
    if isinstance(said, list):
        return batched(*said, kind=kind)
    key, body = said
    return entry(body, uncompressed_size=len(body), **({"partition_key": key} if key else {}))


def naive(said, *, retain_null_key):
    """The messages that stay, by their places."""
    latest, stay = {}, {}
    for number, messages in enumerate(said):
        for index, (key, body) in enumerate(messages if isinstance(messages, list) else [messages]):
            if key is None:
                if retain_null_key:
                    stay[number, index] = (key, body)
            elif body:
                latest[key] = (number, index), (key, body)
            else:
                latest.pop(key, None)
    return stay | dict(latest.values())


def shown(said, left):
    """The same of what compaction left."""
    stay = {}
    for number, each in left.items():
        if isinstance(said[number], list):
            found = enumerate(messages_in(each))
            stay |= {(number, index): message for index, message in found if message is not None}
        else:
            stay[number, 0] = said[number][0], bytes(split(each)[1])
    return stay


@given(
    st.lists(entries, max_size=12),
    st.integers(0, 12),
    st.sampled_from(CompressionType),
    st.booleans(),
)
def test_compaction_leaves_what_a_dictionary_would(said, cut, kind, retain_null_key):
    """At once, and as it is done: what an earlier one left, with what came after it."""
    raw = [written(each, kind) for each in said]
    options = {"retain_null_key": retain_null_key}
    expected = naive(said, **options)
    assert shown(said, compacted(raw, **options)) == expected
    before = compacted(raw[:cut], **options)
    places = [*before, *range(len(raw[:cut]), len(raw))]
    left = compacted([before.get(place, raw[place]) for place in places], **options)
    assert shown(said, {places[index]: each for index, each in left.items()}) == expected

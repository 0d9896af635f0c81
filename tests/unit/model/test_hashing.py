"""model/hashing.py: numbers that everybody must come to."""

import pytest

from magnetar.model.hashing import boost_hash, java_string_hash, murmur3_32, topics_hash


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"test", 0xBA6BD213 & 0x7FFFFFFF),
        (b"key", 1654417988),
        (b"NONE_KEY", 504741539),
        (b"Order-3459134", 3112179635 & 0x7FFFFFFF),
        (b"orders-aggregator-pod-2345-consumer1", 1003084738),
        (b"orders-aggregator-pod-2345-consumer2", 373317202),
        (b"orders-aggregator-pod-2345-consumer100", 320276078),
    ],
)
def test_murmur3(data, expected):
    assert murmur3_32(data) == expected


@pytest.mark.parametrize(
    ("key", "slot"), [(b"a", 27058), (b"b", 32259), (b"c", 54879), (b"key", 27204), (b"", 0)]
)
def test_slots_of_key_shared_consumers_as_seen_on_a_broker(key, slot):
    assert murmur3_32(key) % 65536 == slot


@pytest.mark.parametrize(
    ("key", "slot"), [(b"a", 42456), (b"b", 37858), (b"c", 14227), (b"key", 52449), (b"p-10", 1235)]
)
def test_slots_on_the_ring_as_seen_on_a_broker(key, slot):
    assert murmur3_32(key) % 65535 + 1 == slot


@pytest.mark.parametrize("size", range(9))
def test_murmur3_takes_every_length_to_its_own_number(size):
    seen = {murmur3_32(bytes([1]) * length) for length in range(size + 1)}
    assert len(seen) == size + 1
    assert all(0 <= number < 2**31 for number in seen)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", 0),  # -2**31 in Java, of which the highest bit is dropped
        ("ä", 228),
        ("\N{GRINNING FACE}", 0xD83D * 31 + 0xDE00),  # two units of UTF-16
    ],
)
def test_java_string_hash(text, expected):
    assert java_string_hash(text) == expected


def test_a_list_of_topics_has_one_hash_in_any_order():
    topics = ["persistent://public/default/b", "persistent://public/default/a"]
    assert topics_hash(topics) == topics_hash(reversed(topics)) == "c7559e98"
    assert topics_hash([]) == "00000000"


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        ("a", 639),
        ("ab", 591),
        ("abc", 599),
        ("abcd", 925),
        ("abcdefg", 858),
        ("abcdefgh", 932),
        ("customer-77", 393),
        ("key-with-more-than-sixteen-bytes", 279),
        ("\u00e9", 545),
    ],
)
def test_the_partition_of_a_key_as_the_client_in_cpp_chooses_it(key, partition):
    """Of 997, seen with pulsar-client 3.13."""
    assert boost_hash(key.encode()) % 997 == partition

"""inner/plain/traits.py: counts, and what is left to be parsed."""

import pytest
from unit.inner.builds import both_builds

from magnetar.message.entry import join
from magnetar.proto import PulsarApi_pb2 as pb

pytestmark = both_builds


def entry(**fields):
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=1, publish_time=2, **fields)
    return join(metadata.SerializeToString(), b"payload")


USUAL = {
    "alone": entry(),
    "with a key": entry(partition_key="k", partition_key_b64_encoded=True, ordering_key=b"k"),
    "with properties": entry(properties=[pb.KeyValue(key="a", value="b")] * 3),
    "compressed": entry(compression=pb.CompressionType.LZ4, uncompressed_size=7, event_time=9),
    "with a schema": entry(schema_version=b"1", null_value=True, null_partition_key=True),
    "replicated": entry(replicated_from="here", replicate_to=["there", "elsewhere"]),
    "of a transaction": entry(txnid_most_bits=0, txnid_least_bits=0),
    "that looks unusual": entry(highest_sequence_id=152, event_time=160),
}
ODD = {
    "a chunk": entry(uuid="u", num_chunks_from_msg=2, chunk_id=0),
    "delayed": entry(deliver_at_time=5),
    "a marker": entry(marker_type=0),
    "encrypted": entry(encryption_keys=[pb.EncryptionKeys(key="k", value=b"v")]),
    "of minus one message": entry(num_messages_in_batch=-1),
    "with half a property": join(b"\x0a\x00\x10\x00\x18\x00\x22\x02\x0a\x00", b""),
    "with a field nobody knows": join(b"\x0a\x00\x10\x00\x18\x00\xf8\x7f\x00", b""),
    "without a time": join(b"\x0a\x00\x10\x00", b""),
    "cut off": entry()[:8],
    "too short": b"\0\0",
    "empty": b"",
}


@pytest.mark.parametrize("name", USUAL)
def test_what_is_usual_is_counted(loops, name):
    assert loops.look_into([USUAL[name]], [0]) == ([1], [])


@pytest.mark.parametrize("name", ODD)
def test_unusual_metadata_is_left_to_be_parsed(loops, name):
    assert loops.look_into([entry(), ODD[name]], [0, 0]) == ([1, 1], [1])


def test_a_batch_says_how_many_it_holds(loops):
    batches = [entry(num_messages_in_batch=count) for count in (0, 1, 1000, 2**31 - 1)]
    assert loops.look_into(batches, [0] * 4) == ([1, 1, 1000, 2**31 - 1], [])


def test_a_list_of_counts_comes_back_or_is_left_as_it_was(loops):
    counts = [7, 7]
    assert loops.look_into([entry()] * 2, counts)[0] is counts
    assert loops.look_into([entry(), entry(deliver_at_time=5)], counts) == ([7, 1], [1])
    assert counts == [7, 7]


def test_what_makes_no_sense_is_refused(loops):
    with pytest.raises(ValueError, match="as many counts"):
        loops.look_into([entry()], [])
    with pytest.raises(TypeError):
        loops.look_into([None], [0])

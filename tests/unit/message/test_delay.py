"""message/delay.py: who asks to be delivered later is found, and nobody else is taken for it."""

import pytest
from google_crc32c import value as crc32c
from hypothesis import given
from hypothesis import strategies as st
from unit.wire.sending import send_frame

from magnetar.message.delay import asks_for_delay
from magnetar.message.entry import join
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import FrameDecoder

NOW = 1_763_770_000_000
TAG = "\u0618\x01"  # In UTF-8 its last two bytes are those of the tag of deliver_at_time.


def metadata(**fields):
    values = {"producer_name": "p", "sequence_id": 0, "publish_time": NOW, **fields}
    return pb.MessageMetadata(**values).SerializeToString()


@pytest.mark.parametrize(
    ("entry", "asks"),
    [
        (join(metadata(), b"x"), False),
        (join(metadata(deliver_at_time=NOW + 1), b"x"), True),
        (join(metadata(deliver_at_time=0), b"x"), True),
        (join(metadata(deliver_at_time=-1), b"x"), True),
        (join(metadata(publish_time=1, deliver_at_time=NOW), b"x"), True),
        (join(metadata(partition_key="k", deliver_at_time=NOW, null_value=True), b""), True),
        (join(metadata(), b"\x98\x01\x01"), False),
        (join(metadata(partition_key=TAG), b"x"), False),
        (join(metadata(sequence_id=0x98), b"x"), False),
        (b"", False),
        (b"\x00\x00\x00\x02\x98\x01", False),
        (b"\xff\xff\xff\xff\x98\x01\x01", False),
    ],
)
def test_an_entry_that_says_when_it_is_to_be_delivered_asks_for_delay(entry, asks):
    assert asks_for_delay(entry) is asks


@st.composite
def entries(draw):
    """Entries as a producer writes them, many of one size; and some that nobody would write."""
    name = draw(st.sampled_from(["p", "standalone-0-1"]))
    first = draw(st.sampled_from([0, 100, 0x98 - 5, 16_380, 2**28]))
    made = []
    for index in range(draw(st.integers(1, 40))):
        fields = draw(
            st.fixed_dictionaries(
                {"publish_time": st.sampled_from([NOW, NOW, NOW + 1, 1])},
                optional={
                    "partition_key": st.sampled_from(["k", "key-5", TAG]),
                    "deliver_at_time": st.sampled_from([NOW + 5, 2**35, 2**62]),
                    "num_messages_in_batch": st.just(3),
                    "uuid": st.just("\x01" * 20),
                },
            )
            if draw(st.booleans())
            else st.just({})
        )
        head = metadata(producer_name=name, sequence_id=first + index, **fields)
        made.append((first + index, head))
    size = max(len(head) for _, head in made) + 8 if draw(st.booleans()) else 0
    filling = draw(st.sampled_from([b"\0", b"\x98\x01"]))
    return [(n, join(head, (filling * 99)[: max(size - len(head), 1)])) for n, head in made]


@given(entries(), st.sampled_from([10**6, 100, 7]))
def test_a_run_names_all_who_ask_and_nobody_else(made, read_size):
    """Alike or not, in stretches or one by one, each is judged as protobuf reads it."""
    data = b"".join(send_frame(1, number, entry) for number, entry in made)
    decoder = FrameDecoder()
    reads = [data[start : start + read_size] for start in range(0, len(data), read_size)]
    runs = [run for read in reads for run in decoder.feed(read)]
    found, before = [], 0
    for run in runs:
        found += [before + index for index in run.delayed]
        before += len(run)
    expected = [
        index
        for index, (_, entry) in enumerate(made)
        if pb.MessageMetadata.FromString(entry[4 : 4 + int.from_bytes(entry[:4])]).HasField(
            "deliver_at_time"
        )
    ]
    assert found == expected
    assert [entry for run in runs for entry in run.data] == [entry for _, entry in made]
    assert [c for run in runs for c in run.checksums] == [crc32c(entry) for _, entry in made]


@pytest.mark.parametrize("key", [None, "k" * 30])
@pytest.mark.parametrize("at", [0, 1, 100, 255, 256, 299])
def test_one_among_many_alike_is_found(key, at):
    """Records of one size: what the one has more in its metadata it has less in its payload."""
    made = []
    for index in range(300):
        more = {"deliver_at_time": NOW + 60_000} if index == at else {}
        more |= {"partition_key": key} if key else {}
        head = metadata(sequence_id=1000 + index, **more)
        made.append(send_frame(1, 1000 + index, join(head, b"x" * (100 - len(head)))))
    assert len({len(frame) for frame in made}) == 1
    (run,) = FrameDecoder().feed(b"".join(made))
    assert run.delayed == [at]

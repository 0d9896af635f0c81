"""What messages say of themselves in a batch."""

from magnetar import inner


def head_of(single, size, sequence_id):
    """What a message of ``size`` bytes says of itself in a batch."""
    packed = inner.pack([bytes(size)], sequence_id, [single])
    return packed[4 : len(packed) - size]

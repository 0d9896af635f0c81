from magnetar.tools.doctor.finding import size_text


def test_sizes_are_read_in_the_unit_that_they_fill():
    assert [size_text(size) for size in (5, 2048, 20 << 20, 5 << 40)] == [
        "5 B",
        "2.0 KiB",
        "20 MiB",
        "5.0 TiB",
    ]

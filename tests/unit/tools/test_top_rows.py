from magnetar.tools.top_rows import StatsSample, arranged, rows_of, total


def stats(sent, received=0, backlog=0, reason=None, since=None):
    one = {"msgOutCounter": received, "msgBacklog": backlog, "consumers": [{}]}
    return {
        "msgInCounter": sent,
        "bytesInCounter": sent * 1024,
        "subscriptions": {"s": {**one, "blockedReason": reason, "blockedSince": since}},
    }


ALONE = {"msgInCounter": 5, "bytesInCounter": 5, "subscriptions": {}}
BEFORE = StatsSample(10.0, {"persistent://a/b/x": stats(0), "persistent://a/b/y": stats(900)})
NOW = StatsSample(
    12.0,
    {
        "persistent://a/b/x": stats(200, 100, 7, "nobody acknowledges", 5_000),
        "persistent://a/b/y": stats(10, 0, 5, reason="every entry was delivered"),
        "persistent://a/b/z": ALONE,
    },
)


def test_rates_are_what_came_between_two_looks():
    rows = {row.topic[-1]: row for row in rows_of(BEFORE, NOW)}
    assert (rows["x"].rate_in, rows["x"].bytes_in, rows["x"].rate_out) == (100, 102400, 50)
    assert rows["y"].rate_in == 5  # It was loaded again.
    assert rows["z"].rate_in == 0  # It was not there before.
    assert rows["x"].shown() == (
        *("a/b/x", "100.0", "100.0", "s", "50.0", "7", "0", "1"),
        "nobody acknowledges",
    )
    assert rows["y"].reason == ""
    assert rows["z"].shown() == ("a/b/z", "0.0", "0.0", "", "", "", "", "", "")
    assert rows["x"].as_json()["blockedReason"] == "nobody acknowledges"
    assert rows["z"].as_json()["subscription"] is None


def test_rows_are_sorted_and_filtered():
    rows = rows_of(BEFORE, NOW)
    for sort, order in (("backlog", "xyz"), ("in", "xyz"), ("out", "xyz"), ("name", "xyz")):
        assert "".join(row.topic[-1] for row in arranged(rows, sort, "")) == order
    assert [row.topic[-1] for row in arranged(rows, "name", "z")] == ["z"]
    assert total(rows) == "3 topics, 105.0 msg/s in, 50.0 msg/s out, backlog 12"

from magnetar.broker.topics.publishing.topic_writer import joined


async def test_runs_become_one_in_their_order(make_entry, make_run):
    runs = [make_run(*map(make_entry, texts)) for texts in ("ab", "c", "def")]
    entries = joined([(None, run) for run in runs])
    assert entries.data == [*runs[0].data, *runs[1].data, *runs[2].data]
    assert entries.checksums == [each for run in runs for each in run.checksums]
    assert entries.size_bytes == sum(run.size_bytes for run in runs)


async def test_one_run_is_taken_as_it_is(make_entry, make_run):
    run = make_run(make_entry("a"), make_entry("b"))
    assert joined([(None, run)]).data is run.data

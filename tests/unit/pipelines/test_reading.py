import re
import textwrap

import pytest

from magnetar.errors import InvalidValue
from magnetar.pipelines.declaration import Action, Location, Watermark
from magnetar.pipelines.reading import read_pipeline

WHOLE = """
name: orders
pulsar: {service.url: "${URL}", admin.url: "http://localhost:8080"}
quarantine: {topic: bad}
reject: {topic: rejected}
sources:
  orders:
    topic: orders
    json: id int, amount double
    watermark: {column: event_time, delay: 10 minutes}
  customers: {format: parquet, path: customers, stream: false}
steps:
  clean:
    sql: SELECT * FROM orders
    deduplicate: [id]
    checks:
      positive: {expect: amount > 0, action: quarantine}
      small: {expect: amount < 9}
  joined: {python: transforms.join, inputs: [clean, customers]}
sinks:
  copy: {from: joined, topic: copy, options: {guarantee: exactly-once}}
  table: {from: clean, format: parquet, path: out, trigger: 10 seconds}
"""


@pytest.fixture
def read(tmp_path):
    def read(text, **environment):
        file = tmp_path / "pipeline.yaml"
        file.write_text(textwrap.dedent(text))
        return read_pipeline(file, {"URL": "pulsar://localhost:6650", **environment})

    return read


def test_a_file_is_read_whole(read, tmp_path):
    pipeline = read(WHOLE)
    orders, customers = pipeline.sources
    clean, joined = pipeline.steps
    copy, table = pipeline.sinks
    assert orders.location.options == {"service.url": "pulsar://localhost:6650", "topic": "orders"}
    assert orders.watermark == Watermark("event_time", "10 minutes")
    assert orders.reject is not None
    assert orders.reject.options["topic"] == "rejected"
    assert not customers.rejects
    assert customers.location == Location("parquet", {}, str(tmp_path / "customers"))
    assert not customers.streaming
    assert [check.action for check in clean.checks] == [Action.QUARANTINE, Action.WARN]
    assert clean.quarantines
    assert clean.quarantine is not None
    assert clean.quarantine.options["topic"] == "bad"
    assert joined.inputs == ("clean", "customers")
    assert copy.location.options["admin.url"] == "http://localhost:8080"
    assert (copy.trigger, table.trigger) == ("available-now", "10 seconds")
    assert pipeline.checkpoints == str(tmp_path / "checkpoints" / "orders")


MISTAKES = {
    "  copy: {from: joined, topic: copy": ("  copy: {from: joind, topic: copy", "mean joined?"),
    "action: quarantine": ("action: quarantin", "did you mean quarantine?"),
    "{topic: bad}": ("{topc: bad}", "quarantine.topc is not known: did you mean topic?"),
    "quarantine: {topic: bad}\n": ("", "clean quarantines rows, but not where to"),
    "deduplicate: [id]": ("deduplicat: [id]", "did you mean deduplicate?"),
    "trigger: 10 seconds": ("trigger: often", "write available-now, or an interval"),
    "delay: 10 minutes": ("delay: ten", "write it as 10 minutes"),
    "inputs: [clean, customers]": ("inputs: [later]", "no view later comes before"),
    ", inputs: [clean, customers]": ("", "a function needs the views"),
    "python: transforms.join": ("python: join", "give module.function"),
    "sql: SELECT * FROM orders": ("watermark:", "needs one of sql and python"),
    "guarantee: exactly-once": ("guarante: x", "sinks.copy: unknown option 'guarante'"),
    "  table: {from: clean, format: parquet, path: out": ("  table: {from: clean", "needs a topic"),
    "path: out": ("mode: append", "parquet needs a path"),
    "topic: copy": ("topic: copy, path: x", "sinks.copy.path is not for topics"),
    "path: customers": ("path: x, topic: y, format: parquet", "is there twice"),
    "name: orders\n": ("", "name is missing"),
    "  joined:": ("  orders:", "steps.orders is there twice"),
    "  table:": ("  a table:", "made of letters, digits and _"),
    "stream: false": ("stream: no way", "has to be true or false"),
    '"${URL}"': ('"${NOWHERE}"', "${NOWHERE} is not in the environment"),
    "{topic: rejected}": ("{topic: a, path: x}", "reject.path is not for topics"),
    "path: customers,": (
        "path: customers, reject: {topic: a},",
        "customers.reject is for messages",
    ),
    "path: customers, stream": ("json: a int, stream", "json is for topics"),
    "admin.url: ": ("admin.ulr: ", "pulsar.admin.ulr is not known: did you mean admin.url?"),
    "topic: orders\n": ("topic: non-persistent://a/b/c\n", "keeps no messages"),
    "copy, options: {": ("copy, mode: update, options: {", "needs the option txnAppId"),
    "format: parquet, path: out": ("format: parquet, path: out, mode: update", "mode append"),
    "sinks:": ("sources: {}\nsinks:", "sources is there twice"),
    "steps:": ("steps: ]", "is no YAML"),
}


@pytest.mark.parametrize(("right", "mistake", "said"), [(a, *b) for a, b in MISTAKES.items()])
def test_a_mistake_is_named_with_its_place_and_the_remedy(read, right, mistake, said):
    assert right in WHOLE
    with pytest.raises(InvalidValue) as caught:
        read(WHOLE.replace(right, mistake, 1))
    assert said in str(caught.value)
    assert "pipeline.yaml" in str(caught.value)


def test_a_pipeline_reads_and_writes_something(read):
    with pytest.raises(InvalidValue, match="sources is missing"):
        read("name: nothing")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidValue, match=r"gone\.yaml cannot be read: No such file"):
        read_pipeline(tmp_path / "gone.yaml", {})


def test_a_variable_may_have_a_default(read):
    text = WHOLE.replace("${URL}", "${ELSEWHERE:-pulsar://other:6650}")
    assert read(text).sources[0].location.options["service.url"] == "pulsar://other:6650"
    given = read(text, ELSEWHERE="pulsar://given:6650")
    assert given.sources[0].location.options["service.url"] == "pulsar://given:6650"


@pytest.mark.parametrize(
    ("sink", "view"), [("clean_quarantine", "steps.clean"), ("orders_reject", "sources.orders")]
)
def test_a_sink_does_not_share_the_checkpoint_of_what_is_set_aside(read, sink, view):
    with pytest.raises(InvalidValue, match=f"query that writes what {re.escape(view)} sets aside"):
        read(WHOLE.replace("  copy: {", f"  {sink}: {{"))


def test_a_source_may_have_a_place_of_its_own_for_what_it_rejects(read):
    own = WHOLE.replace("json: id int", "reject: {topic: own}\n    json: id int")
    (orders, _) = read(own).sources
    assert orders.reject is not None
    assert orders.reject.options["topic"] == "own"


def test_views_are_told_apart_by_more_than_case(read):
    with pytest.raises(InvalidValue, match=r"steps\.Orders is there twice"):
        read(WHOLE.replace("  joined: {", "  Orders: {"))


def test_a_file_that_is_no_text_is_named(tmp_path):
    file = tmp_path / "pipeline.yaml"
    file.write_bytes(b"name: \xff")
    with pytest.raises(InvalidValue, match="is not UTF-8"):
        read_pipeline(file, {})

"""The options of a function, and the file under them."""

import click
import pytest
from click.testing import CliRunner

from magnetar.errors import InvalidValue
from magnetar.functions.config import FunctionConfig
from magnetar.functions.config_checks import check
from magnetar.tools.functions.options import config_from, configured

ALL = [
    *("--fqfn", "t/n/f"),
    *("--classname", "f.F"),
    *("--py", "f.py"),
    *("-i", "a,b"),
    *("-o", "c"),
    *("--log-topic", "l"),
    *("-st", "JSON"),
    *("--topics-pattern", "t/n/x.*"),
    *("--custom-serde-inputs", '{"d":"f.S"}'),
    *("--input-specs", '{"e":{}}'),
    *("--processing-guarantees", "ATLEAST_ONCE"),
    *("--user-config", '{"k":1}'),
    "--retain-ordering",
    *("--subs-name", "s"),
    *("--subs-position", "Earliest"),
    *("--parallelism", "2"),
    *("--timeout-ms", "5"),
    *("--max-message-retries", "3"),
    *("--dead-letter-topic", "dead"),
    *("--secrets", '{"p":"P"}'),
    *("--producer-config", '{"compressionType":"ZSTD"}'),
    *("--batch-builder", "KEY_BASED"),
    *("--auto-ack", "true"),
    *("--cleanup-subscription", "false"),
    *("--ram", "5"),
    *("--window-length-count", "10"),
    *("--sliding-interval-count", "5"),
    *("--log-level", "INFO"),
    *("--forward-source-message-property", "false"),
]


def parsed(*args: str) -> dict:
    found = {}

    @click.command()
    @configured
    def command(**given):
        found.update(config_from(given))

    result = CliRunner().invoke(command, args, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return found


def test_every_option_is_a_key():
    config = FunctionConfig.parse(parsed(*ALL))
    check(config)
    assert config.fqfn == "t/n/f"
    assert config.input_topics == ("a", "b", "d", "e")
    assert config.retain_ordering
    assert not config.cleanup_subscription
    assert not config.forward_source_message_property
    assert config.producer_config.batch_builder == "KEY_BASED"
    assert config.window_config is not None
    assert config.window_config.sliding_interval_count == 5
    assert (config.resources.ram, config.output_schema_type) == (5, "JSON")


def test_options_go_before_the_file(tmp_path):
    (tmp_path / "g.py").write_text("")
    file = tmp_path / "f.yaml"
    file.write_text(
        "className: g\npy: g.py\ninputs: [a]\nparallelism: 3\nwindowConfig: {windowLengthCount: 5}"
    )
    found = parsed(
        "--function-config-file", str(file), "--parallelism", "1", "--sliding-interval-count", "2"
    )
    assert (found["parallelism"], found["inputs"]) == (1, ["a"])
    assert found["windowConfig"] == {"windowLengthCount": 5, "slidingIntervalCount": 2}
    assert found["py"] == str(tmp_path / "g.py"), "what is beside the file is found from anywhere"


@pytest.mark.parametrize(
    ("text", "said"), [("- a", "has no keys"), ("a: [", "is no YAML"), ("\xff", "is no YAML")]
)
def test_a_file_that_says_nothing_is_refused(tmp_path, text, said):
    file = tmp_path / "f.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidValue, match=said):
        parsed("--function-config-file", str(file))


def test_a_function_has_one_name():
    with pytest.raises(click.UsageError, match="say either --fqfn or"):
        parsed("--fqfn", "a/b/c", "--name", "c")

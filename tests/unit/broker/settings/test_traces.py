import pytest

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue

ON = {"OTEL_SDK_DISABLED": "false"}


def test_there_are_none_unless_somebody_asks():
    traces = Config.read().traces
    assert (traces.disabled, traces.from_parents, traces.share) == (True, True, 0.001)


def test_opentelemetrys_own_variables_switch_them_on():
    config = Config.read(environment={**ON, "OTEL_TRACES_SAMPLER_ARG": "0.5"})
    assert (config.traces.disabled, config.traces.share) == (False, 0.5)
    assert config.sources["otelSdkDisabled"] == "environment OTEL_SDK_DISABLED"


def test_so_does_a_file_or_a_variable_of_ours():
    assert not Config.read(flags={"otelSdkDisabled": "false"}).traces.disabled
    assert not Config.read(environment={"MAGNETAR_OTEL_SDK_DISABLED": "false"}).traces.disabled


@pytest.mark.parametrize(
    ("sampler", "from_parents", "share"),
    [
        ("parentbased_traceidratio", True, 0.25),
        ("parentbased_always_on", True, 1),
        ("parentbased_always_off", True, 0),
        ("traceidratio", False, 0.25),
        ("always_on", False, 1),
        ("always_off", False, 0),
    ],
)
def test_samplers_are_opentelemetrys(sampler, from_parents, share):
    variables = {"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": "0.25"}
    traces = Config.read(environment={**ON, **variables}).traces
    assert (traces.from_parents, traces.share) == (from_parents, share)


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("OTEL_TRACES_SAMPLER", "jaeger_remote", "use one of parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "2", "use a number from 0 to 1"),
        ("OTEL_TRACES_EXPORTER", "zipkin", "use one of otlp"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "use one of http/protobuf"),
    ],
)
def test_what_is_not_done_is_refused_where_traces_are_on(variable, value, remedy):
    with pytest.raises(InvalidValue, match=f"environment {variable}.*{remedy}"):
        Config.read(environment={**ON, variable: value})
    Config.read(environment={variable: value})  # It is meant for another program.

"""The settings of traces. OpenTelemetry's own variables set them, too: ``OTEL_SDK_DISABLED``."""

from collections.abc import Mapping
from typing import Final, Literal

from magnetar.late_dataclass import dataclass

from .setting import section_from, setting, settings_of, variable_of

_SWITCH: Final = "otelSdkDisabled"


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Whether the broker makes spans, and of what. The rest is read from ``OTEL_...`` variables."""

    disabled: bool = setting(
        _SWITCH, True, "false: spans of publishing, delivering and admin requests go to a collector"
    )
    sampler: Literal[
        "parentbased_traceidratio",
        "parentbased_always_on",
        "parentbased_always_off",
        "traceidratio",
        "always_on",
        "always_off",
    ] = setting(
        "otelTracesSampler",
        "parentbased_traceidratio",
        "what is traced: parentbased_...: what came with a sampled traceparent, and of the rest a "
        "share; otherwise a share of all",
    )
    ratio: float = setting(
        "otelTracesSamplerArg", 0.001, "the share that ...traceidratio traces", maximum=1
    )
    exporter: Literal["otlp"] = setting("otelTracesExporter", "otlp", "where spans go")
    protocol: Literal["http/protobuf"] = setting(
        "otelExporterOtlpProtocol", "http/protobuf", "how spans go there"
    )

    @property
    def from_parents(self) -> bool:
        """Whether the sender's decision holds, where there is one."""
        return self.sampler.startswith("parentbased_")

    @property
    def share(self) -> float:
        """The share that is traced of what nobody decided about."""
        if self.sampler.endswith("traceidratio"):
            return self.ratio
        return 1.0 if self.sampler.endswith("always_on") else 0.0


_VARIABLES: Final = {
    one.key: variable_of(one.key).removeprefix("MAGNETAR_") for one in settings_of(TraceSettings)
}


def from_opentelemetry(
    environment: Mapping[str, str], given: dict[str, str], sources: dict[str, str]
) -> None:
    """Take what OpenTelemetry's own variables say; all but the switch only where traces are on.

    Other programs that inherit the environment may mean something by them.
    """
    for key, variable in _VARIABLES.items():
        if key != _SWITCH and section_from(_Switch, given, sources, {}).disabled:
            return
        if value := environment.get(variable, ""):
            given[key], sources[key] = value, f"environment {variable}"


@dataclass(frozen=True, slots=True)
class _Switch:
    disabled: bool = setting(_SWITCH, True, "")

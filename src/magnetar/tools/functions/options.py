"""The options of ``magnetar functions``, by pulsar-admin's names, and what they say."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from magnetar.errors import InvalidValue, MagnetarError, NotReady
from magnetar.functions.config import PUBLIC, BatchBuilder, LogLevel, ProcessingGuarantees
from magnetar.tools.groups import with_options

F = TypeVar("F", bound=Callable[..., Any])

_JSON: Final = "as JSON"
_COMPLETION_TIMEOUT_S: Final = 1.0


def named(command: F) -> F:
    """Which function: by its full name, or by its parts."""
    return with_options(
        click.option("--fqfn", help="All three: tenant/namespace/name."),
        click.option("--tenant", help="Its tenant. [public]"),
        click.option("--namespace", help="Its namespace. [default]"),
        click.option("--name", help="The function's name.", shell_complete=_complete_name),
    )(command)


def _complete_name(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The functions of the namespace whose names begin so; none where no broker answers."""
    from magnetar.tools.connection import Connection  # noqa: PLC0415 - it asks the API
    from magnetar.tools.functions.api import FunctionsApi  # noqa: PLC0415

    given = ctx.params
    try:
        api = FunctionsApi(Connection(given).api(timeout_s=_COMPLETION_TIMEOUT_S))
        names = api.names(given.get("tenant") or "public", given.get("namespace") or "default")
    except MagnetarError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def fqfn_of(fqfn: str | None, tenant: str | None, namespace: str | None, name: str | None) -> str:
    """The full name of a function that was named. Raises UsageError."""
    if fqfn is not None:
        if tenant or namespace or name:
            raise click.UsageError("say either --fqfn or --tenant, --namespace and --name")
        if fqfn.count("/") != 2:
            raise click.UsageError("--fqfn has to be tenant/namespace/name")
        return fqfn
    if name is None:
        raise click.UsageError("say which function: --name NAME, or --fqfn tenant/namespace/name")
    return f"{tenant or PUBLIC}/{namespace or 'default'}/{name}"


def instance(command: F) -> F:
    """One instance of a function."""
    return click.option("--instance-id", type=int, help="One instance. [all]")(command)


# Option, key of the configuration, type, help. Lists have commas between.
_TEXTS: Final = (
    ("--classname", "className", "The class, as module.Class, or a module with process(input)."),
    ("--py", "py", "The Python file, wheel or zip with the code, or its URL."),
    ("--jar", "jar", "Not done: functions are written in Python."),
    ("--go", "go", "Not done: functions are written in Python."),
    ("--topics-pattern", "topicsPattern", "A regular expression over input topics."),
    ("--log-topic", "logTopic", "Where the function's log lines go."),
    ("--output-serde-classname", "outputSerdeClassName", "The serde of the output."),
    ("--subs-name", "subName", "The subscription on the inputs. [tenant/namespace/name]"),
    ("--dead-letter-topic", "deadLetterTopic", "Where messages go that failed too often."),
    ("--runtime-flags", "runtimeFlags", "Not done."),
    ("--custom-runtime-options", "customRuntimeOptions", "Not done."),
    ("--function-type", "functionType", "Not done: there are no built-in functions."),
    ("--input-type-class-name", "inputTypeClassName", "The class of the inputs' records."),
    ("--output-type-class-name", "outputTypeClassName", "The class of the outputs' records."),
)
_NUMBERS: Final = (
    ("--parallelism", "parallelism", "How many instances."),
    ("--timeout-ms", "timeoutMs", "When a message that failed comes again."),
    ("--max-message-retries", "maxMessageRetries", "How often a failed message is tried again."),
)
_JSONS: Final = (
    ("--user-config", "userConfig", "What context.get_user_config_value reads"),
    ("--secrets", "secrets", "What context.get_secret reads"),
    ("--custom-serde-inputs", "customSerdeInputs", "Input topics and their serdes"),
    ("--custom-schema-inputs", "customSchemaInputs", "Input topics and their schemas"),
    ("--custom-schema-outputs", "customSchemaOutputs", "Not done"),
    ("--input-specs", "inputSpecs", "Input topics, and how each is read"),
    ("--producer-config", "producerConfig", "How the output is written"),
)
_TRUTHS: Final = (
    ("--retain-ordering", "retainOrdering", "Process messages in order."),
    ("--retain-key-ordering", "retainKeyOrdering", "Process messages of a key in order."),
    ("--auto-ack", "autoAck", "Acknowledge by itself; false is MANUAL."),
    ("--cleanup-subscription", "cleanupSubscription", "Delete the subscription with it."),
    (
        "--forward-source-message-property",
        "forwardSourceMessageProperty",
        "Give outputs the properties of their inputs.",
    ),
    ("--skip-to-latest", "skipToLatest", "Not done."),
)
_WORDS: Final = (
    (
        "--processing-guarantees",
        "processingGuarantees",
        list(ProcessingGuarantees),
        "How often a message counts after a crash.",
    ),
    ("--subs-position", "subscriptionPosition", ["Latest", "Earliest"], "Where it begins."),
    ("--batch-builder", "batchBuilder", list(BatchBuilder), "How outputs are put into batches."),
    ("--log-level", "logLevel", list(LogLevel), "Which of its log lines are kept."),
)
_WINDOW: Final = (
    ("--window-length-count", "windowLengthCount", "Messages of a window."),
    ("--window-length-duration-ms", "windowLengthDurationMs", "How long a window is."),
    ("--sliding-interval-count", "slidingIntervalCount", "Messages from window to window."),
    ("--sliding-interval-duration-ms", "slidingIntervalDurationMs", "Time between windows."),
)
_RESOURCES: Final = (("--cpu", "cpu", float), ("--ram", "ram", int), ("--disk", "disk", int))


# What an option was called before, which pulsar-admin takes still: the key itself.
_OLDER: Final = frozenset(
    [
        "className",
        "topicsPattern",
        "logTopic",
        "customSerdeInputs",
        "outputSerdeClassName",
        "processingGuarantees",
        "userConfig",
        "retainOrdering",
        "windowLengthCount",
        "windowLengthDurationMs",
        "slidingIntervalCount",
        "slidingIntervalDurationMs",
        "autoAck",
        "timeoutMs",
    ]
)


def _older(key: str) -> list[str]:
    return [f"--{key}"] if key in _OLDER else []


def _variable(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def configured(command: F) -> F:
    """Everything that a function's configuration may say."""
    options = [
        click.option(
            "--function-config-file",
            "--functionConfigFile",
            type=click.Path(path_type=Path),
            help="YAML.",
        ),
        click.option("-i", "--inputs", help="Input topics, with commas between."),
        click.option("-o", "--output", help="The output topic."),
        click.option("-st", "--schema-type", help="The schema of the output."),
        *(click.option(option, *_older(key), help=about) for option, key, about in _TEXTS),
        *(
            click.option(option, *_older(key), type=int, help=about)
            for option, key, about in _NUMBERS
        ),
        *(
            click.option(option, *_older(key), help=f"{about}, {_JSON}.")
            for option, key, about in _JSONS
        ),
        *(
            click.option(
                option,
                *_older(key),
                type=bool,
                is_flag=False,
                flag_value=True,
                default=None,
                help=about,
            )
            for option, key, about in _TRUTHS
        ),
        *(
            click.option(option, *_older(key), type=click.Choice(words), help=about)
            for option, key, words, about in _WORDS
        ),
        *(
            click.option(option, *_older(key), type=int, help=about)
            for option, key, about in _WINDOW
        ),
        *(click.option(option, type=kind, help="No effect.") for option, _, kind in _RESOURCES),
    ]
    return named(with_options(*options)(command))


def config_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the file and the options say, the options before the file; by the file's keys.

    Raises UsageError, InvalidValue.
    """
    file = given["function_config_file"]
    whole = {} if file is None else _read(file)
    if given["fqfn"] is not None and (given["tenant"] or given["namespace"] or given["name"]):
        raise click.UsageError("say either --fqfn or --tenant, --namespace and --name")
    said: dict[str, Any] = {key: given[key] for key in ("fqfn", "tenant", "namespace", "name")}
    said["output"] = given["output"]
    said["outputSchemaType"] = given["schema_type"]
    for option, key, *_ in (*_TEXTS, *_NUMBERS, *_TRUTHS, *_WORDS):
        said[key] = given[_variable(option)]
    for option, key, _ in _JSONS:
        text = given[_variable(option)]
        said[key] = None if text is None else _json(option, text)
    if given["inputs"] is not None:
        said["inputs"] = [topic.strip() for topic in given["inputs"].split(",") if topic.strip()]
    for key, options in (("windowConfig", _WINDOW), ("resources", _RESOURCES)):
        found = {name: given[_variable(option)] for option, name, _ in options}
        found = {name: value for name, value in found.items() if value is not None}
        if found:
            said[key] = {**whole.get(key, {}), **found}
    whole.update({key: value for key, value in said.items() if value is not None})
    if file is not None and isinstance(whole.get("py"), str):
        whole["py"] = _beside(file, whole["py"])
    return whole


def _read(file: Path) -> dict[str, Any]:
    try:
        import yaml  # noqa: PLC0415 - of the extra spark, as all that runs functions
    except ModuleNotFoundError as error:
        raise NotReady("YAML is read with Magnetar's extra spark: docs/install.md") from error
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidValue(f"cannot read --function-config-file {file}: {why}") from error
    except yaml.YAMLError as error:
        at = " ".join(str(error).split())
        raise InvalidValue(f"--function-config-file {file} is no YAML: {at}") from error
    if not isinstance(found, dict):
        raise InvalidValue(f"--function-config-file {file} has no keys: see docs/functions.md")
    return found


def _json(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{option} is no JSON: {error}") from error


def _beside(file: Path, py: str) -> str:
    """The code that a file names: from here, or from where that file is."""
    near = file.parent / py
    return str(near) if "://" not in py and not Path(py).exists() and near.exists() else py

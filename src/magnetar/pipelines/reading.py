"""Reads a pipeline's file: every key is known, every name is there, before anything starts."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from magnetar.errors import InvalidValue
from magnetar.pipelines.declaration import (
    AVAILABLE_NOW,
    PULSAR,
    Action,
    Check,
    Location,
    Pipeline,
    Sink,
    Source,
    Step,
    Watermark,
)
from magnetar.pipelines.keys import Keys, suggestion
from magnetar.spark.client_settings import PREFIX
from magnetar.spark.read_options import READ_OPTIONS, ReadOptions
from magnetar.spark.update_mode import write_batch
from magnetar.spark.write_options import WRITE_OPTIONS, WriteOptions

PIPELINE_KEYS: Final = (
    *("name", "pulsar", "checkpoints", "trigger", "settings"),
    *("sources", "steps", "sinks", "quarantine", "reject"),
)
PLACE_KEYS: Final = ("topic", "topics", "topicsPattern", "format", "path", "options")
SOURCE_KEYS: Final = (*PLACE_KEYS, "stream", "schema", "json", "watermark", "reject")
STEP_KEYS: Final = (
    *("sql", "python", "inputs", "watermark", "deduplicate"),
    *("checks", "quarantine"),
)
SINK_KEYS: Final = (*PLACE_KEYS, "from", "mode", "trigger", "sort_by", "partition_by")
MODES: Final = ("append", "update", "complete")

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INTERVAL: Final = re.compile(r"\d+ (millisecond|second|minute|hour|day)s?")
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_OF_FILES: Final = ("parquet", "json", "csv", "orc", "text", "avro", "xml")
_TOPICS: Final = ("topic", "topics", "topicsPattern")


def read_pipeline(file: Path, environment: Mapping[str, str]) -> Pipeline:
    """The pipeline that ``file`` declares; ``${NAME}`` in it is a variable of ``environment``.

    Raises InvalidValue, which names the place in the file and the remedy.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{file} is not UTF-8: {error}") from error
    try:
        document = yaml.load(text, _Loader)  # noqa: S506 - it is a SafeLoader
        return _pipeline(_expanded(document, environment), file.resolve())
    except yaml.YAMLError as error:
        raise InvalidValue(f"{file} is no YAML: {' '.join(str(error).split())}") from error
    except InvalidValue as error:
        raise InvalidValue(f"{file}: {error}") from error


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML would take the second."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - yaml's
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise InvalidValue(f"line {key.start_mark.line + 1}: {key.value} is there twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _expanded(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _expanded(one, environment) for key, one in value.items()}
    if isinstance(value, list):
        return [_expanded(one, environment) for one in value]
    if not isinstance(value, str):
        return value

    def replaced(found: re.Match[str]) -> str:
        name, default = found.groups()
        given = environment.get(name, default)
        if given is None:
            raise InvalidValue(f"${{{name}}} is not in the environment: set it")
        return given

    return _VARIABLE.sub(replaced, value)


def _pipeline(document: Any, file: Path) -> Pipeline:
    keys = Keys("", document, PIPELINE_KEYS)
    folder = file.parent
    locations = _Locations(folder, keys.options("pulsar"))
    trigger = _trigger(keys, AVAILABLE_NOW)
    quarantine, reject = _aside("quarantine", keys, locations), _aside("reject", keys, locations)
    sources = tuple(_source(*one, locations, reject) for one in keys.named("sources", SOURCE_KEYS))
    steps = tuple(_step(*one, locations, quarantine) for one in keys.named("steps", STEP_KEYS))
    sinks = tuple(_sink(*one, locations, trigger) for one in keys.named("sinks", SINK_KEYS))
    _check_names(sources, steps, sinks)
    name = keys.needed("name", "name: orders")
    return Pipeline(
        name=name,
        folder=folder,
        checkpoints=whole(folder, keys.text("checkpoints") or f"checkpoints/{name}"),
        trigger=trigger,
        settings=keys.options("settings"),
        sources=sources,
        steps=steps,
        sinks=sinks,
    )


def whole(folder: Path, path: str) -> str:
    """``path`` as seen from the pipeline's folder; a URL stays as it is."""
    return path if "://" in path else str(folder / path)


class _Locations:
    """Reads where rows come from and go to; ``pulsar`` are the options of every topic."""

    def __init__(self, folder: Path, pulsar: Mapping[str, str]) -> None:
        self._folder = folder
        self._pulsar = pulsar
        both = {*READ_OPTIONS, *WRITE_OPTIONS}
        for name in pulsar:
            if name not in both and not name.startswith(PREFIX):
                raise InvalidValue(f"pulsar.{name} is not known: {suggestion(name, sorted(both))}")

    def read(self, keys: Keys, *, streaming: bool) -> Location:
        # Only history is asked for at admin.url when reading.
        history = "history" in {**self._pulsar, **keys.options("options")}
        known = [name for name in READ_OPTIONS if name != "admin.url" or history]
        location = self._location(keys, known)
        if location.format == PULSAR:
            self._check(keys, lambda: ReadOptions.parse(location.options, streaming=streaming))
        return location

    def written(self, keys: Keys, *, mode: str = "append", sort_by: Sequence[str] = ()) -> Location:
        location = self._location(keys, WRITE_OPTIONS)
        if location.format == PULSAR and mode == "append":
            self._check(keys, lambda: WriteOptions.parse(location.options, streaming=True))
        elif location.format == PULSAR:
            self._check(keys, lambda: write_batch(location.options, sort_by=sort_by))
        elif location.format in _OF_FILES and (location.path is None or mode != "append"):
            raise InvalidValue(f"{keys.place}: {location.format} needs a path, and mode append")
        return location

    def _location(self, keys: Keys, known: Collection[str]) -> Location:
        options = keys.options("options")
        topics = {key: ",".join(keys.texts(key)) for key in _TOPICS if key in keys}
        name = keys.text("format") or (PULSAR if topics or "topic" in options else None)
        if name is None:
            raise InvalidValue(f"{keys.place} needs a topic, or a format of Spark")
        path = keys.text("path")
        if name != PULSAR:
            if topics:
                raise InvalidValue(f"{keys.at(next(iter(topics)))} is for topics, not for {name}")
            return Location(name, options, None if path is None else whole(self._folder, path))
        if path is not None:
            raise InvalidValue(f"{keys.at('path')} is not for topics: give topic")
        common = {
            key: value
            for key, value in self._pulsar.items()
            if key in known or key.startswith(PREFIX)
        }
        return Location(PULSAR, {**common, **options, **topics})

    @staticmethod
    def _check(keys: Keys, parse: Callable[[], object]) -> None:
        try:
            parse()
        except InvalidValue as error:
            raise InvalidValue(f"{keys.place}: {error}") from error


def _aside(key: str, keys: Keys, locations: _Locations) -> Location | None:
    """Where rows go that do not go on, if that is said there."""
    if key not in keys:
        return None
    return locations.written(Keys(keys.at(key), keys.get(key), PLACE_KEYS))


def _source(name: str, keys: Keys, locations: _Locations, default: Location | None) -> Source:
    streaming = keys.get("stream")
    if streaming not in (None, True, False):
        raise InvalidValue(f"{keys.at('stream')} has to be true or false")
    streaming = streaming is not False
    location = locations.read(keys, streaming=streaming)
    if location.format != PULSAR and "json" in keys:
        raise InvalidValue(f"{keys.at('json')} is for topics: give schema, or a step with sql")
    reject = _aside("reject", keys, locations)
    if reject is not None and not (streaming and "json" in keys):
        raise InvalidValue(
            f"{keys.at('reject')} is for messages of a stream whose values are no JSON: give json, "
            "too, and leave `stream: false` out"
        )
    return Source(
        name=name,
        location=location,
        streaming=streaming,
        schema=keys.text("schema"),
        json=keys.text("json"),
        watermark=_watermark(keys),
        reject=(reject or default) if streaming and "json" in keys else None,
    )


def _step(name: str, keys: Keys, locations: _Locations, default: Location | None) -> Step:
    sql, python = keys.text("sql"), keys.text("python")
    if (sql is None) == (python is None):
        raise InvalidValue(f"{keys.place} needs one of sql and python")
    if python is not None and not re.fullmatch(r"\w+(\.\w+)+", python):
        raise InvalidValue(f"{keys.at('python')} is {python}: give module.function")
    inputs = keys.texts("inputs")
    if bool(inputs) != (python is not None):
        raise InvalidValue(
            f"{keys.at('inputs')}: a function needs the views that it is given, sql names its own"
        )
    quarantine = _aside("quarantine", keys, locations) or default
    step = Step(
        name=name,
        sql=sql,
        python=python,
        inputs=inputs,
        watermark=_watermark(keys),
        deduplicate=keys.texts("deduplicate"),
        checks=tuple(_checks(keys)),
        quarantine=quarantine,
    )
    if step.quarantines and quarantine is None:
        raise InvalidValue(
            f"{keys.place} quarantines rows, but not where to: give quarantine with a topic, or "
            "with format and path, there or for the whole pipeline"
        )
    return step


def _checks(keys: Keys) -> Iterator[Check]:
    for name, check in keys.named("checks", ("expect", "action")):
        action = check.text("action") or Action.WARN
        if action not in list(Action):
            raise InvalidValue(
                f"{check.at('action')} is {action}: {suggestion(action, list(Action))}"
            )
        yield Check(name, check.needed("expect", "expect: amount > 0"), Action(action))


def _sink(name: str, keys: Keys, locations: _Locations, trigger: str) -> Sink:
    mode = keys.text("mode") or MODES[0]
    if mode not in MODES:
        raise InvalidValue(f"{keys.at('mode')} is {mode}: {suggestion(mode, MODES)}")
    sort_by = keys.texts("sort_by")
    return Sink(
        name=name,
        view=keys.needed("from", "from: orders, the name of a source or a step"),
        location=locations.written(keys, mode=mode, sort_by=sort_by),
        mode=mode,
        trigger=_trigger(keys, trigger),
        sort_by=sort_by,
        partition_by=keys.texts("partition_by"),
    )


def _watermark(keys: Keys) -> Watermark | None:
    if "watermark" not in keys:
        return None
    inner = Keys(keys.at("watermark"), keys.get("watermark"), ("column", "delay"))
    delay = inner.needed("delay", "delay: 10 minutes")
    if not _INTERVAL.fullmatch(delay):
        raise InvalidValue(f"{inner.at('delay')} is {delay}: write it as 10 minutes")
    return Watermark(inner.needed("column", "column: event_time"), delay)


def _trigger(keys: Keys, default: str) -> str:
    trigger = keys.text("trigger") or default
    if trigger != AVAILABLE_NOW and not _INTERVAL.fullmatch(trigger):
        raise InvalidValue(
            f"{keys.at('trigger')} is {trigger}: write {AVAILABLE_NOW}, or an interval such as "
            "10 seconds"
        )
    return trigger


def _check_names(
    sources: tuple[Source, ...], steps: tuple[Step, ...], sinks: tuple[Sink, ...]
) -> None:
    """Views are defined once, before they are used."""
    for what, found in (("sources", sources), ("sinks", sinks)):
        if not found:
            raise InvalidValue(f"{what} is missing: a pipeline has one at least")
    views: list[str] = []
    for location, view in [("sources", one) for one in sources] + [("steps", one) for one in steps]:
        _check_name(f"{location}.{view.name}", view.name)
        if view.name.lower() in {other.lower() for other in views}:  # Spark's views are so.
            raise InvalidValue(
                f"{location}.{view.name} is there twice: views share their names, in which a and A "
                "are the same"
            )
        for other in view.inputs if isinstance(view, Step) else ():
            _check_view(f"{location}.{view.name}.inputs", other, views)
        views.append(view.name)
    aside = {
        step.quarantine_query.lower(): f"steps.{step.name}" for step in steps if step.quarantines
    }
    aside |= {one.reject_query.lower(): f"sources.{one.name}" for one in sources if one.rejects}
    for sink in sinks:
        _check_name(f"sinks.{sink.name}", sink.name)
        kept = aside.get(sink.name.lower())
        if kept is not None:
            raise InvalidValue(
                f"sinks.{sink.name} is called as the query that writes what {kept} sets aside, "
                "and would share its checkpoint: give it another name"
            )
        _check_view(f"sinks.{sink.name}.from", sink.view, views)


def _check_name(location: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidValue(f"{location}: a name is made of letters, digits and _")


def _check_view(location: str, name: str, views: Collection[str]) -> None:
    if name not in views:
        raise InvalidValue(f"{location}: no view {name} comes before: {suggestion(name, views)}")

"""What brokers say of the topics of a pipeline, asked before anything starts; nothing is made."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from magnetar.client import blocking
from magnetar.errors import InvalidValue, MagnetarError, NotFound, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaType
from magnetar.pipelines.declaration import PULSAR, Location, Pipeline, Source
from magnetar.spark import topics
from magnetar.spark.client_settings import ClientSettings
from magnetar.spark.read_options import ReadOptions, value_options
from magnetar.spark.values.plan import ValuePlan, schema_of

WAIT_S: Final = 10.0
"""For a broker; a run waits longer, as its options say."""
_TEXT: Final = (SchemaType.NONE, SchemaType.STRING, SchemaType.JSON)
"""Schemas whose values may be JSON, or text that a row has made."""


@dataclass(slots=True)
class TopicsCheck:
    """Errors and notes, each of which begins with the place in the file."""

    mistakes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def look(pipeline: Pipeline) -> TopicsCheck:
    """Ask the broker of every topic that is read or written."""
    found = TopicsCheck()
    with ExitStack() as stack:
        clients = _Clients(stack)
        for source in pipeline.sources:
            if source.location.format == PULSAR:
                _ask(found, f"sources.{source.name}", partial(_read, clients, source))
        for location, written in _written(pipeline):
            if written.format == PULSAR:
                _ask(found, location, partial(_write, clients, written))
    return found


class _Clients:
    """A client for each broker and its credentials, which does not wait for long."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._made: dict[tuple[str, ClientSettings], blocking.Client | MagnetarError] = {}

    def of(self, options: Mapping[str, str]) -> blocking.Client:
        """Raises what kept it from connecting, at once when it is asked for again."""
        url, settings = options["service.url"], ClientSettings.parse(options)
        if (url, settings) not in self._made:
            self._made[url, settings] = self._connected(url, settings)
        made = self._made[url, settings]
        if isinstance(made, MagnetarError):
            raise made
        return made

    def _connected(self, url: str, settings: ClientSettings) -> blocking.Client | MagnetarError:
        given = settings.options()
        given["operation_timeout_s"] = given["first_connection_timeout_s"] = WAIT_S
        client = self._stack.enter_context(blocking.Client(url, **given))
        try:
            client.topics("public/default")
        except NotFound:
            pass
        except MagnetarError as error:
            if error.retriable:  # Anything else is said of the topic that is asked for.
                return error
        return client


def _ask(found: TopicsCheck, location: str, ask: Callable[[], Iterator[str]]) -> None:
    try:
        found.notes += [f"{location}: {note}" for note in ask()]
    except MagnetarError as error:
        said = f"{location}: {error}"
        if said.partition(": ")[2] not in {each.partition(": ")[2] for each in found.mistakes}:
            found.mistakes.append(said)


def _written(pipeline: Pipeline) -> Iterator[tuple[str, Location]]:
    for sink in pipeline.sinks:
        yield f"sinks.{sink.name}", sink.location
    for source in pipeline.sources:
        if source.reject is not None:
            yield f"sources.{source.name}.reject", source.reject
    for step in pipeline.steps:
        if step.quarantines and step.quarantine is not None:
            yield f"steps.{step.name}.quarantine", step.quarantine


def _read(clients: _Clients, source: Source) -> Iterator[str]:
    client = clients.of(source.location.options)
    options = ReadOptions.parse(source.location.options, streaming=source.streaming)
    names = {TopicName.parse(one).partitioned_name for one in topics.partitions(client, options)}
    if not names:
        yield "no topic matches topicsPattern yet"
    if source.json is not None:
        for name in sorted(map(str, names)):
            kind = schema_of(client, name).type
            if kind not in _TEXT:
                raise InvalidValue(
                    f"json is for text, and the values of {name} have a schema of type "
                    f"{kind.name}: leave json out, and set the option schema: registry"
                )
    elif names and value_options(source.location.options).registry:
        ValuePlan.of(options)


def _write(clients: _Clients, location: Location) -> Iterator[str]:
    client = clients.of(location.options)
    name = location.options.get("topic")
    if name is None:
        return  # The rows say where they go.
    try:
        client.partitions(name)
    except TopicNotFound:
        yield f"{name} is not there yet: the first row makes it, if the broker makes topics"
        return
    kind = schema_of(client, name).type
    if kind not in _TEXT and "schema" not in location.options:
        yield (
            f"rows are written to {name} as they are, and its values have a schema of type "
            f"{kind.name}: set the option schema: registry to write by it"
        )

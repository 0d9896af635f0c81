"""The state of a function as records of a compacted topic: its keys' latest values. Pure.

Each record has a key of the topic; a record without a value deletes its key:

    value/<key>             what ``put_state`` was given
    counter/<key>/<writer>  what one instance has added to a counter; the counter is their sum
    commit/<writer>         how far one instance is, where state and position have to match

With commits (EFFECTIVELY_ONCE) the records of one commit count only if its last, ``commit/``, is
there, too: they are several, and a crash may come in between. Each names its writer and commit and
brings the value before, which holds where the commit was not finished. Compaction may have removed
older records, so the value before cannot be looked up.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from magnetar.errors import InvalidValue

STATE_KEYS_MAX: Final = 5_000_000
"""As many keys as a broker compacts by default: with more the topic grows with each change."""
_WRITER: Final = "writer"
_COMMIT: Final = "commit"
_BEFORE: Final = "before"
_VALUE, _COUNTER, _DONE = "value/", "counter/", "commit/"


class Record(NamedTuple):
    """A message of the state's topic."""

    key: str
    value: bytes | None
    properties: Mapping[str, str]


class FunctionState:
    """What one instance knows of the state, and what it has changed since the last ``changes``."""

    def __init__(self, writer: str, *, commits: bool, writers: int = 1) -> None:
        """``writers`` are the instances "0" and up; what others left undone, "0" undoes."""
        self._writer = writer
        self._writers = [str(each) for each in range(writers)]
        self._commits = commits
        self._alone = writers == 1  # Nothing is read back, then.
        self._records: dict[str, bytes] = {}
        self._parts: dict[str, dict[str, int]] = {}  # Of counters, by writer.
        self._changed: dict[str, bytes | None] = {}  # With the values before.
        self._on_their_way: dict[str, int] = {}  # Records of ours that were not read back yet.
        self._commit = 0
        self._positions: dict[str, str] = {}
        self._unfinished: dict[str, tuple[str, int, bytes | None]] = {}
        self._finished: dict[str, int] = {}

    def put(self, key: str, value: bytes) -> None:
        """An empty value deletes the key, as it does in a compacted topic.

        Raises InvalidValue for a key beyond STATE_KEYS_MAX; so does ``increment``.
        """
        self._set(_VALUE + key, value or None)

    def get(self, key: str) -> bytes | None:
        return self._records.get(_VALUE + key)

    def delete(self, key: str) -> None:
        self._set(_VALUE + key, None)

    def increment(self, key: str, amount: int) -> None:
        own = self._parts.get(key, {}).get(self._writer, 0)
        self._set(f"{_COUNTER}{key}/{self._writer}", str(own + int(amount)).encode())

    def counter(self, key: str) -> int | None:
        parts = self._parts.get(key)
        return sum(parts.values()) if parts else None

    def delete_counter(self, key: str) -> None:
        for writer in list(self._parts.get(key, ())):
            self._set(f"{_COUNTER}{key}/{writer}", None)

    def values(self) -> dict[str, bytes]:
        """Every key that was put, with its value."""
        found = self._records.items()
        return {key.removeprefix(_VALUE): value for key, value in found if key.startswith(_VALUE)}

    def counters(self) -> dict[str, int]:
        return {key: sum(parts.values()) for key, parts in self._parts.items() if parts}

    @property
    def positions(self) -> Mapping[str, str]:
        """How far each input was processed when the state was committed last."""
        return self._positions

    @property
    def changed(self) -> bool:
        return bool(self._changed)

    def changes(self, positions: Mapping[str, str] | None = None) -> list[Record]:
        """The records to be written, in this order; nothing is changed any more after it.

        ``positions`` is how far inputs are, for a state with commits.
        """
        if not self._changed:
            return []
        self._commit += 1
        told = {_WRITER: self._writer}
        if self._commits:
            told[_COMMIT] = str(self._commit)
        records = []
        for key, before in self._changed.items():
            more = {_BEFORE: b64encode(before).decode()} if before is not None else {}
            records.append(
                Record(key, self._records.get(key), {**told, **more} if self._commits else told)
            )
            if not self._alone:
                self._on_their_way[key] = self._on_their_way.get(key, 0) + 1
        self._changed.clear()
        if self._commits:
            self._positions.update(positions or {})
            value = json.dumps({_COMMIT: self._commit, "positions": self._positions}).encode()
            records.append(Record(_DONE + self._writer, value, told))
        return records

    def apply(self, records: Iterable[Record]) -> None:
        """Take what is in the topic, in its order."""
        for key, value, properties in records:
            writer = properties.get(_WRITER, "")
            if key.startswith(_DONE):
                self._finish(key.removeprefix(_DONE), value)
                continue
            if writer == self._writer and key in self._on_their_way:
                self._on_their_way[key] -= 1  # It is known, or something later is.
                if not self._on_their_way[key]:
                    del self._on_their_way[key]
                continue
            if key in self._on_their_way or key in self._changed:
                continue  # Ours comes later in the topic.
            self._unfinished.pop(key, None)
            if _COMMIT in properties:
                before = properties.get(_BEFORE)
                old = None if before is None else b64decode(before)
                self._unfinished[key] = writer, _number(properties[_COMMIT]), old
                if writer == self._writer:
                    self._commit = max(self._commit, _number(properties[_COMMIT]))
            self._keep(key, value)

    def recover(self) -> None:
        """All was read: undo commits that were not finished, for good, but those under way."""
        for key, (writer, commit, before) in self._unfinished.items():
            ours = writer == self._writer
            ours |= self._writer == "0" and writer not in self._writers
            if ours and commit > self._finished.get(writer, 0):
                self._keep(key, before)
                self._changed[key] = before
        self._unfinished.clear()

    def _finish(self, writer: str, value: bytes | None) -> None:
        told = json.loads(value or b"{}")
        commit = int(told.get(_COMMIT, 0))
        self._finished[writer] = commit
        if writer == self._writer:
            self._commit = max(self._commit, commit)
        for topic, position in told.get("positions", {}).items():
            if _place(position) > _place(self._positions.get(topic, "-1:-1:-1")):
                self._positions[topic] = position

    def _set(self, key: str, value: bytes | None) -> None:
        if value and key not in self._records and len(self._records) >= STATE_KEYS_MAX:
            raise InvalidValue(
                f"the state has {STATE_KEYS_MAX:,} keys, and no place for {key}: delete keys that "
                "are done with, or divide the inputs between several functions"
            )
        self._changed.setdefault(key, self._records.get(key))
        self._keep(key, value)

    def _keep(self, key: str, value: bytes | None) -> None:
        if value is None:
            self._records.pop(key, None)
        else:
            self._records[key] = value
        if key.startswith(_COUNTER):
            name, _, writer = key.removeprefix(_COUNTER).rpartition("/")
            parts = self._parts.setdefault(name, {})
            if value is None:
                parts.pop(writer, None)
                if not parts:
                    del self._parts[name]
            else:
                parts[writer] = _number(value.decode())


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise InvalidValue(f"the topic of the state has {text!r} where a number belongs") from error


def _place(position: str) -> tuple[int, ...]:
    return tuple(int(part) for part in position.split(":"))

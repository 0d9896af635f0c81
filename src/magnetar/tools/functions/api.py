"""Pulsar's functions API, asked over HTTP."""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from magnetar.client.admin_api import AdminApi, Query
from magnetar.errors import InvalidValue
from magnetar.functions.worker.multipart import Part, form


class FunctionsApi:
    """The functions of a broker. Every method raises what ``AdminApi`` does."""

    def __init__(self, api: AdminApi) -> None:
        self._api = api

    def names(self, tenant: str, namespace: str) -> list[str]:
        found: list[str] = self._shown("GET", f"/{quote(tenant)}/{quote(namespace)}")
        return found

    def get(self, fqfn: str) -> dict[str, Any]:
        found: dict[str, Any] = self._shown("GET", _path(fqfn))
        return found

    def create(self, fqfn: str, config: Mapping[str, Any]) -> None:
        self._send("POST", _path(fqfn), _function(config))

    def update(self, fqfn: str, config: Mapping[str, Any]) -> None:
        """Without a package it keeps the one that it has."""
        self._send("PUT", _path(fqfn), _function(config))

    def delete(self, fqfn: str) -> None:
        self._ask("DELETE", _path(fqfn))

    def status(self, fqfn: str, instance: int | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._shown("GET", f"{_path(fqfn, instance)}/status")
        return found

    def stats(self, fqfn: str, instance: int | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._shown("GET", f"{_path(fqfn, instance)}/stats")
        return found

    def turn(self, fqfn: str, instance: int | None, action: str) -> None:
        """``start``, ``stop`` or ``restart``."""
        self._ask("POST", f"{_path(fqfn, instance)}/{action}")

    def trigger(self, fqfn: str, data: bytes, topic: str | None) -> bytes:
        """What the function made of it; nothing where it has no output."""
        parts = {"data": Part(data)}
        if topic is not None:
            parts["topic"] = Part(topic.encode())
        return self._send("POST", f"{_path(fqfn)}/trigger", parts)

    def state(self, fqfn: str, key: str) -> dict[str, Any]:
        found: dict[str, Any] = self._shown("GET", f"{_path(fqfn)}/state/{quote(key, safe='')}")
        return found

    def put_state(self, fqfn: str, state: Mapping[str, Any]) -> None:
        part = Part(json.dumps(state).encode(), content_type="application/json")
        key = quote(str(state.get("key")), safe="")
        self._send("POST", f"{_path(fqfn)}/state/{key}", {"state": part})

    def upload(self, file: Path, path: str) -> None:
        self._send("POST", "/upload", {"data": _file(file), "path": Part(path.encode())})

    def download(self, path: str) -> bytes:
        return self._ask("GET", "/download", query={"path": path})

    def code(self, fqfn: str) -> bytes:
        """The package of a function."""
        return self._ask("GET", f"{_path(fqfn)}/download")

    def _shown(self, method: str, path: str) -> Any:
        return json.loads(self._ask(method, path))

    def _send(self, method: str, path: str, parts: Mapping[str, Part]) -> bytes:
        content_type, body = form(parts, secrets.token_hex(16))
        return self._ask(method, path, body, content_type)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "",
        *,
        query: Query | None = None,
    ) -> bytes:
        headers = {"Accept": "*/*", **({"Content-Type": kind} if kind else {})}
        answer = self._api.ask(
            method, f"/admin/v3/functions{path}", body, query=query, headers=headers
        )
        return answer.body


def _path(fqfn: str, instance: int | None = None) -> str:
    path = "/".join(quote(part, safe="") for part in fqfn.split("/"))
    return f"/{path}" if instance is None else f"/{path}/{instance}"


def _function(config: Mapping[str, Any]) -> dict[str, Part]:
    """The form of a function: its configuration, and its code as a file or a URL."""
    code = config.get("py")
    parts = {}
    if isinstance(code, str):
        parts = {"url": Part(code.encode())} if "://" in code else {"data": _file(Path(code))}
    described = Part(json.dumps(config).encode(), content_type="application/json")
    return {**parts, "functionConfig": described}


def _file(path: Path) -> Part:
    try:
        return Part(path.read_bytes(), path.name, "application/octet-stream")
    except OSError as error:
        raise InvalidValue(f"cannot read the code in {path}: {error.strerror}") from error

"""The functions worker of a broker: a process, started when it is first needed, and asked here.

It ends with the broker, however that ends: it stops when its standard input does. When it ends by
itself it is started again.
"""

import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from magnetar.auth.http import ORIGINAL_PRINCIPAL_HEADER
from magnetar.broker.peers import passed_on, requests_beside
from magnetar.clock import Clock
from magnetar.errors import ConnectionLost, NotReady
from magnetar.rest.exchange import Reply, Request
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

PROGRAM: Final = ("-m", "magnetar.tools.cli", "functions", "worker")
STARTUP_TIMEOUT_S: Final = 60.0
STOP_TIMEOUT_S: Final = 20.0
ANSWER_TIMEOUT_S: Final = 120.0
FIRST_RETRY_S: Final = 1.0
RETRY_S_MAX: Final = 60.0
ANSWER_SIZE_MAX: Final = 1 << 30  # A package that is downloaded may be large.


class FunctionsWorkerProcess:
    """``magnetar functions worker`` beside this broker."""

    def __init__(
        self,
        service_url: str,
        web_url: str,
        folder: Path,
        clock: Clock,
        *,
        client: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """``folder`` is where the worker keeps its files, and its log.

        ``client`` has the settings of its client by Java's names, such as what it shows us.
        """
        self._client = client
        self._secret = secrets.token_urlsafe(32)  # Nobody but this broker may ask the worker.
        self._service_url = service_url
        self._web_url = web_url
        self._folder = folder
        self._clock = clock
        self._tasks = Tasks("functions worker")
        self._process: asyncio.subprocess.Process | None = None
        self._url: asyncio.Task[str] | None = None  # Brings where it listens.
        self._requests = requests_beside(timeout_s=ANSWER_TIMEOUT_S, answer_bytes=ANSWER_SIZE_MAX)

    def start(self) -> None:
        """Start it, and again until it has come up: nobody may ask, and functions shall run."""
        self._tasks.spawn("first start", self._start_until_up(0.0))

    async def answer(self, request: Request) -> Reply:
        """Have the worker answer a request. Raises NotReady."""
        url = await asyncio.shield(self._started())
        headers = {"Authorization": f"Bearer {self._secret}"}
        if request.role is not None:
            headers[ORIGINAL_PRINCIPAL_HEADER] = quote(request.role)
        try:
            return await passed_on(self._requests, url, request, headers)
        except ConnectionLost as error:
            raise NotReady(f"the functions worker did not answer: {error}") from error

    async def close(self) -> None:
        """End it."""
        await self._tasks.close()
        process = self._process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            log.warning("functions_worker.killed after_s=%g", STOP_TIMEOUT_S)
            process.kill()
            await process.wait()

    def _started(self) -> asyncio.Task[str]:
        """The start that goes on, or has succeeded; else a new one."""
        task = self._url
        failed = task is not None and task.done() and (task.cancelled() or task.exception())
        if task is None or failed:
            task = self._url = self._tasks.start("start", self._start())
        return task

    async def _start(self) -> str:
        """Start it, and wait until it serves. Raises NotReady, with the end of its log."""
        self._folder.mkdir(parents=True, exist_ok=True)
        ready = self._folder / "worker.ready"
        ready.unlink(missing_ok=True)
        log_file = self._folder / "worker.log"
        command = [*PROGRAM, "--service-url", self._service_url]
        command += ["--admin-url", self._web_url, "--data-dir", str(self._folder)]
        command += ["--port", "0", "--ready-file", str(ready), "--until-eof", "--secrets"]
        output = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the broker, which ends it.
            )
        finally:
            os.close(output)
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        told = {"secret": self._secret, "url": self._web_url, "client": dict(self._client)}
        process.stdin.write(json.dumps(told).encode() + b"\n")
        try:
            async with asyncio.timeout(STARTUP_TIMEOUT_S):
                line = await process.stdout.readline()
        except TimeoutError as error:
            process.kill()
            raise NotReady(
                f"the functions worker was not ready in {STARTUP_TIMEOUT_S:g} s: see {log_file}"
            ) from error
        if not line:
            await process.wait()
            raise NotReady(
                "Function worker service is not done initializing. Please try again in a little "
                f"while. ({_last_line(log_file)})"
            )
        self._tasks.spawn("watch", self._watch(process, process.stdout))
        return f"http://127.0.0.1:{json.loads(ready.read_text(encoding='utf-8'))['port']}"

    async def _watch(
        self, process: asyncio.subprocess.Process, output: asyncio.StreamReader
    ) -> None:
        """Start it again when it has ended by itself."""
        while await output.readline():
            pass
        code = await process.wait()
        log.warning("functions_worker.ended exit_code=%s", code)
        self._url = None
        await self._start_until_up(FIRST_RETRY_S)

    async def _start_until_up(self, delay_s: float) -> None:
        """Start it after ``delay_s``, and after longer and longer where it does not come up."""
        while True:
            await self._clock.sleep(delay_s)
            delay_s = min(max(2 * delay_s, FIRST_RETRY_S), RETRY_S_MAX)
            try:
                await asyncio.shield(self._started())
            except (NotReady, OSError) as error:
                log.warning("functions_worker.not_started again_in_s=%g %s", delay_s, error)
            else:
                return


def _last_line(log_file: Path) -> str:
    lines = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"

"""Writes ``client/blocking.py`` from the asyncio client: the same names, for threads.

    python generate/blocking.py            write it
    python generate/blocking.py --check    exit with 1 when it is not what would be written

Every public method and property of the classes below gets a twin with the same arguments and
docstring. What the asyncio client awaits, the twin waits for.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CLIENT: Final = ROOT / "src" / "magnetar" / "client"
TARGET: Final = CLIENT / "blocking.py"

CLASSES: Final = ("Producer", "Receiver", "Consumer", "Reader", "TableView", "Client")
MADE: Final = (
    "Producer",
    "Consumer",
    "Reader",
    "TableView",
)  # Classes whose instances methods return.
INTERNAL: Final = (
    "add",
    "arrived",
    "check_room",
    "failed",
    "last_messages",
    "remove",
    "run",
    "prepare",
    "take",
    "seek_last",
    "watch",
)  # For the client, not for applications.
READS: Final = (  # What a table view has in memory may be read in any thread.
    "get",
    "keys",
    "values",
    "items",
    "for_each",
    "__getitem__",
    "__contains__",
    "__iter__",
    "__len__",
    "__repr__",
)

HEADER: Final = '''\
"""The same client for threads: every call waits for its answer.

Written by ``make generate`` from the asyncio client: change that, never this file. All blocking
clients of a process are served by one event loop in one daemon thread (``loop_thread.py``). Every
call here may be made from any thread.

What waits for an answer crosses to the loop's thread and back; ``submit`` and ``send_nowait`` leave
their message to be taken with others. Where speed counts, use those, ``send_many`` and
``receive_many``.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Self, Unpack

from magnetar.errors import AlreadyClosed
from magnetar.model.position import EARLIEST_MESSAGE, MessageId

from . import client as client_module
from .consumers import consumer as consumer_module
from .consumers import reader as reader_module
from .consumers import receiver as receiver_module
from .consumers import table_view as table_view_module
from .consumers.entry import Entry
from .producers import producer as producer_module
from .handover import Handover
from .config import ClientOptions, ClientSettings
from .environment import read_conf, settings_in_environment
from .failover import AutoClusterFailover
from .consumers.config import ConsumerOptions, ReaderOptions, TableViewOptions
from .producers.config import ProducerOptions
from .loop_thread import LoopThread, loop_thread
from .message import Message
from .outgoing_message import Buffer, MessageDetails, OutgoingMessage, outgoing
from .schemas.schema import Schema, T, T_co
from magnetar.model.schemas import SchemaInfo
'''

INIT: Final = """\
    def __init__(self, {lower}: {lower}_module.{name}{of}, thread: LoopThread) -> None:
        self._{lower} = {lower}
        self._thread = thread
"""

PRODUCER_INIT: Final = (
    INIT
    + """\
        self._handover = Handover({lower}, thread)
"""
)

DERIVED_INIT: Final = """\
    def __init__(self, {lower}: {lower}_module.{name}{of}, thread: LoopThread) -> None:
        super().__init__({lower}, thread)
        self._{lower} = {lower}
"""

CLIENT_INIT: Final = '''\
    def __init__(
        self, service_url: str | AutoClusterFailover, **options: Unpack[ClientOptions]
    ) -> None:
        """As ``magnetar.Client``."""
        self._thread = loop_thread()
        self._client = self._thread.call(client_module.Client, service_url, **options)
'''

INITS: Final = {"Client": CLIENT_INIT, "Producer": PRODUCER_INIT}


def main() -> int:
    written = formatted(module())
    if "--check" not in sys.argv:
        TARGET.write_text(written)
        return 0
    if TARGET.read_text() == written:
        return 0
    print(f"{TARGET.relative_to(ROOT)} is not what the asyncio client makes of it: make generate")
    return 1


def module() -> str:
    return "\n\n".join([HEADER, *(twin(name) for name in CLASSES)])


def twin(name: str) -> str:
    """The class for threads."""
    lower = snake(name)
    node = definition(name)
    generic = next((ast.unparse(one) for one in node.bases), "")  # As Generic[T], Receiver[T].
    base, bracket, of = generic.partition("[")
    base = "" if base == "Generic" else base
    inherited = {one.name for one in methods(definition(base))} if base else set()
    members = [
        method(one, f"_{lower}")
        for one in methods(node)
        if (not one.name.startswith("_") or one.name in {*SPECIAL, *READS})
        and one.name not in INTERNAL
        and one.name not in inherited
    ]
    if members:
        init = INITS.get(name, DERIVED_INIT if base else INIT)
        members.insert(0, init.format(name=name, lower=lower, of=bracket + of))
    head = f'class {name}({generic}):\n    """``magnetar.{name}`` for threads."""\n'
    return "\n".join([head, *members])


def definition(name: str) -> ast.ClassDef:
    """The asyncio client's class of this name."""
    body = ast.parse(next(CLIENT.rglob(f"{snake(name)}.py")).read_text()).body
    return next(node for node in body if isinstance(node, ast.ClassDef) and node.name == name)


def snake(name: str) -> str:
    """As modules are named: ``table_view`` for ``TableView``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def method(node: ast.FunctionDef | ast.AsyncFunctionDef, inner: str) -> str:
    """One method or property."""
    if node.name in SPECIAL:
        return SPECIAL[node.name].format(inner=inner)
    returns = ast.unparse(node.returns) if node.returns else "None"
    target = f"self.{inner}.{node.name}"
    if any(ast.unparse(one) == "property" for one in node.decorator_list):
        return define(node, returns, f"return {target}", "@property")
    if any(ast.unparse(one) == "classmethod" for one in node.decorator_list):
        # It calls the class, which is here that for threads.
        body = "\n        ".join(ast.unparse(one) for one in node.body[1:])
        return define(node, returns, body, "@classmethod")
    given = arguments(node.args)
    if returns.startswith("Coroutine["):
        return define(node, "None", f"self._thread.finish({target})")
    made = returns.partition("[")[0]
    if returns == "Awaitable[None]":
        returns, call = "None", f"self._thread.wait_for({', '.join([target, *given])})"
    elif isinstance(node, ast.AsyncFunctionDef):
        run = "make" if made in MADE else "run"
        call = f"self._thread.{run}({target}({', '.join(given)}))"
    elif node.name in READS:
        call = f"{target}({', '.join(given)})"
    else:
        call = f"self._thread.call({', '.join([target, *given])})"
    if made in MADE:
        return define(node, returns, f"return {made}({call}, self._thread)")
    return define(node, returns, call if returns == "None" else f"return {call}")


def define(
    node: ast.FunctionDef | ast.AsyncFunctionDef, returns: str, body: str, decorator: str = ""
) -> str:
    text = ast.get_docstring(node)
    lines = [f"    {decorator}"] if decorator else []
    lines.append(f"    def {node.name}({ast.unparse(node.args)}) -> {returns}:")
    if text:
        indented = text.replace("\n", "\n        ").replace("        \n", "\n")
        end = "\n        " if "\n" in text else ""
        lines.append(f'        """{indented}{end}"""')
    return "\n".join([*lines, f"        {body}", ""])


def arguments(args: ast.arguments) -> list[str]:
    """A call's arguments that hand on those of the definition."""
    return [
        *(one.arg for one in args.args[1:]),
        *(f"{one.arg}={one.arg}" for one in args.kwonlyargs),
        *([f"**{args.kwarg.arg}"] if args.kwarg else []),
    ]


SPECIAL: Final = {
    # Nobody else sends while this thread waits: send_many lets the batch leave at once.
    "send": '''\
    def send(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> MessageId:
        """Send one message, and return its id when the broker has stored it.

        Waits for room in the queue, too. Raises as ``magnetar.Producer.send``.
        """
        return self.send_many([outgoing(value, details)])[0]
''',
    "submit": '''\
    def submit(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> Future[MessageId]:
        """Send one message without waiting; the future brings what ``send`` returns or raises.

        Raises at once: QueueFull when there is no room (call ``ready``), AlreadyClosed,
        InvalidValue. The future cannot be cancelled.
        """
        receipt: Future[MessageId] = Future()
        receipt.set_running_or_notify_cancel()
        self._handover.put(value, details, receipt)
        return receipt
''',
    "send_nowait": '''\
    def send_nowait(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> None:
        """The same without a future; what goes wrong later is raised by ``flush``."""
        self._handover.put(value, details)
''',
    "__aenter__": """\
    def __enter__(self) -> Self:
        return self
""",
    "__aexit__": """\
    def __exit__(self, *exc: object) -> None:
        self.close()
""",
    "__aiter__": '''\
    def __iter__(self) -> Iterator[Message[T_co]]:
        """Messages for ever; ends when it is closed."""
        while True:
            try:
                message = self.receive()
            except AlreadyClosed:
                return
            yield message
''',
}


def formatted(text: str) -> str:
    """As ``make format`` would have it, without imports that nothing uses."""
    ruff = Path(sys.executable).with_name("ruff")
    for command in (["check", "--fix-only", "--select", "F401,I"], ["format"]):
        arguments = [ruff, *command, "--quiet", "--stdin-filename", TARGET, "-"]
        text = subprocess.run(
            arguments, input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


if __name__ == "__main__":
    sys.exit(main())

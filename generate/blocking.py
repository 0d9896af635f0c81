"""Writes ``client/blocking.py`` from the asyncio client: the same names, for threads.

    python generate/blocking.py            write it
    python generate/blocking.py --check    exit with 1 when it is not what would be written

``Client`` gets a facade, and so does every class whose instances a method of it makes, those that
``@opening`` decorates. The facade has every public method and property of them, with the same
arguments and docstring. What the asyncio client awaits, the facade waits for.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ROOT / "src"
CLIENT: Final = SOURCES / "magnetar" / "client"
TARGET: Final = CLIENT / "blocking.py"

# What is in memory may be read by any thread, without the loop.
READS: Final = (
    "get",
    "keys",
    "values",
    "items",
    "for_each",
    "__getitem__",
    "__contains__",
    "__iter__",
    "__len__",
)

HEADER: Final = '''\
"""The same client for threads: every call waits for its answer.

Written by ``make generate`` from the asyncio client: change that, never this file. All blocking
clients of a process are served by one event loop in one daemon thread (``loop_thread.py``). Every
call here may be made from any thread.

What waits for an answer crosses to the loop's thread and back. ``submit``, ``send_nowait`` and
``acknowledge`` leave their message to be taken with others, ``receive`` takes one of those that the
loop has opened: they cost little each, ``send_many`` and ``receive_many`` still less.
"""
'''

INIT: Final = """\
    @property
    def _{lower}(self) -> {module}.{name}{of}:
        found: {module}.{name}{of} = self._asyncio
        return found
"""


class Class(NamedTuple):
    """A class of the asyncio client."""

    path: Path
    node: ast.ClassDef

    @property
    def base(self) -> str:
        """The class that it is derived from, as ``Receiver[T]``; "" for none."""
        found = [ast.unparse(one) for one in self.node.bases]
        return next((one for one in found if find(one.partition("[")[0])), "")

    @property
    def module(self) -> str:
        return f"{self.path.stem}_module"


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
    client = definition("Client")
    made = {
        name(one.returns): definition(name(one.returns))
        for one in methods(client.node)
        if opens(one)
    }
    classes: dict[str, Class] = {}
    # What calls of the others take comes first.
    for each, found in sorted(made.items(), key=lambda one: one[0] != "Transaction"):
        if found.base:
            classes[name(found.base)] = definition(name(found.base))
        classes[each] = found
    classes["Client"] = client
    text = "\n\n".join(facade(found) for found in classes.values())
    return "\n".join([HEADER, *imports(text, classes), "", text])


def facade(found: Class) -> str:
    """The class for threads."""
    node = found.node
    lower = snake(node.name)
    base, bracket, of = (found.base or generic(node)).partition("[")
    inherited = {one.name for one in methods(definition(base).node)} if found.base else set()
    members = [
        SPECIAL.get(f"{node.name}.{one.name}") or method(one, f"_{lower}")
        for one in methods(node)
        if (not one.name.startswith("_") or one.name in {*SPECIAL, *READS})
        and one.name not in inherited
    ]
    bases = [found.base or FACADES.get(node.name, "MadeFacade")]
    if not found.base and of:
        bases.append(generic(node))
    if members:
        init = INIT.format(name=node.name, lower=lower, of=bracket + of, module=found.module)
        members.insert(0, init)
    head = (
        f'class {node.name}({", ".join(bases)}):\n    """``magnetar.{node.name}`` for threads."""\n'
    )
    return "\n".join([head, *members])


def method(  # noqa: PLR0911 - one for each case
    node: ast.FunctionDef | ast.AsyncFunctionDef, inner: str
) -> str:
    """One method or property."""
    if node.name in SPECIAL:
        return SPECIAL[node.name]
    returns = ast.unparse(node.returns) if node.returns else "None"
    target = f"self.{inner}.{node.name}"
    if any(ast.unparse(one) == "property" for one in node.decorator_list):
        return define(node, returns, f"return {target}", "@property")
    if any(ast.unparse(one) == "classmethod" for one in node.decorator_list):
        # It calls the class, which is here that for threads.
        body = "\n        ".join(ast.unparse(one) for one in node.body[1:])
        return define(node, returns, body, "@classmethod")
    given = arguments(node.args)
    if node.name in READS:
        return define(node, returns, f"return {target}({', '.join(given)})")
    if node.name == "close":
        return define(node, "None", f"self._close({', '.join(given)})")
    if opens(node):
        return opener(node, returns, target)
    if isinstance(node, ast.AsyncFunctionDef):
        taker = TAKERS.get(name(returns), "_run")
        call = f"self.{taker}({', '.join(given if taker == '_take' else [target, *given])})"
    elif node.name == "acknowledge":
        returns, call = "None", "self._acknowledge(messages, txn)"
    elif returns == "Awaitable[None]":
        returns, call = "None", f"self._wait_for({', '.join([target, *given])})"
    else:
        call = f"self._call({', '.join([target, *given])})"
    return define(node, returns, call if returns == "None" else f"return {call}")


def opener(node: ast.FunctionDef | ast.AsyncFunctionDef, returns: str, target: str) -> str:
    """What makes something. A listener is called in a thread, and waited for there."""
    given = arguments(node.args)
    listener = next((one for one in node.args.kwonlyargs if one.arg == "listener"), None)
    last = ""
    if listener is not None and listener.annotation is not None:
        given.remove("listener=listener")
        last = ", listener"
        plain = ast.unparse(listener.annotation).replace("Awaitable[object]", "object")
        listener.annotation = ast.parse(plain, mode="eval").body
    made = f"return {name(returns)}(self, lambda: {target}({', '.join(given)}){last})"
    return define(node, returns, made)


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
        *(given(one) for one in args.args[1:]),
        *(f"{one.arg}={given(one)}" for one in args.kwonlyargs),
        *([f"**{args.kwarg.arg}"] if args.kwarg else []),
    ]


def given(one: ast.arg) -> str:
    """An iterator's own code runs in the thread of the caller."""
    annotation = ast.unparse(one.annotation) if one.annotation else ""
    if annotation == "Transaction | None":
        return f"inner({one.arg})"
    return f"listed({one.arg})" if "Iterable[" in annotation else one.arg


def snake(class_name: str) -> str:
    """As modules are named: ``table_view`` for ``TableView``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()


def opens(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(one) == "opening" for one in node.decorator_list)


def name(type_of: ast.expr | str | None) -> str:
    """The name of a class: Producer, of Producer[T]; and ``list[Message``, of a list of those."""
    text = type_of if isinstance(type_of, str) else ast.unparse(type_of) if type_of else "None"
    listed = "list[" if text.startswith("list[") else ""
    return listed + text.removeprefix(listed).partition("[")[0].removesuffix("]" * bool(listed))


def generic(node: ast.ClassDef) -> str:
    found = [ast.unparse(one) for one in node.bases]
    return next((one for one in found if one.startswith("Generic[")), "")


def definition(class_name: str) -> Class:
    """The asyncio client's class of this name."""
    found = find(class_name)
    assert found is not None, f"{class_name} is no class of {CLIENT}"
    return found


def find(class_name: str) -> Class | None:
    for path in sorted(CLIENT.rglob("*.py")):
        if path != TARGET and f"class {class_name}" in path.read_text():
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and node.name == class_name:
                    return Class(path, node)
    return None


def methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def imports(text: str, classes: dict[str, Class]) -> Iterator[str]:
    """What the text needs, from where the asyncio client has it."""
    homes = dict(ALWAYS)
    for found in classes.values():
        package = ".".join(found.path.relative_to(SOURCES).parts[:-1])
        homes[found.module] = f"from {package} import {found.path.stem} as"
        for node in ast.parse(found.path.read_text()).body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    homes.setdefault(alias.name, "import")
            elif isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, f"from {package}.{found.path.stem} import")
            elif isinstance(node, ast.ImportFrom):
                up = package.split(".")[: -node.level + 1 or None] if node.level else []
                home = ".".join([*up, *([node.module] if node.module else [])])
                for alias in node.names:
                    homes.setdefault(alias.asname or alias.name, f"from {home} import")
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    for one in sorted((used - set(classes)) & set(homes)):
        yield f"{homes[one]} {one}"


ALWAYS: Final = {
    "AlreadyClosed": "from magnetar.errors import",
    "Buffer": "from magnetar.client.outgoing_message import",
    "ClientFacade": "from magnetar.client.facade import",
    "Future": "from concurrent.futures import",
    "Iterator": "from collections.abc import",
    "MadeFacade": "from magnetar.client.facade import",
    "SendFuture": "from magnetar.client.send_future import",
    "ProducerFacade": "from magnetar.client.facade import",
    "ReceiverFacade": "from magnetar.client.facade import",
    "inner": "from magnetar.client.facade import",
    "listed": "from magnetar.client.facade import",
    "lists": "from magnetar.client.facade import",
    "outgoing": "from magnetar.client.outgoing_message import",
}

FACADES: Final = {
    "Client": "ClientFacade",
    "Producer": "ProducerFacade",
    "Receiver": "ReceiverFacade",
}

# What an interrupted call has received is put back.
TAKERS: Final = {"Message": "_take", "list[Message": "_take_many"}

SPECIAL: Final = {
    # Nobody else sends while this thread waits: send_many lets the batch leave at once.
    "send": '''\
    def send(
        self,
        value: T | Buffer | OutgoingMessage[T],
        *,
        txn: Transaction | None = None,
        **details: Unpack[MessageDetails],
    ) -> MessageId:
        """Send one message, and return its id when the broker has stored it.

        Waits for room in the queue, too. Raises as ``magnetar.Producer.send``.
        """
        return self.send_many([outgoing(value, details)], txn=txn)[0]
''',
    "submit": '''\
    def submit(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> Future[MessageId]:
        """Send one message without waiting; the future brings what ``send`` returns or raises.

        Raises at once: QueueFull when there is no room (call ``ready``), AlreadyClosed,
        InvalidValue. The future cannot be cancelled.
        """
        receipt = SendFuture()
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
    "enqueue": '''\
    def enqueue(
        self,
        values: Iterable[T | Buffer | OutgoingMessage[T]],
        *,
        txn: Transaction | None = None,
        **details: Unpack[MessageDetails],
    ) -> None:
        """Send messages, and return when the queue has taken them: receipts come later.

        What goes wrong later is raised by ``flush``, or keeps the transaction from being committed.
        Raises as ``magnetar.Producer.enqueue``.
        """
        for some in lists(values):
            self._run(self._producer.enqueue, some, txn=inner(txn), **details)
''',
    # In a process that was forked, too, it is that of what was made before.
    "__repr__": """\
    def __repr__(self) -> str:
        return repr(self._made)
""",
    "__aenter__": """\
    def __enter__(self) -> Self:
        return self
""",
    "__aexit__": """\
    def __exit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        with added_to(raised):
            self.close()
""",
    "Transaction.__aexit__": """\
    def __exit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        if raised is not None:
            self.close()
        elif self.state is TransactionState.OPEN:  # It was not ended in the block.
            self.commit()
""",
    "__anext__": '''\
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
    """As ``make format`` would have it."""
    ruff = Path(sys.executable).with_name("ruff")
    for command in (["check", "--fix-only", "--select", "F401,I"], ["format"]):
        arguments = [ruff, *command, "--quiet", "--stdin-filename", TARGET, "-"]
        text = subprocess.run(
            arguments, input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


if __name__ == "__main__":
    sys.exit(main())

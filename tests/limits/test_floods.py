"""A client that asks as fast as it can, in a process of its own, and those beside it.

It keeps one CPU busy, the broker's: nobody is served as if alone, but everybody is served.
"""

import subprocess
import sys

import pytest
from limits.bystander import ROUNDS
from unit.broker.peer import command

pytestmark = pytest.mark.timeout(120)

SLOWER_AT_MOST = 200
FLOOD = """
import socket, sys
hello, question = map(bytes.fromhex, sys.argv[2:])
flood = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
flood.sendall(hello)
flood.recv(1000)
print("begins", flush=True)
while True:
    flood.sendall(question * 2000)
"""


@pytest.fixture
def flood(broker):
    """Begins to ask a question without end."""
    floods = []

    def begin(question: bytes) -> None:
        hello = command("connect", client_version="flood", protocol_version=21)
        arguments = [str(broker.port), hello.hex(), question.hex()]
        floods.append(
            subprocess.Popen([sys.executable, "-c", FLOOD, *arguments], stdout=subprocess.PIPE)
        )
        assert floods[-1].stdout.readline() == b"begins\n"

    yield begin
    for one in floods:
        one.kill()
        one.wait()
        one.stdout.close()


@pytest.mark.parametrize(
    "question",
    [command("ping"), command("lookupTopic", topic="persistent://public/default/t", request_id=7)],
    ids=["pings", "lookups"],
)
async def test_who_asks_without_end_leaves_others_their_turn(bystander, alone, flood, question):
    flood(question)
    beside, undisturbed = await bystander.pace(), await alone.pace()
    assert beside * SLOWER_AT_MOST > undisturbed, f"{ROUNDS / beside:.1f} s for {ROUNDS} rounds"

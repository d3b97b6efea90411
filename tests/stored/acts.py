"""What agents, claims, messages and the shared state leave in a store: the first acts of the play (make.py).

An act that begins with `old_` is over before the log is archived; what the others leave is live in the frozen data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.client.driver import Driver
from dibs.operations.agents.aliases import SAME
from dibs.operations.core.call import Call, NeedsFacts
from dibs.operations.core.declare import BY_MACHINE
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import WORK
from tests.canonical import canonical
from tests.operations.fleet import TREE, resource
from tests.stored.stage import DAY, HOUR, MINUTE, PERSON, SECOND

if TYPE_CHECKING:
    from dibs.operations.core.declare import Operation
    from tests.stored.stage import Stage

CLAIM = catalogue.operation("claim")
MACHINE = "box"  # whose dibs names its own agents
LINKED = Canonical(("file", "hard.py", "2049:77"))  # a file with two names
UUID = "0b5c9c1e-93d5-4b1e-a2f1-0c8a7c6d5e4f"  # as a client names its session: dibs gives it a name


def old_agents(stage: Stage) -> None:
    """Agents that leave, are killed, start again and are forgotten; a parent that gets its child's claim."""
    stage.call(UUID, "boot", client=1, client_type="claude")
    stage.call(UUID, "leave", client=1)
    stage.call("kit", "boot", client=2)
    stage.claim("kit", "old/kit.py", client=2)
    stage.call("lou", "boot")
    stage.call("lou", "kill", agent="kit", why="it loops")
    stage.call("lou", "revive", agent="kit")
    stage.call("kit", "boot", client=3)
    stage.claim("kit/sub", "old/sub.py")
    stage.call("kit/sub", "leave")
    stage.call("kit", "leave", client=3)


def old_claims(stage: Stage) -> None:
    """Claims that were released, renewed, upgraded, ended and asked for; waits and interests that are over."""
    token = stage.claim("lou", "a.py", reason="a reason", request="lou-1")["token"]
    stage.refused("mia", "claim", resources=["a.py"], interest=True)
    stage.call("mia", "ask", resource="a.py", text="are you done?")
    stage.call("lou", "renew")
    stage.call("lou", "confirm", resource="a.py", token=token)
    stage.call("mia", "claim", resources=["a.py"], wait=MINUTE, wake="mia-1")
    stage.release("lou", "a.py")
    stage.release("mia")
    stage.claim("lou", "b.py", ttl=SECOND)
    stage.later(MINUTE)
    stage.call("mia", "sweep")


def agents(stage: Stage) -> None:
    """Agents at work: in a client's process, with a given name, with another id, killed, gone; and their rules."""
    for number, name in enumerate(("ann", "bob", "cid", "dan", "eve"), 10):
        stage.call(name, "boot", client=number, client_type="claude", type="coder", can=["python"], task=f"as {name}")
    stage.call("9c1e0b5c-93d5-4b1e-a2f1-0c8a7c6d5e4f", "boot", client=20, client_type="codex")
    stage.call("ann", "rules", ack=True, client=10)
    stage.internal("bob", SAME, process=11, alias="agent-77")
    stage.call("ann", "kill", agent="eve", why="asked to")
    stage.call("zoe", "boot", client=30)
    stage.claim("zoe", "src/zoe.py", client=30)
    stage.kill9(30)


def handovers(stage: Stage) -> None:
    """An agent's work that passed to another one; and work that waits for the next agent, offered twice."""
    for number, name in enumerate(("kim", "lea", "moe"), 70):
        stage.call(name, "boot", client=number)
        stage.claim(name, f"src/{name}.py", client=number)
    stage.call(PERSON, "handover", agent="kim", to="lea", note="the rest", files=[[TREE, "src/kim.py"]])
    for _ in range(2):
        stage.call(PERSON, "handover", agent="moe", to="NEXT", note="the rest", files=[[TREE, "src/left.py"]])


def credentials(stage: Stage) -> None:
    """Credentials of an agent, a person and a machine; one is revoked."""
    whom: dict[str, dict[str, Any]] = {
        "a": {"agent": "far"},
        "b": {"person": "pat"},
        "c": {"machine": MACHINE},
        "d": {"agent": "ex"},
    }
    for letter, bearer in whom.items():
        made = stage.call(PERSON, "token new", hash=letter * 64, note="for a test", role="", **bearer)["credential"]
        if "machine" in bearer:
            machine = made["id"], letter * 64
    stage.call(PERSON, "token revoke", id=made["id"])
    served(stage, from_afar(stage, machine), catalogue.operation("boot"), client_type="claude")


def from_afar(stage: Stage, credential: tuple[str, str]) -> Call:
    """A call of an agent on another machine, by that machine's credential."""
    call = Call(stage.policy, agent="far-off", identified_by="credential", credential=credential)
    call.client, call.here, call.sender = ["box-host", "boot", "ns", 5, 1], "box-host", BY_MACHINE
    return call


def served(stage: Stage, call: Call, operation: Operation, **fields: Any) -> Any:
    """The answer to a call that a server or a door has made, or its refusal."""
    while True:
        try:
            return stage.store.run(lambda tx: perform(tx, call, operation, canonical(operation, fields)))
        except NeedsFacts as need:
            Driver(operation, call, fields).look(need.processes)


def claims(stage: Stage) -> None:
    """Claims of every kind of resource, a lost claim, a hand-over that nobody took yet."""
    stage.claim("ann", "src/a.py", "src/b.py", client=10, reason="refactoring", task="T-1", expect=HOUR, keep=True)
    stage.claim("ann", "lib/", client=10, mode="read", ttl=2 * HOUR)
    stage.claim("cid", "docs/*.md", client=12)
    stage.claim("bob", "db:main", client=11, ttl=2 * HOUR)
    stage.call("bob", "claim", resources=[LINKED], client=11, ttl=2 * HOUR)
    stage.refused("bob", "claim", resources=["docs/one.md"], client=11)
    stage.claim("cid", "lost.py", client=12)
    stage.call(PERSON, "release", resources=["lost.py"], force=True, why="it is urgent")
    stage.claim("bob", "given.py", client=11)
    stage.call("bob", "release", resources=["given.py"], to="dan", client=11)
    stage.claim("ann", "edited.py", client=10, tree=TREE, by="edit")
    stage.claim("ann", "watched.py", client=10, mode="watch")
    stage.claim("dan", "short.py", client=13, ttl=MINUTE)


def requests(stage: Stage) -> None:
    """Answers that are kept: of a request id, and of a request through a server's connection. A claim by a shell."""
    stage.claim("ann", "repeated.py", client=10, request="ann-1")
    served(stage, through_server(stage), CLAIM, resources=[resource("through.py")])
    client = stage.process(10)
    call = Call(stage.policy, agent="ann", client=client, ancestors=[client], from_shell=True, session="ann")
    assert served(stage, call, CLAIM, resources=[resource("typed.py")])["ends"] == "commit"


def through_server(stage: Stage) -> Call:
    """The third request of a server's connection."""
    call = Call(stage.policy, agent="bob", fallback=PERSON)
    call.exchange = ("connection-1", 3, False)
    return call


def messages(stage: Stage) -> None:
    """Messages to one, to all, for later agents, read, acknowledged, expired, without room; subscriptions."""
    first = stage.call("ann", "send", to="bob", text="hello", ack=True, payload={"n": 1})["message"]
    stage.call("bob", "send", to="ann", text="hello yourself", reply=first)
    stage.call("ann", "send", to="all", text="to all of you")
    stage.call("ann", "send", to="type:tester", text="for testers to come", later=True)
    stage.call("ann", "send", to="cid", text="soon gone", expires=SECOND)
    stage.call("bob", "inbox", client=11)
    stage.call("dan", "inbox", client=13)
    stage.call("dan", "ack", message="all", client=13)
    stage.call("cid", "subscribe", what="build.*")
    stage.call("cid", "subscribe", what="state:plan")
    stage.call("dan", "subscribe", what="build.done")
    stage.call("dan", "subscribe", what="build.done", off=True)
    stage.call("ann", "emit", kind="build.done", data={"ok": True}, request="emit-1")
    stage.call("cid", "subscriptions")
    stage.call("zed", "boot", client=40)
    stage.claim("zed", "full.py")
    stage.call("ann", "send", to="zed", text="the last one that fits")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(WORK["messages"], "inbox", 1)
        stage.refused("bob", "ask", resource="full.py", text="no room for this")
    stage.later(2 * SECOND)


def shared(stage: Stage) -> None:
    """Documents that were set, changed, deleted; votes that are open and decided."""
    version = stage.call("ann", "state set", key="plan", value={"steps": [1, 2]})["version"]
    stage.call("bob", "state set", key="plan", value={"steps": [1, 2, 3]}, version=version)
    stage.refused("cid", "state set", key="plan", value=0, version=1)
    version = stage.call("ann", "state set", key="gone", value="x")["version"]
    stage.call("ann", "state delete", key="gone", version=version)
    stage.call("ann", "vote open", title="Which one?", id="v1", electorate=["ann", "bob", "cid"], options=["a", "b"],
               key="first", deadline=DAY)  # fmt: skip
    stage.call("ann", "vote cast", id="v1", option="a")
    stage.call("ann", "vote open", title="Done?", id="v2", electorate=["ann"], options=["yes", "no"], deadline=DAY)
    stage.call("ann", "vote cast", id="v2", option="yes")


def late_sweep(stage: Stage) -> None:
    """What came due, with suspicions that became alerts: one acknowledged, one cleared, one to be delivered."""
    stage.later(2 * MINUTE)
    for _ in range(4):
        stage.call(PERSON, "sweep")
    alerts = stage.call(PERSON, "alerts", state="open")["alerts"]
    stage.call(PERSON, "alerts ack", id=alerts[0]["id"], why="I know")


def pools(stage: Stage) -> None:
    """Units that are held, waited for, and wanted; a token of a rate that was taken."""
    stage.claim("ann", "pool:build", client=10, reason="tests")
    stage.claim("bob", "pool:build:1", client=11, ttl=HOUR)
    stage.claim("bob", "pool:api", client=11)
    stage.call("dan", "claim", resources=["pool:build"], units=2, client=13, wait=HOUR, wake="dan-2")
    stage.refused("cid", "claim", resources=["pool:build"], client=12, interest=True)


def waits(stage: Stage) -> None:
    """Agents that wait for a path, a name and a linked file, or left an interest in them: a wait lasts for seconds."""
    for wanted in ("src/a.py", "db:main", LINKED):
        stage.call("dan", "claim", resources=[wanted], client=13, wait=HOUR, wake="dan-1", reason="next")
        stage.refused("cid", "claim", resources=[wanted], client=12, interest=True)
    stage.call("bob", "renew", client=11)

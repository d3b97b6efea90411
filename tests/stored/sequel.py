"""What happens after a frozen play: its agents continue under the present version, and the log has to hold.

Each scene takes up something that the play left: a claim, a place in line, a task, a message, a vote, a run, a deploy,
a landing, a file of the ledger.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dibs.canonical import Canonical
from dibs.client.upkeep import subscription_delivery
from dibs.errors import Fenced, Killed
from dibs.operations.core.long_jobs import CONTINUE
from dibs.operations.guards import deploy_guard, restores, undo
from dibs.operations.guards.commit_guard import CHECK, COMMITTED
from dibs.operations.guards.head_moves import MOVED
from dibs.operations.guards.shell_guard import COMMAND
from dibs.operations.landing import lander
from dibs.operations.upkeep.log_retention import ARCHIVES, DROP
from tests.operations.fleet import TREE, resource
from tests.stored import acts
from tests.stored.acts_guards import NOW, refused, start
from tests.stored.acts_ledger import LedgerPlay
from tests.stored.stage import DAY, HOUR, MINUTE, PERSON

if TYPE_CHECKING:
    from tests.stored.stage import Stage


def token_of(stage: Stage, agent: str, name: str) -> int:
    """The token of an agent's claim."""
    claims = stage.call(PERSON, "status", limit=1000)["claims"]
    (token,) = [one["token"] for one in claims if one["agent"] == agent and name in one["resources"]]
    return int(token)


def texts(stage: Stage, agent: str, client: int | None = None) -> str:
    """What is in an agent's inbox."""
    return json.dumps(stage.call(agent, "inbox", client=client, limit=100))


def claims(stage: Stage) -> None:
    """Holders confirm, renew and release; waiters are served; a lost claim is told, a killed agent stays killed."""
    token = token_of(stage, "ann", "src/a.py")
    stage.call("ann", "confirm", resource="src/a.py", token=token, client=10)
    assert "src/a.py" in json.dumps(stage.call("ann", "renew", client=10))
    other_name = Canonical(("file", "soft.py", "2049:77"))
    stage.refused("fay", "claim", resources=[other_name])
    for agent, client, name in (("ann", 10, "src/a.py"), ("bob", 11, "db:main"), ("bob", 11, acts.LINKED)):
        stage.call(agent, "release", resources=[name], client=client)
    holders = stage.holders()
    assert {("dan", "src/a.py"), ("dan", "db:main"), ("dan", "hard.py"), ("ann", "src/b.py")} <= set(holders), holders
    for name in ("src/a.py", "db:main", acts.LINKED):
        stage.call("dan", "release", resources=[name], client=13)
    assert "db:main" in texts(stage, "cid", 12), "an interest is told"
    assert stage.attempt("ann", "confirm", resource="src/a.py", token=token).code == Fenced.code
    assert "lost.py" in json.dumps(stage.call("cid", "boot", client=12))
    assert isinstance(stage.attempt("eve", "claim", resources=["x.py"], client=14), Killed)
    stage.refused("fay", "claim", resources=["docs/one.md"])
    stage.release("ann", "src/b.py", client=10)
    stage.claim("fay", "src/b.py")
    items = [[resource("typed.py"), True]]
    stage.internal("ann", COMMITTED, process=10, commit="d1" * 20, tree="", items=items, how="checked")
    assert ("ann", "typed.py") not in stage.holders(), "a claim by a shell ends with the commit"
    stage.claim("fay", "src/zoe.py")  # its holder's process is gone
    again = stage.claim("ann", "repeated.py", client=10, request="ann-1")
    assert again["token"] == token_of(stage, "ann", "repeated.py")
    again = acts.served(stage, acts.through_server(stage), acts.CLAIM, resources=[resource("through.py")])
    assert again["token"] == token_of(stage, "bob", "through.py")


def tasks(stage: Stage) -> None:
    """Tasks are finished, taken, unblocked, retried; a race has a winner, a job is done, an auction closes."""
    stage.call("bob", "task done", id="working", token=token_of(stage, "bob", "task:working"), result={"n": 2})
    assert stage.call("dan", "task claim", id="assigned", client=13)["task"]["title"] == "the task assigned"
    taken = stage.call("cid", "task claim", id="ready", client=12)
    assert taken["task"]["payload"] == {"file": "x.py"}
    token = taken["token"]
    stage.refused("cid", "task done", id="ready", token=token)  # its result has to have what it requires
    stage.call("cid", "task done", id="ready", token=token, result={"python": 3})
    stage.call("cid", "task claim", id="blocked", client=12)
    stage.refused("bob", "task claim", id="parent")
    for name in ("child", "parent", "racer"):
        stage.call("bob", "task done", id=name, token=stage.call("bob", "task claim", id=name, client=11)["token"])
    for key, _ in [row for row in stage.rows() if row[0].startswith("jd\t")]:
        assert stage.internal("ann", CONTINUE, job=key[3:])["answer"]["count"], "a finished job is answered again"
    stage.later(MINUTE)
    for _ in range(5):
        stage.call(PERSON, "sweep")
    states = {one["id"]: one["state"] for one in stage.call(PERSON, "task list", limit=1000)["tasks"]}
    assert (states["parent"], states["other-racer"], states["blocked"]) == ("complete", "cancelled", "executing")
    assert {states[f"many-{number}-below"] for number in range(3)} == {"cancelled"}
    assert stage.call("ann", "task add", title="again", id="x", key="ready-key")["task"]["id"] == "ready"
    stage.call("bob", "task claim", id="again", client=11)
    stage.later(2 * HOUR)
    stage.call(PERSON, "sweep")
    assert "cid" in json.dumps(stage.call(PERSON, "task show", id="auction")), "the only bidder gets it"


def messages(stage: Stage) -> None:
    """Messages are read, answered and acknowledged; an agent that comes later gets its own; subscriptions go on."""
    first = next(one for one in stage.call("bob", "inbox", client=11)["messages"] if one["text"] == "hello")
    stage.call("bob", "send", to="ann", text="thanks", reply=first["message"])
    stage.call("bob", "ack", message=first["message"], client=11)
    assert "hello yourself" in texts(stage, "ann", 10)
    stage.call("tess", "boot", client=70, type="tester")
    assert "for testers to come" in texts(stage, "tess", 70)
    stage.call("ann", "emit", kind="build.failed", data={"ok": False})
    subscription_delivery.deliver(stage.store, stage.caller("cid"))
    heard = texts(stage, "cid", 12)
    assert "build.done" in heard, "emitted before"
    assert "build.failed" in heard


def shared(stage: Stage) -> None:
    """A document is written on, a deleted one comes back above its last version, a vote is decided."""
    plan = stage.call(PERSON, "state get", key="plan")
    assert plan["value"] == {"steps": [1, 2, 3]}
    stage.call("ann", "state set", key="plan", value=4, version=plan["version"])
    assert stage.call("ann", "state set", key="gone", value="back")["version"] > 1
    fields: dict[str, Any] = {
        "title": "Which one?",
        "electorate": ["ann", "bob", "cid"],
        "options": ["a", "b"],
        "key": "first",
    }
    assert stage.call("ann", "vote open", **fields)["vote"]["id"] == "v1"
    stage.call("bob", "vote cast", id="v1", option="a", client=11)
    assert stage.call(PERSON, "vote show", id="v1")["vote"]["option"] == "a"


def guards(stage: Stage) -> None:
    """An undo and a deploy are finished, the target moves as intended, a change is restored, one is accepted."""
    stage.internal(PERSON, undo.DONE, undo="u3", of=["cid"], what="agent cid", tree=TREE, paths=["u3.py"], restored=1,
                   claim=claim_of(stage, PERSON, "u3.py"), release=True)  # fmt: skip
    blocked = start(stage, "stage", token_of(stage, "dan", "deploy:stage"), 80)
    assert "c1c1c1" in blocked.blockers[0]["reason"], "a deploy is under way"
    stage.internal("dan", deploy_guard.FINISH, process=13, target="stage", commit="c1" * 20, result="ok", seconds=1.0,
                   token=token_of(stage, "dan", "deploy:stage"))  # fmt: skip
    before = stage.store.head().seq
    stage.internal("bob", MOVED, tree=TREE, size=90, moves=[[90, "c1" * 20, "c3" * 20, "reset: moving to HEAD~"]])
    assert stage.store.head().seq == before, "a move of HEAD is reported once"
    stashes = {"what": "git stash", "stashes": ["s1", "s0"], "takes": ["s1"], "pushes": False, "tree": TREE}
    refused(stage, "cid", COMMAND, tree=TREE, sweeps=[stashes])  # bob made it
    stage.internal("bob", COMMAND, tree=TREE, sweeps=[stashes])
    assert stage.call("ann", "land", branch="four", commit="f" * 40)["repeated"]
    stage.kill9(50)
    taken = stage.internal("bob", lander.TAKE, lander=stage.process(51))
    assert taken["interrupted"]["commit"] == "f1" * 20, "the intent of the lander before"
    turn = {"token": taken["token"], "turn": taken["turn"]}
    assert len(stage.internal("bob", lander.DONE, **turn)["landed"]) == 1
    stage.internal("bob", lander.LEAVE, **turn)
    assert stage.call(PERSON, "landings", queue=True)["landings"], "one is still queued"
    refused(stage, "ann", CHECK, paths=[resource("v3.py")], tree=TREE)  # an unattributed change is in it
    stage.internal("ann", restores.RESTORE, process=10, kept="v000000000003", resource=resource("v3.py"), tree=TREE,
                   now=NOW)  # fmt: skip
    stage.internal("ann", CHECK, process=10, paths=[resource("v3.py")], tree=TREE)
    stage.call("ann", "ack", message="v000000000005", client=10)


def claim_of(stage: Stage, agent: str, name: str) -> str:
    """The id of an agent's claim."""
    claims = stage.call(PERSON, "status", limit=1000)["claims"]
    return next(str(one["claim"]) for one in claims if one["agent"] == agent and name in one["resources"])


def runs(stage: Stage) -> None:
    """An error is handled and the run ends; an ended one is purged."""
    stage.call("ann", "run handled", run="r1", number=3, how="mended")
    assert stage.call("ann", "run end", run="r1", force=True)["run"]["state"] == "ended"
    stage.call("ann", "run purge", run="r2")


def credentials(stage: Stage) -> None:
    """A machine's credential still opens, and a revoked one does not."""
    known = {one["who"]: one for one in stage.call(PERSON, "token list", all=True)["credentials"]}
    machine = known[acts.MACHINE]["id"], "c" * 64
    assert "token" in acts.served(stage, acts.from_afar(stage, machine), acts.CLAIM, resources=[resource("far.py")])
    assert known["ex"]["state"] == "revoked"


def ledger(stage: Stage) -> None:
    """A hook finds all files of the copy as the ledger has them, and the next change is its agent's."""
    play = LedgerPlay(stage)
    tree = play.tree()
    before, paths = tree.state.moves, sorted(tree.state.heads)
    assert paths == [".gitignore", "led/a.py", "led/b.py", "led/c.py", "led/d.py", "led/e.py"]
    tree.look(paths)
    assert (tree.write(), tree.state.moves) == ([], before), "nothing was changed"
    play.edit("call-20", "ann", "led/b.py", "by ann, later\n")
    state = play.tree().state
    change = state.heads["led/b.py"].change
    assert change is not None
    assert (change.actor, change.grade, state.heads["led/b.py"].owners) == ("ann", "sure", ["ann"])


def upkeep(stage: Stage) -> None:
    """The log is sealed and archived again, what is old goes, and alerts are acknowledged and delivered."""
    for alert in stage.call(PERSON, "alerts")["alerts"]:
        stage.call(PERSON, "alerts ack", id=alert["id"], why="seen")
    stage.call(PERSON, "seal")
    stage.later(31 * DAY)
    for _ in range(6):
        stage.call(PERSON, "sweep")
    assert stage.ask("prune", keep=30 * DAY)["archives"] or stage.archive()
    keys = [key for key, _ in stage.rows()]
    assert [key for key in keys if key.startswith(("r/", "ndb:", "ntask:", "i2"))] == [], "every claim has expired"
    tasks = {key[2:] for key in keys if key.startswith("t\t")}
    parts = [key for key in keys if key.startswith(("tp\t", "tr\t", "tv\t", "tn\t", "ta\t", "tb\t"))]
    assert [key for key in parts if key.split("\t")[1] not in tasks] == [], "a task goes with all its parts"
    oldest = stage.internal(PERSON, ARCHIVES)["archives"][0]
    gone = stage.internal(PERSON, DROP, through=oldest["last"], host=oldest["host"], why="over the limit")
    assert gone["files"] == [oldest["file"]]
    first = stage.store.events(0, 1)[0].seq
    assert first > 400, "what was frozen is in archives now"
    assert stage.ask("log", limit=0)["events"][0]["seq"] < first


def handovers(stage: Stage) -> None:
    """The next agent that starts gets the work that was kept for it, where the play left some."""
    if (PERSON, "src/moe.py") in stage.holders():
        held = json.dumps(stage.call("next-one", "boot", client=95, tree=TREE)["held"])
        assert "src/moe.py" in held
        assert "src/left.py" in held


SCENES: tuple[Any, ...] = (handovers, claims, messages, shared, guards, runs, credentials, ledger, tasks, upkeep)

"""What guards, landings, deploys and the upkeep of the store leave in it: the third part of the play (make.py)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError
from dibs.operations.core.call import Call
from dibs.operations.guards import deploy_guard, restores, undo
from dibs.operations.guards.audits import AUDIT, DOUBT
from dibs.operations.guards.commit_guard import CHECK, COMMITTED
from dibs.operations.guards.edit_guard import OLDER
from dibs.operations.guards.head_moves import MOVED
from dibs.operations.guards.push_reports import PUSHED
from dibs.operations.guards.removed_trees import REMOVED
from dibs.operations.guards.shell_guard import COMMAND
from dibs.operations.landing import conflicts, lander
from dibs.operations.oversight import trials
from dibs.operations.upkeep import recovery, store_moves
from tests.operations.fleet import OTHER_TREE, TREE, change, item, known, resource
from tests.stored import acts
from tests.stored.stage import PERSON, SECOND

if TYPE_CHECKING:
    from dibs.operations.core.declare import Operation
    from tests.stored.stage import Stage

C1, C2, C3 = "c1" * 20, "c2" * 20, "c3" * 20  # commits
WAS, NOW = "a1" * 20, "b2" * 20  # blobs


def refused(stage: Stage, agent: str, operation: Operation, **fields: Any) -> None:
    """A guard has to refuse this."""
    with contextlib.suppress(DibsError):
        answer = stage.internal(agent, operation, **fields)
        raise AssertionError(f"{operation.name} of {agent} was not refused: {answer}")


def old_stores(stage: Stage) -> None:
    """The store was moved, replaced, and lost commits."""
    stage.internal(PERSON, store_moves.MOVING, to="redis://there", move="move-1")
    stage.internal(PERSON, store_moves.MOVED, to="redis://there", left="sqlite:", move="move-1", digest="d" * 64,
                   events=9)  # fmt: skip
    stage.internal(PERSON, recovery.RECOVERED, aside="aside")
    stage.internal(PERSON, recovery.VOID)
    stage.call(PERSON, "check settle", what="log:archive-1", why="known")
    stage.call(PERSON, "check settle", what="log:archive-1", undo=True)


def edits(stage: Stage) -> None:
    """Edits that were refused, and changes of every grade: violated, unattributed, taken, doubted, accepted, undone."""
    stage.edit("ann", "guarded.py", process=10)
    with contextlib.suppress(DibsError):
        stage.edit("bob", "guarded.py")
    with contextlib.suppress(DibsError):
        stage.edit("bob", item("older.py", facts=known(OLDER, "ann")))
    for name in ("v1.py", "v2.py", "v3.py"):
        stage.edit("ann", name, process=10)
    (first,) = stage.overwrite("bob", change("bob", "v1.py", was=WAS, now=NOW, id="000000000001"))
    (second,) = stage.overwrite("bob", change("bob", "v2.py", was=WAS, now=NOW, id="000000000002"))
    stage.overwrite("bob", change("", "v3.py", was=WAS, now=NOW, grade="unknown", suspects=["bob", "cid"],
                                  id="000000000003"))  # fmt: skip
    stage.edit("bob", "v4.py")
    stage.overwrite("bob", change("bob", "v4.py", owners=["cid"], named=True, id="000000000004"))
    stage.edit("ann", "v5.py", process=10)
    stage.overwrite("ann", change("ann", "v5.py", grade="likely", owners=["ann"], suspects=["ann", "bob"],
                                  id="000000000005"))  # fmt: skip
    stage.call("ann", "ack", message=first["violation"])
    stage.internal("ann", restores.RESTORE, kept=second["violation"], resource=resource("v2.py"), tree=TREE, now=NOW)


def undos(stage: Stage) -> None:
    """An undo that is done, one that is refused, one that is under way."""
    stage.edit("cid", "u1.py")
    stage.release("cid", "u1.py")
    asked: dict[str, Any] = {"undo": "u1", "of": ["cid"], "what": "agent cid", "tree": TREE}
    taken = stage.internal(PERSON, undo.TAKE, **asked, paths=[resource("u1.py")], count=1)
    stage.internal(PERSON, undo.DONE, **asked, paths=["u1.py"], restored=1, claim=taken["claim"], release=True)
    refused(stage, PERSON, undo.TAKE, **{**asked, "undo": "u2"}, paths=[resource("src/a.py")], count=1)
    stage.internal(PERSON, undo.TAKE, **{**asked, "undo": "u3"}, paths=[resource("u3.py")], count=1)


def commits(stage: Stage) -> None:
    """Commits that were checked, refused and bypassed; moves of HEAD, a push, a stash, a removed tree, a doubt."""
    stage.edit("bob", "c.py")
    stage.internal("bob", CHECK, paths=[resource("c.py")], tree=TREE)
    stage.internal("bob", COMMITTED, commit=C1, tree=TREE, items=[[resource("c.py"), True]], how="checked")
    refused(stage, "bob", CHECK, paths=[resource("src/a.py")], tree=TREE)
    stage.internal("ann", COMMITTED, commit=C2, tree=TREE, items=[[resource("repeated.py"), True]], how="checked")
    stage.internal("bob", COMMITTED, commit=C3, tree=TREE, items=[[resource("src/b.py"), True]], how="past")
    stage.internal("bob", PUSHED, remote="origin", branch="main", commit=C3, by="bob")
    stage.internal("bob", MOVED, tree=TREE, size=90, moves=[[90, C1, C3, "reset: moving to HEAD~"]])
    stashes = [{"what": "git stash", "stashes": ["s0"], "takes": [], "pushes": True, "tree": TREE}]
    stage.internal("bob", COMMAND, tree=TREE, sweeps=stashes)
    taken = [{"what": "git add -A", "paths": ["src/a.py"], "does": "take in", "safe": "git add"}]
    refused(stage, "bob", COMMAND, tree=TREE, sweeps=taken)
    work = [["0123456789ab", resource("gone.py"), WAS, ["cid"]]]
    stage.internal(PERSON, REMOVED, tree=OTHER_TREE, name="linked-0123456789ab", work=work)
    stage.internal("dan", DOUBT, why="a call without its input", tool="Bash")
    stage.internal("dan", AUDIT, tool="Bash")


def start(stage: Stage, target: str, token: int, pid: int, **fields: Any) -> Any:
    """An agent begins to deploy, in that process; the answer, or the refusal."""
    call = Call(stage.policy, agent="dan", client=stage.process(13))
    return acts.served(stage, call, deploy_guard.START, target=target, token=token, commit=C1, command="make it",
                       process=stage.process(pid), runs=stage.process(pid + 1), **fields)  # fmt: skip


def deploys(stage: Stage) -> None:
    """A good deploy, one under way, one that was refused."""
    for target in ("prod", "stage"):
        token = stage.claim("dan", f"deploy:{target}", client=13)["token"]
        assert "token" in start(stage, target, token, 13, unsynced=target == "stage")
        if target == "prod":
            stage.later(SECOND)
            stage.internal("dan", deploy_guard.FINISH, process=13, target=target, token=token, commit=C1, result="ok",
                           seconds=1.0)  # fmt: skip
    refused(stage, "bob", deploy_guard.START, target="stage", token=1, commit=C1)
    with contextlib.suppress(DibsError):
        stage.internal("bob", deploy_guard.CHECK, targets=["stage"])


def landings(stage: Stage) -> None:
    """Branches that are queued, landed, refused, stopped, cancelled; and a lander that is about to move the target."""
    stage.claim("cid", "landing.py")
    for name in ("one", "two", "three", "four", "five"):
        stage.call("ann", "land", branch=name, commit=name[0] * 40, request=f"land-{name}")
    stage.call("ann", "landings cancel", landing="five")
    taken = stage.internal("bob", lander.TAKE, lander=stage.process(50))
    turn = {"token": taken["token"], "turn": taken["turn"]}
    first, second = stage.internal("bob", lander.BATCH, **turn, size=2)["landings"][:2]
    stage.internal("bob", lander.REFUSE, **turn, landing=second["landing"], code="check", why="it fails",
                   output="1 failed", paths=["x.py"])  # fmt: skip
    stage.internal("bob", lander.STOP, **turn, what="check", why="no room on the disk", landings=[first["landing"]])
    batch = stage.internal("bob", lander.BATCH, **turn, size=1)["landings"]
    moves = [[one["landing"], one["commit"], "e1" * 20] for one in batch]
    stage.internal("bob", lander.MOVE, **turn, base=C1, commit="e1" * 20, moves=moves)
    stage.internal("bob", lander.DONE, **turn, note="")
    batch = stage.internal("bob", lander.BATCH, **turn, size=1)["landings"]
    moves = [[one["landing"], one["commit"], "f1" * 20] for one in batch]
    stage.internal("bob", lander.MOVE, **turn, base="e1" * 20, commit="f1" * 20, moves=moves)


def radar(stage: Stage) -> None:
    """A coming conflict, and one that is over."""

    def pair(one: str, other: str) -> dict[str, Any]:
        files = [["x.py", "content", [[10, 3, 12, 1]]]]
        return {"one": one, "other": other, "branches": [one[1:], other[1:]], "trees": [one, other], "files": files,
                "agents": ["ann"], "other_agents": ["bob"]}  # fmt: skip

    report = conflicts.REPORT
    stage.internal("ann", report, place="here", pairs=[pair("/one", "/two"), pair("/one", "/three")], looked=3)
    stage.internal("ann", report, place="here", pairs=[pair("/one", "/two")], looked=3)


def oversight(stage: Stage) -> None:
    """A settled finding, a test with many agents."""
    stage.call(PERSON, "check settle", what="guards:hooks", why="they are elsewhere")
    stage.internal(PERSON, trials.RECORD, what="demo", agents=8, edits=100, lost=0, clean=True, seconds=9.5,
                   version="0.2.0", store="sqlite:")  # fmt: skip


def suspicion(stage: Stage) -> None:
    """A suspicion that the next sweep looks into."""
    stage.internal(PERSON, store_moves.FALLEN_BACK, left="redis://there")
